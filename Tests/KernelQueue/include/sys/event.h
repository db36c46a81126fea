// kqueue(2) over epoll, and what else Sources/CFrameTransport/apple.c needs that Linux lacks: with it, the transport tests run through the
// code for Apple's systems (`make kqueue`).
//
// Only what that file uses, as Apple's manual pages describe it. Reading and writing are watched apart, so that neither brings a report
// of the other.

#ifndef SYS_EVENT_H
#define SYS_EVENT_H

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

struct kevent {
    uintptr_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t fflags;
    intptr_t data;
    void *udata;
};

enum { EVFILT_READ = -1, EVFILT_WRITE = -2, EVFILT_USER = -10 };
enum { EV_ADD = 0x1, EV_DELETE = 0x2, EV_ENABLE = 0x4, EV_DISABLE = 0x8, EV_CLEAR = 0x20, EV_ERROR = 0x4000, EV_EOF = 0x8000 };
enum { NOTE_TRIGGER = 0x01000000 };

#define EV_SET(event, i, f, l, ff, d, u)                                                                                         \
    (*(event) = (struct kevent){.ident = (i), .filter = (f), .flags = (l), .fflags = (ff), .data = (d), .udata = (u)})

int kqueue(void);
int kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events, int event_count, const struct timespec *timeout);

// A duplicate of a queue's descriptor belongs to the same queue.
int kqueue_fcntl(int descriptor, int command, int argument);
#define fcntl(...) kqueue_fcntl(__VA_ARGS__)

#define O_EVTONLY O_PATH

// This process ignores SIGPIPE, which is more than the option does.
#define SO_NOSIGPIPE SO_DEBUG + 0x10000
#define setsockopt(descriptor, level, option, value, size)                                                                        \
    ((option) == (SO_NOSIGPIPE) ? kqueue_ignore_sigpipe(descriptor) : setsockopt(descriptor, level, option, value, size))
int kqueue_ignore_sigpipe(int descriptor);

#define SOL_LOCAL SOL_SOCKET
#define LOCAL_PEERPID SO_PEERCRED
#define getsockopt(descriptor, level, option, value, size)                                                                        \
    ((option) == LOCAL_PEERPID ? getpeerpid(descriptor, value) : getsockopt(descriptor, level, option, value, size))
int getpeerpid(int descriptor, pid_t *pid);
int getpeereid(int descriptor, uid_t *user, gid_t *group);

// Tests take the place of accept4.
#define accept(listener, address, length) accept4(listener, address, length, 0)

#define pthread_setname_np(name) pthread_setname_np(pthread_self(), name)

uint64_t clock_gettime_nsec_np(clockid_t clock);

#endif
