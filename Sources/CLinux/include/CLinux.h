// System calls that the Glibc module does not export, and macros that Swift cannot see.
#ifndef CLINUX_H
#define CLINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

// accept4 is a GNU extension that the Glibc module leaves out.
static inline int balloon_accept(int listener) {
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int balloon_syncfs(int descriptor) {
    extern int syncfs(int);
    return syncfs(descriptor);
}

#endif
