// Starts a server and times it: first-answer COMMAND ARGUMENTS...
// Waits for its line `listening on HOST:PORT`, asks for /livez and prints the microseconds from the start to the 200, and
// the KiB of memory that the server has a second later (Rss and Pss of /proc/PID/smaps_rollup); then ends it.
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int answers(int port) {
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    char answer[13] = {0};
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) return 0;
    if (write(fd, request, sizeof request - 1) < 0) return 0;
    if (recv(fd, answer, 12, MSG_WAITALL) != 12) return 0;
    close(fd);
    return !strcmp(answer, "HTTP/1.1 200");
}

static long kibibytes(pid_t pid, const char *name) {
    char path[64], line[256];
    long value = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) value = atol(line + strlen(name));
    if (file) fclose(file);
    return value;
}

int main(int count, char **arguments) {
    if (count < 2) return 64;
    int output[2], port = 0;
    if (pipe(output)) return 1;
    double start = now();
    pid_t pid = fork();
    if (pid == 0) {
        dup2(output[1], STDOUT_FILENO);
        execvp(arguments[1], arguments + 1);
        _exit(127);
    }
    close(output[1]);
    char line[256];
    FILE *lines = fdopen(output[0], "r");
    while (!port && fgets(line, sizeof line, lines))
        if (!strncmp(line, "listening on ", 13)) port = atoi(strrchr(line, ':') + 1);
    int isAnswered = port && answers(port);
    double end = now();
    sleep(1);
    long rss = kibibytes(pid, "Rss:"), pss = kibibytes(pid, "Pss:");
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    if (!isAnswered) return 1;
    printf("%.0f %ld %ld\n", end - start, rss, pss);
}
