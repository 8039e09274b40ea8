// System calls that the Glibc module does not export, and macros that Swift cannot see.
#ifndef CLINUX_H
#define CLINUX_H

#include <elf.h>
#include <malloc.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

// Declared here, because the headers expose GNU extensions only with a macro that would give this module
// other types than the Glibc module.
extern int accept4(int, struct sockaddr *, socklen_t *, int);
extern int syncfs(int);
extern int fallocate(int, int, off_t, off_t);
extern void *memrchr(const void *, int, size_t);
extern void *memmem(const void *, size_t, const void *, size_t);
extern int pipe2(int[2], int);
extern int pidfd_open(int, unsigned);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *, const char *);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
extern int sched_getaffinity(int, size_t, void *);

// Accepts the next connection, with the peer's address: an IPv4 address as ::ffff:a.b.c.d, an IPv6 address,
// or zeroes for a unix socket.
static inline int balloon_accept_from(int listener, uint8_t peer[16]) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    int descriptor = accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    memset(peer, 0, 16);
    if (descriptor < 0) return descriptor;
    if (address.ss_family == AF_INET) {
        peer[10] = peer[11] = 0xff;
        memcpy(peer + 12, &((struct sockaddr_in *)&address)->sin_addr, 4);
    } else if (address.ss_family == AF_INET6) {
        memcpy(peer, &((struct sockaddr_in6 *)&address)->sin6_addr, 16);
    }
    return descriptor;
}

// Removes the program's code from the memory of this process, and returns its size in bytes; the next use of a page maps the page
// again. Sound: the mapping is private and was never written, so its pages are those of the file.
static inline size_t balloon_unmap_code(void) {
    const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
    const uintptr_t count = getauxval(AT_PHNUM), page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t base = 0;
    size_t size = 0;
    for (uintptr_t i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR) base = (uintptr_t)headers - headers[i].p_vaddr;
    for (uintptr_t i = 0; base && i < count; i++) {
        if (headers[i].p_type != PT_LOAD || headers[i].p_flags != (PF_R | PF_X)) continue;
        const uintptr_t start = (base + headers[i].p_vaddr) & ~(page - 1);
        const uintptr_t end = base + headers[i].p_vaddr + headers[i].p_memsz;
        if (madvise((void *)start, end - start, MADV_DONTNEED) == 0) size += end - start;
    }
    return size;
}

// The user of the process that connected to a unix socket; the headers have struct ucred only with a macro for GNU extensions.
static inline int balloon_peer_user(int descriptor, uint32_t *user) {
    struct {
        int32_t process;
        uint32_t user, group;
    } peer;
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    *user = peer.user;
    return 0;
}

// epoll_event is packed on x86-64, which Swift cannot access: two plain arrays replace it.
static inline int balloon_epoll_wait(
    int epoll, uint64_t *tokens, uint32_t *events, int capacity, int milliseconds) {
    struct epoll_event ready[256];
    int count = epoll_wait(epoll, ready, capacity < 256 ? capacity : 256, milliseconds);
    for (int i = 0; i < count; i++) {
        tokens[i] = ready[i].data.u64;
        events[i] = ready[i].events;
    }
    return count;
}

static inline int balloon_epoll_ctl(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(epoll, operation, descriptor, &event);
}

// Buffers standard output by lines, although it is a pipe: a printed line is written at once (setvbuf(3)).
static inline void balloon_buffer_output_by_lines(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static inline int balloon_syncfs(int descriptor) {
    return syncfs(descriptor);
}

// The number of processors that this process may use; 0 when the system does not tell. Linux supports at most
// 8192.
static inline int balloon_processor_count(void) {
    uint64_t set[8192 / 64];
    int bytes = (int)sizeof set;
    int count = 0;
    __builtin_memset(set, 0, sizeof set);
    if (sched_getaffinity(0, bytes, set) < 0) return 0;
    for (int i = 0; i < bytes / 8; i++) count += __builtin_popcountll(set[i]);
    return count;
}

#endif
