// Sends requests at a fixed rate and measures the time to each answer from the time at which the request was due, so
// that delays behind a slow answer count: paced PORT CONNECTIONS RATE SECONDS [BODY TOKEN BUSINESS,BUSINESS... WORD].
// GET /livez, or with the rest POST /message under ever new ids, to the businesses in turn. Prints `requests/s p50 p99 errors`, times in microseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { queue_length = 4096, maximum_request = 65536, maximum_businesses = 64 };

struct connection {
    int fd, is_busy;
    double asked;
    // The due times of requests that wait for this connection.
    double due[queue_length];
    unsigned first, last;
    char answer[4096];
    size_t length;
};

static char body[maximum_request], request[maximum_request + 4096];
static size_t body_length;
static char **post, *businesses[maximum_businesses];
static long business_count;
static long asked, errors, answers;
static float *times;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static size_t compose(void) {
    if (!post) return (size_t)sprintf(request, "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    long number = asked++;
    int length = sprintf(
        request,
        "POST /message HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
        "Content-Encoding: gzip\r\nContent-Length: %zu\r\ndestination-id: %s\r\nsource-id: urn:mbid:bench-%ld\r\n"
        "id: %s-%ld\r\n\r\n",
        post[1], body_length, businesses[number % business_count], number / business_count % 1000, post[3], number);
    memcpy(request + length, body, body_length);
    return (size_t)length + body_length;
}

static void ask(struct connection *connection) {
    if (connection->is_busy || connection->first == connection->last) return;
    connection->is_busy = 1;
    connection->asked = connection->due[connection->first++ % queue_length];
    size_t length = compose();
    // A request fits into the socket's buffer, which is empty.
    if (send(connection->fd, request, length, MSG_NOSIGNAL) != (ssize_t)length) errors++;
}

// Whether the answer is complete: the header and the bytes of its Content-Length.
static int is_whole(struct connection *connection) {
    connection->answer[connection->length] = 0;
    char *end = strstr(connection->answer, "\r\n\r\n"), *field = strcasestr(connection->answer, "\r\ncontent-length:");
    if (!end) return 0;
    size_t content = field && field < end ? (size_t)atol(field + 17) : 0;
    return connection->length >= (size_t)(end + 4 - connection->answer) + content;
}

static void hear(struct connection *connection) {
    ssize_t count = recv(
        connection->fd, connection->answer + connection->length, sizeof connection->answer - 1 - connection->length, 0);
    if (count <= 0) { errors++; return; }
    connection->length += (size_t)count;
    if (!is_whole(connection)) return;
    if (strncmp(connection->answer, "HTTP/1.1 2", 10)) errors++;
    times[answers++] = (float)(now() - connection->asked);
    connection->length = 0;
    connection->is_busy = 0;
    ask(connection);
}

static int ascending(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

int main(int count, char **arguments) {
    if (count < 5) return 64;
    int connections = atoi(arguments[2]), epoll = epoll_create1(0);
    double rate = atof(arguments[3]), seconds = atof(arguments[4]);
    if (count > 8) {
        post = arguments + 5;
        FILE *file = fopen(post[0], "rb");
        body_length = file ? fread(body, 1, sizeof body, file) : 0;
        if (!body_length || strlen(post[1]) + strlen(post[2]) + strlen(post[3]) > 3000) return 65;
        fclose(file);
        for (char *name = strtok(post[2], ","); name && business_count < maximum_businesses; name = strtok(NULL, ","))
            businesses[business_count++] = name;
        if (!business_count) return 65;
    }
    struct connection *all = calloc((size_t)connections, sizeof *all);
    times = malloc(sizeof *times * (size_t)(rate * seconds + connections + 1024));
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < connections; i++) {
        int one = 1;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        all[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(all[i].fd, (struct sockaddr *)&address, sizeof address)) { perror("paced"); return 1; }
        setsockopt(all[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &event);
    }
    // Without this option a wait ends up to 50 us late.
    prctl(PR_SET_TIMERSLACK, 1);
    double start = now(), end = start + seconds * 1e6, time;
    long due = 0, total = (long)(rate * seconds);
    while ((time = now()) < end + 1e6 && answers < total) {
        for (double next; due < total && (next = start + (double)due * 1e6 / rate) <= time; due++) {
            struct connection *connection = &all[due % connections];
            if (connection->last - connection->first < queue_length) connection->due[connection->last++ % queue_length] = next;
            else errors++;
            ask(connection);
        }
        double wait = due < total ? start + (double)due * 1e6 / rate - now() : 1e4;
        struct timespec timeout = {.tv_nsec = wait > 0 ? (long)(wait * 1e3) % 1000000000 : 0};
        struct epoll_event events[256];
        int ready = epoll_pwait2(epoll, events, 256, &timeout, NULL);
        for (int i = 0; i < ready; i++) hear(events[i].data.ptr);
    }
    if (answers == 0) return 1;
    double took = (now() - start) / 1e6;
    qsort(times, (size_t)answers, sizeof *times, ascending);
    printf("%.0f %.0f %.0f %ld\n", (double)answers / took, times[answers / 2], times[answers * 99 / 100], errors + total - answers);
}
