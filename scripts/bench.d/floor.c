// The upper bound of one thread with epoll_wait: answers `ok` for every empty line, without parsing.
// floor THREADS; prints its address.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/plain; charset=utf-8\r\n"
                             "Date: Sat, 21 Nov 2026 10:00:00 GMT\r\n\r\nok\n";
enum { answer_length = sizeof answer - 1, buffer_length = 65536 };

static int listening(uint16_t port) {
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4096)) exit(1);
    return fd;
}

static void adopt(int epoll, int listener) {
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

static void serve(int fd) {
    static __thread char input[buffer_length], output[buffer_length / 4 * answer_length / 16];
    ssize_t count = recv(fd, input, sizeof input, 0);
    if (count <= 0) { close(fd); return; }
    size_t used = 0;
    char *at = input, *end = input + count;
    while ((at = memmem(at, (size_t)(end - at), "\r\n\r\n", 4)) && used + answer_length <= sizeof output) {
        memcpy(output + used, answer, answer_length);
        used += answer_length;
        at += 4;
    }
    // An incomplete send is not repeated: it never happens with small answers.
    if (used > 0 && send(fd, output, used, MSG_NOSIGNAL) < 0) close(fd);
}

static void *run(void *argument) {
    int listener = *(int *)argument, epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int ready = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listener) adopt(epoll, listener);
            else serve(events[i].data.fd);
        }
    }
    return NULL;
}

int main(int count, char **arguments) {
    int threads = count > 1 ? atoi(arguments[1]) : 1;
    int listeners[64] = {listening(0)};
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    if (threads < 1 || threads > 64 || getsockname(listeners[0], (struct sockaddr *)&address, &length)) return 1;
    for (int i = 1; i < threads; i++) listeners[i] = listening(address.sin_port);
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, &listeners[i])) return 1;
    }
    run(&listeners[0]);
}
