// Tests of the C targets that need no library: epoll, whose events are packed on x86-64 only, the peer of a socket, and the embedded files.
#include <CBuild.h>
#include <CLinux.h>
#include <CTemplates.h>
#include <CWeb.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "arm64: %s\n", what);
    exit(1);
}

int main(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC), signals[2];
    for (int i = 0; i < 2; i++) {
        signals[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        expect(balloon_epoll_ctl(epoll, EPOLL_CTL_ADD, signals[i], EPOLLIN, 0xfedcba9876543210 + i) == 0, "epoll_ctl");
        expect(eventfd_write(signals[i], 1) == 0, "eventfd");
    }
    uint64_t tokens[4];
    uint32_t events[4];
    expect(balloon_epoll_wait(epoll, tokens, events, 4, 5000) == 2, "two events");
    expect(tokens[0] + tokens[1] == 0xfedcba9876543210 * 2 + 1 && events[0] == EPOLLIN && events[1] == EPOLLIN, "tokens and events");

    int pair[2];
    uint32_t user = ~0u;
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && balloon_peer_user(pair[0], &user) == 0 && user == getuid(), "the user of the peer");
    expect(balloon_processor_count() > 0, "the number of processors");
    expect(balloon_commit_byte(0) == '1' && balloon_commit_byte(1000) == 0, "the commit");

    expect(balloon_web_files() > 10 && balloon_web_size(0) > 100 && balloon_web_byte(0, 0) == '<', "the files of the pages");
    expect((char)-1 == (char)255 && (int)(char)-1 == 255, "char is unsigned on arm64");
    puts("arm64: events, peers and embedded files are right");
    return 0;
}
