// Holds silent connections: idle PORT COUNT; prints `ready` when all are open, and runs until it is killed.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count < 3) return 64;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = atoi(arguments[2]); i > 0; i--) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) { perror("idle"); return 1; }
    }
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}
