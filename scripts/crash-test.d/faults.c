// System calls that fail on request: scripts/crash-test preloads this library into the server.
//
// The test controls them by a file, which the server maps into memory. The library counts the changes of paths that contain
// `part`. It then performs a change, refuses it with `error`, drops it without an error, or ends the process after it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct faults {
    int64_t realtime;  // seconds that the wall clock is ahead
    int64_t boottime;  // seconds that the clock of intervals is ahead
    int64_t kill_at;   // the change at which the process ends, from 1; 0 for none
    int64_t changes;   // the number of changes so far
    int64_t error;     // the errno of every change; 0 for none
    int64_t drops;     // whether writes are dropped without an error
    char part[80];
};

static struct faults *faults;

__attribute__((constructor)) static void map_faults(void) {
    const char *path = getenv("CRASH_TEST_CONTROL");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof(struct faults), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) faults = mapped;
}

enum verdict { PASS, REFUSE, DROP, END };

static enum verdict judge(const char *path) {
    if (!strstr(path, faults->part)) return PASS;
    int64_t change = __atomic_add_fetch(&faults->changes, 1, __ATOMIC_RELAXED);
    if (faults->kill_at && change >= faults->kill_at) return END;
    if (faults->error) {
        errno = (int)faults->error;
        return REFUSE;
    }
    return faults->drops ? DROP : PASS;
}

static int is_armed(void) { return faults && (faults->kill_at || faults->error || faults->drops); }

static enum verdict judge_path(const char *path) { return is_armed() ? judge(path) : PASS; }

static enum verdict judge_file(int file) {
    if (!is_armed()) return PASS;
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return PASS;
    path[length] = 0;
    return judge(path);
}

__attribute__((noreturn)) static void end(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

#define NEXT(name) static __typeof__(name) *next; if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
// Performs a change that has no bytes.
#define CHANGE(verdict, call) \
    switch (verdict) { \
    case END: end(); \
    case REFUSE: return -1; \
    default: return call; \
    }
// Writes bytes; a process that ends has written half of them.
#define WRITE(file, count, call, half) \
    switch (judge_file(file)) { \
    case END: (void)!half; end(); \
    case REFUSE: return -1; \
    case DROP: return (ssize_t)(count); \
    default: return call; \
    }

int open(const char *path, int flags, ...) {
    NEXT(open);
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    int changes = flags & (O_CREAT | O_WRONLY | O_RDWR);
    CHANGE(changes ? judge_path(path) : PASS, next(path, flags, mode))
}

ssize_t write(int file, const void *bytes, size_t count) {
    NEXT(write);
    WRITE(file, count, next(file, bytes, count), next(file, bytes, count / 2))
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    NEXT(pwrite);
    WRITE(file, count, next(file, bytes, count, offset), next(file, bytes, count / 2, offset))
}

int fsync(int file) { NEXT(fsync); CHANGE(judge_file(file), next(file)) }
int fdatasync(int file) { NEXT(fdatasync); CHANGE(judge_file(file), next(file)) }
int syncfs(int file) { NEXT(syncfs); CHANGE(judge_file(file), next(file)) }
int ftruncate(int file, off_t size) { NEXT(ftruncate); CHANGE(judge_file(file), next(file, size)) }
int mkdir(const char *path, mode_t mode) { NEXT(mkdir); CHANGE(judge_path(path), next(path, mode)) }
int unlink(const char *path) { NEXT(unlink); CHANGE(judge_path(path), next(path)) }
int rename(const char *old, const char *new) { NEXT(rename); CHANGE(judge_path(new), next(old, new)) }

// On 64-bit machines these calls are the same as those without 64 in their names.
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) __attribute__((alias("pwrite")));
int ftruncate64(int file, off64_t size) __attribute__((alias("ftruncate")));

int clock_gettime(clockid_t clock, struct timespec *time) {
    NEXT(clock_gettime);
    int result = next(clock, time);
    if (result == 0 && faults) {
        if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) time->tv_sec += faults->realtime;
        if (clock == CLOCK_BOOTTIME) time->tv_sec += faults->boottime;
    }
    return result;
}
