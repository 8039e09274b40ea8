// Follows an event stream with many connections: followers PORT COUNT REQUEST [PORT TEMPLATE EVENTS PAUSE].
// REQUEST is the file with the request of each follower. An event is a tilde, which each published one has once. Prints `ready`
// when each follower has its header. Then the first line of standard input begins: EVENTS requests are sent to the second port,
// one after another, PAUSE ms after all followers have the one before; NNNNNN in TEMPLATE becomes the number. Without them the
// second line ends. At the end it prints `first-to-last published-to-last bytes fewest most`: medians in microseconds, the bytes
// that a follower got for each event, and the fewest and most events of a follower. The end of standard input ends it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { maximum_request = 65536, maximum_events = 100000, patience = 5000000 };

struct follower {
    int fd;
    // The number of bytes of the header's end that were read, 4 after the header.
    int matched;
    long events;
};

static struct follower *all;
static int count, ready, began;
static char request[maximum_request], template[maximum_request];
static long wanted, published, complete, at_current;
static double published_at, first_at, last_at, pause_us, spread[maximum_events], whole[maximum_events];
static long long bytes;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static size_t contents(const char *path, char *into) {
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(into, 1, maximum_request - 1, file) : 0;
    if (!length) { perror(path); exit(65); }
    fclose(file);
    return length;
}

static int connected(const char *port) {
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) { perror("followers"); exit(1); }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void publish(int fd, size_t length) {
    char number[8];
    char *place = memmem(template, length, "NNNNNN", 6);
    char copy[maximum_request];
    memcpy(copy, template, length);
    snprintf(number, sizeof number, "%06ld", ++published);
    if (place) memcpy(copy + (place - template), number, 6);
    at_current = 0;
    published_at = now();
    if (send(fd, copy, length, MSG_NOSIGNAL) != (ssize_t)length) { perror("publish"); exit(1); }
}

static void hear(struct follower *follower) {
    static char input[maximum_request];
    ssize_t length = recv(follower->fd, input, sizeof input, 0);
    if (length <= 0) { fprintf(stderr, "followers: a stream ended\n"); exit(1); }
    for (ssize_t i = 0; i < length; i++) {
        if (follower->matched < 4) {
            if (i == 0 && follower->matched == 0 && strncmp(input, "HTTP/1.1 200", 12)) {
                fprintf(stderr, "followers: %.*s\n", (int)length, input);
                exit(1);
            }
            follower->matched = input[i] == "\r\n\r\n"[follower->matched] ? follower->matched + 1 : input[i] == '\r';
            if (follower->matched == 4 && ++ready == count) { printf("ready\n"); fflush(stdout); }
        } else if (input[i] == '~') {
            follower->events++;
            if (follower->events != published) continue;
            double time = now();
            if (at_current++ == 0) first_at = time;
            last_at = time;
        }
    }
    if (began) bytes += length;
}

static void report(void) {
    long fewest = all[0].events, most = 0, sum = 0;
    for (int i = 0; i < count; i++) {
        if (all[i].events < fewest) fewest = all[i].events;
        if (all[i].events > most) most = all[i].events;
        sum += all[i].events;
    }
    qsort(spread, (size_t)complete, sizeof *spread, ascending);
    qsort(whole, (size_t)complete, sizeof *whole, ascending);
    printf("%.0f %.0f %.0f %ld %ld\n", complete ? spread[complete / 2] : 0, complete ? whole[complete / 2] : 0,
        sum ? (double)bytes / (double)sum : 0, fewest, most);
    fflush(stdout);
}

int main(int arguments_count, char **arguments) {
    if (arguments_count != 4 && arguments_count != 8) return 64;
    count = atoi(arguments[2]);
    size_t length = contents(arguments[3], request), template_length = 0;
    int publisher = -1, epoll = epoll_create1(0), is_done = 0;
    if (arguments_count == 8) {
        template_length = contents(arguments[5], template);
        wanted = atol(arguments[6]);
        pause_us = atof(arguments[7]) * 1e3;
        if (wanted < 1 || wanted > maximum_events) return 64;
    }
    if (count < 1 || !(all = calloc((size_t)count, sizeof *all))) return 64;
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        all[i].fd = connected(arguments[1]);
        if (send(all[i].fd, request, length, MSG_NOSIGNAL) != (ssize_t)length) { perror("followers"); return 1; }
        epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &event);
    }
    struct epoll_event input = {.events = EPOLLIN, .data.ptr = &began};
    epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &input);
    double due = 0;
    for (;;) {
        struct epoll_event events[512];
        int heard = epoll_wait(epoll, events, 512, began && wanted && !is_done ? 1 : -1);
        for (int i = 0; i < heard; i++) {
            if (events[i].data.ptr == &publisher) {
                char answer[4096];
                ssize_t size = recv(publisher, answer, sizeof answer, 0);
                if (size <= 0 || !memmem(answer, (size_t)size, "HTTP/1.1 2", 10)) {
                    fprintf(stderr, "followers: published: %.*s\n", size > 0 ? (int)size : 0, answer);
                    return 1;
                }
            } else if (events[i].data.ptr != &began) {
                hear(events[i].data.ptr);
            } else {
                char line[256];
                if (read(0, line, sizeof line) <= 0) return 0;
                if (began && !wanted) report();
                if (!began && wanted) {
                    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &publisher};
                    publisher = connected(arguments[4]);
                    epoll_ctl(epoll, EPOLL_CTL_ADD, publisher, &event);
                }
                began = 1;
            }
        }
        if (!began || !wanted || is_done) continue;
        int is_complete = published && (at_current == count || now() - published_at > patience);
        if (published == 0 || (is_complete && due > 0 && now() >= due)) {
            if (published == wanted) {
                report();
                is_done = 1;
            } else {
                publish(publisher, template_length);
            }
            due = 0;
        } else if (is_complete && due == 0) {
            if (at_current == count) {
                spread[complete] = last_at - first_at;
                whole[complete++] = last_at - published_at;
            }
            due = now() + pause_us;
        }
    }
}
