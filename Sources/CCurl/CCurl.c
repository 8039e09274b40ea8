#include "CCurl.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

// libcurl's functions, once it is loaded. Not under their own names: libcurl calls itself by those.
static struct {
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_multi_init) *multi_init;
    __typeof__(curl_multi_cleanup) *multi_cleanup;
    __typeof__(curl_multi_setopt) *multi_setopt;
    __typeof__(curl_multi_add_handle) *multi_add_handle;
    __typeof__(curl_multi_remove_handle) *multi_remove_handle;
    __typeof__(curl_multi_info_read) *multi_info_read;
    __typeof__(curl_multi_socket_action) *multi_socket_action;
    __typeof__(curl_slist_append) *slist_append;
    __typeof__(curl_slist_free_all) *slist_free_all;
    int is_loaded;
} library;

static void load(void) {
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    int is_complete = 1;
#define FIND(name) is_complete &= (*(void **)&library.name = dlsym(handle, "curl_" #name)) != NULL
    FIND(global_init);
    FIND(easy_init);
    FIND(easy_cleanup);
    FIND(easy_setopt);
    FIND(easy_getinfo);
    FIND(multi_init);
    FIND(multi_cleanup);
    FIND(multi_setopt);
    FIND(multi_add_handle);
    FIND(multi_remove_handle);
    FIND(multi_info_read);
    FIND(multi_socket_action);
    FIND(slist_append);
    FIND(slist_free_all);
#undef FIND
    library.is_loaded = is_complete && library.global_init(CURL_GLOBAL_ALL) == CURLE_OK;
}

int balloon_curl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return library.is_loaded;
}

CURL *balloon_curl_easy_init(void) { return library.easy_init(); }

void balloon_curl_easy_cleanup(CURL *easy) { library.easy_cleanup(easy); }

CURLM *balloon_curl_multi_init(void) { return library.multi_init(); }

CURLMcode balloon_curl_multi_cleanup(CURLM *multi) { return library.multi_cleanup(multi); }

CURLMcode balloon_curl_multi_add_handle(CURLM *multi, CURL *easy) {
    return library.multi_add_handle(multi, easy);
}

CURLMcode balloon_curl_multi_remove_handle(CURLM *multi, CURL *easy) {
    return library.multi_remove_handle(multi, easy);
}

CURLMsg *balloon_curl_multi_info_read(CURLM *multi, int *left) {
    return library.multi_info_read(multi, left);
}

struct curl_slist *balloon_curl_slist_append(struct curl_slist *list, const char *line) {
    return library.slist_append(list, line);
}

void balloon_curl_slist_free_all(struct curl_slist *list) {
    if (list != NULL) library.slist_free_all(list);
}

CURLcode balloon_curl_set_number(CURL *easy, CURLoption option, long value) {
    return library.easy_setopt(easy, option, value);
}

CURLcode balloon_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return library.easy_setopt(easy, option, value);
}

CURLcode balloon_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return library.easy_setopt(easy, option, value);
}

CURLcode balloon_curl_set_bytes(CURL *easy, CURLoption option, const void *value) {
    return library.easy_setopt(easy, option, value);
}

CURLcode balloon_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return library.easy_setopt(easy, option, value);
}

CURLcode balloon_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return library.easy_setopt(easy, option, value);
}

CURLcode balloon_curl_set_callback(CURL *easy, CURLoption option, curl_write_callback value) {
    return library.easy_setopt(easy, option, value);
}

CURLcode balloon_curl_get_number(CURL *easy, CURLINFO info, long *value) {
    return library.easy_getinfo(easy, info, value);
}

// A CURLMOPT_SOCKETFUNCTION; 0 is the only answer that does not break the transfers.
static int watch(CURL *easy, curl_socket_t socket, int what, void *user, void *private) {
    (void)easy;
    (void)private;
    balloon_curl_events *events = user;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(events->epoll, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    struct epoll_event event = {.data.fd = socket};
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (epoll_ctl(events->epoll, EPOLL_CTL_MOD, socket, &event) != 0 && errno == ENOENT)
        epoll_ctl(events->epoll, EPOLL_CTL_ADD, socket, &event);
    return 0;
}

// A CURLMOPT_TIMERFUNCTION: -1 stops the timer, 0 is due now. A timerfd of 0 would be stopped.
static int arm(CURLM *multi, long milliseconds, void *user) {
    (void)multi;
    balloon_curl_events *events = user;
    struct itimerspec when = {0};
    if (milliseconds == 0) when.it_value.tv_nsec = 1;
    if (milliseconds > 0) {
        when.it_value.tv_sec = milliseconds / 1000;
        when.it_value.tv_nsec = milliseconds % 1000 * 1000000;
    }
    timerfd_settime(events->timer, 0, &when, NULL);
    return 0;
}

int balloon_curl_events_open(balloon_curl_events *events) {
    events->timer = -1;
    events->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (events->epoll >= 0) events->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = events->timer};
    if (events->timer < 0 || epoll_ctl(events->epoll, EPOLL_CTL_ADD, events->timer, &event) != 0) {
        int error = errno;
        balloon_curl_events_close(events);
        return error;
    }
    return 0;
}

void balloon_curl_events_attach(balloon_curl_events *events, CURLM *multi) {
    library.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    library.multi_setopt(multi, CURLMOPT_SOCKETDATA, events);
    library.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, arm);
    library.multi_setopt(multi, CURLMOPT_TIMERDATA, events);
    // By default the number of idle connections that are kept follows the number of transfers in flight.
    library.multi_setopt(multi, CURLMOPT_MAXCONNECTS, 64L);
    // All businesses together; whoever finds no room waits for a connection, within its own time.
    library.multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 256L);
}

void balloon_curl_events_close(balloon_curl_events *events) {
    if (events->timer >= 0) close(events->timer);
    if (events->epoll >= 0) close(events->epoll);
    events->timer = events->epoll = -1;
}

void balloon_curl_events_run(balloon_curl_events *events, CURLM *multi) {
    struct epoll_event ready[64];
    int running;
    int count = epoll_wait(events->epoll, ready, 64, 0);
    for (int index = 0; index < count; index++) {
        int descriptor = ready[index].data.fd;
        if (descriptor == events->timer) {
            uint64_t expirations;
            if (read(events->timer, &expirations, sizeof expirations) > 0)
                library.multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
            continue;
        }
        int what = 0;
        if (ready[index].events & EPOLLIN) what |= CURL_CSELECT_IN;
        if (ready[index].events & EPOLLOUT) what |= CURL_CSELECT_OUT;
        if (ready[index].events & (EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_ERR;
        // libcurl ignores a socket that an event before this one made it close.
        library.multi_socket_action(multi, descriptor, what, &running);
    }
}

static int ask(balloon_curl_gate *gate, int family, const void *address) {
    unsigned char bytes[16] = {[10] = 0xff, [11] = 0xff};
    if (family == AF_INET) memcpy(bytes + 12, address, 4);
    if (family == AF_INET6) memcpy(bytes, address, 16);
    int is_allowed = (family == AF_INET || family == AF_INET6) && gate->is_allowed(bytes);
    if (is_allowed) gate->has_allowed = 1;
    if (!is_allowed) gate->has_refused = 1;
    return is_allowed;
}

// A CURLOPT_OPENSOCKETFUNCTION.
static curl_socket_t open_allowed(void *user, curlsocktype purpose, struct curl_sockaddr *peer) {
    (void)purpose;
    const void *address = NULL;
    if (peer->family == AF_INET) address = &((const struct sockaddr_in *)&peer->addr)->sin_addr;
    if (peer->family == AF_INET6) address = &((const struct sockaddr_in6 *)&peer->addr)->sin6_addr;
    if (!ask(user, peer->family, address)) return CURL_SOCKET_BAD;
    return socket(peer->family, peer->socktype | SOCK_CLOEXEC, peer->protocol);
}

// A CURLOPT_PREREQFUNCTION: a kept connection may be one that a request without a gate has made.
static int use_allowed(void *user, char *peer, char *local, int peer_port, int local_port) {
    (void)local;
    (void)peer_port;
    (void)local_port;
    unsigned char address[16];
    int family = AF_UNSPEC;
    if (inet_pton(AF_INET, peer, address) == 1) family = AF_INET;
    else if (inet_pton(AF_INET6, peer, address) == 1) family = AF_INET6;
    if (ask(user, family, address)) return CURL_PREREQFUNC_OK;
    ((balloon_curl_gate *)user)->has_allowed = 0;
    return CURL_PREREQFUNC_ABORT;
}

CURLcode balloon_curl_set_gate(CURL *easy, balloon_curl_gate *gate) {
    CURLcode code = library.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_allowed);
    if (code == CURLE_OK) code = library.easy_setopt(easy, CURLOPT_OPENSOCKETDATA, gate);
    if (code == CURLE_OK) code = library.easy_setopt(easy, CURLOPT_PREREQFUNCTION, use_allowed);
    if (code == CURLE_OK) code = library.easy_setopt(easy, CURLOPT_PREREQDATA, gate);
    return code;
}
