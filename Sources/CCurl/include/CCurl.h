// libcurl as a module; the shims give its variadic calls one type each, and combine its sockets and timer in
// one descriptor.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

// libcurl and its thirty libraries dominate the program's start-up time, so it is loaded once, at its first
// use: returns 1 when it is available. No other function of this header may be called before.
int balloon_curl_load(void);

// libcurl's functions of the same names.
CURL *balloon_curl_easy_init(void);
void balloon_curl_easy_cleanup(CURL *easy);
CURLM *balloon_curl_multi_init(void);
CURLMcode balloon_curl_multi_cleanup(CURLM *multi);
CURLMcode balloon_curl_multi_add_handle(CURLM *multi, CURL *easy);
CURLMcode balloon_curl_multi_remove_handle(CURLM *multi, CURL *easy);
CURLMsg *balloon_curl_multi_info_read(CURLM *multi, int *left);
struct curl_slist *balloon_curl_slist_append(struct curl_slist *list, const char *line);
void balloon_curl_slist_free_all(struct curl_slist *list);

// curl_easy_setopt and curl_easy_getinfo with one type each.
CURLcode balloon_curl_set_number(CURL *easy, CURLoption option, long value);
CURLcode balloon_curl_set_size(CURL *easy, CURLoption option, curl_off_t value);
CURLcode balloon_curl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode balloon_curl_set_bytes(CURL *easy, CURLoption option, const void *value);
CURLcode balloon_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value);
CURLcode balloon_curl_set_pointer(CURL *easy, CURLoption option, void *value);
CURLcode balloon_curl_set_callback(CURL *easy, CURLoption option, curl_write_callback value);
CURLcode balloon_curl_get_number(CURL *easy, CURLINFO info, long *value);

// The address check of a transfer; it must not move while the easy handle lives.
typedef struct {
    // Receives 16 bytes, an IPv4 address as ::ffff:a.b.c.d; 0 refuses the address.
    int (*is_allowed)(const unsigned char *address);
    // Whether an address was refused, and whether one was allowed.
    int has_refused;
    int has_allowed;
} balloon_curl_gate;

// Calls `gate` after the name lookup, before each connection, and before an open connection is reused.
CURLcode balloon_curl_set_gate(CURL *easy, balloon_curl_gate *gate);

// The events of a multi handle as one descriptor: `epoll` is readable when libcurl has work. The set contains
// libcurl's sockets and `timer`; libcurl's callbacks update both, so that a closed socket is never in the
// set. It must not move while the multi handle lives.
typedef struct {
    int epoll;
    int timer;
} balloon_curl_events;

// Opens both descriptors; returns 0 or errno. libcurl need not be loaded.
int balloon_curl_events_open(balloon_curl_events *events);

// Makes `multi` update both descriptors.
void balloon_curl_events_attach(balloon_curl_events *events, CURLM *multi);

// Closes both descriptors, after `multi` was cleaned up.
void balloon_curl_events_close(balloon_curl_events *events);

// Lets libcurl process at most one batch of events, without blocking.
void balloon_curl_events_run(balloon_curl_events *events, CURLM *multi);

#endif
