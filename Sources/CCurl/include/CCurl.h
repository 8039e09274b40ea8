// libcurl as a module; the shims give its variadic calls a type each, and its sockets and timer one descriptor.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

// libcurl and the thirty libraries that it needs are most of what the process would load at its start, so it is loaded
// with its first use, once: 1 when it is there. Nothing else of this header may be called before.
int balloon_curl_load(void);

// libcurl's functions of these names.
CURL *balloon_curl_easy_init(void);
void balloon_curl_easy_cleanup(CURL *easy);
CURLM *balloon_curl_multi_init(void);
CURLMcode balloon_curl_multi_cleanup(CURLM *multi);
CURLMcode balloon_curl_multi_add_handle(CURLM *multi, CURL *easy);
CURLMcode balloon_curl_multi_remove_handle(CURLM *multi, CURL *easy);
CURLMsg *balloon_curl_multi_info_read(CURLM *multi, int *left);
struct curl_slist *balloon_curl_slist_append(struct curl_slist *list, const char *line);
void balloon_curl_slist_free_all(struct curl_slist *list);

// curl_easy_setopt and curl_easy_getinfo, for one type each.
CURLcode balloon_curl_set_number(CURL *easy, CURLoption option, long value);
CURLcode balloon_curl_set_size(CURL *easy, CURLoption option, curl_off_t value);
CURLcode balloon_curl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode balloon_curl_set_bytes(CURL *easy, CURLoption option, const void *value);
CURLcode balloon_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value);
CURLcode balloon_curl_set_pointer(CURL *easy, CURLoption option, void *value);
CURLcode balloon_curl_set_callback(CURL *easy, CURLoption option, curl_write_callback value);
CURLcode balloon_curl_get_number(CURL *easy, CURLINFO info, long *value);

// Which addresses a transfer may connect to; it must not move while the easy handle lives.
typedef struct {
    // Gets 16 bytes, an IPv4 address as ::ffff:a.b.c.d; 0 refuses.
    int (*is_allowed)(const unsigned char *address);
    // Whether an address was refused, and whether one was not.
    int has_refused;
    int has_allowed;
} balloon_curl_gate;

// Asks `gate` after the name was looked up and before each connection, and again before a kept one is used.
CURLcode balloon_curl_set_gate(CURL *easy, balloon_curl_gate *gate);

// What a multi handle waits for, as one descriptor: `epoll` is readable when libcurl has something to do.
// The set holds libcurl's sockets and `timer`; libcurl changes both through callbacks, so that no socket is in
// the set after it was closed. It must not move while the multi handle lives.
typedef struct {
    int epoll;
    int timer;
} balloon_curl_events;

// Opens both descriptors; 0 or errno. libcurl need not be loaded for it.
int balloon_curl_events_open(balloon_curl_events *events);

// Makes `multi` keep both up to date.
void balloon_curl_events_attach(balloon_curl_events *events, CURLM *multi);

// Closes both descriptors, after `multi` was cleaned up.
void balloon_curl_events_close(balloon_curl_events *events);

// Lets libcurl do what can be done now, without waiting: at most one batch of events.
void balloon_curl_events_run(balloon_curl_events *events, CURLM *multi);

#endif
