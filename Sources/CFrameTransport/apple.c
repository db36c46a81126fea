// What only Apple's systems have. Compiled with their headers; run on Linux alone, where a part of the tests puts epoll behind kqueue.

#if defined(__APPLE__) || defined(KQUEUE_OVER_EPOLL)

#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "CFrameTransport.h"
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// After all others: of the tests, it has what Linux's headers lack.
#include <sys/event.h>

const int frame_directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
const int frame_hold_flags = O_EVTONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
// SO_NOSIGPIPE, which is set on every socket, has this effect.
const int frame_send_flags = 0;

int frame_poller_create(void) {
    int poller = kqueue();
    if (poller >= 0) fcntl(poller, F_SETFD, FD_CLOEXEC);
    return poller;
}

int frame_poller_add(int poller, int descriptor, uint64_t token) {
    struct kevent changes[2];
    EV_SET(&changes[0], descriptor, EVFILT_READ, EV_ADD | EV_CLEAR, 0, 0, (void *)(uintptr_t)token);
    EV_SET(&changes[1], descriptor, EVFILT_WRITE, EV_ADD | EV_CLEAR | EV_DISABLE, 0, 0, (void *)(uintptr_t)token);
    return kevent(poller, changes, 2, NULL, 0, NULL);
}

int frame_poller_watch_room(int poller, int descriptor, uint64_t token, bool watches) {
    struct kevent change;
    EV_SET(&change, descriptor, EVFILT_WRITE, watches ? EV_ENABLE : EV_DISABLE, 0, 0, (void *)(uintptr_t)token);
    return kevent(poller, &change, 1, NULL, 0, NULL);
}

int frame_poller_remove(int poller, int descriptor) {
    struct kevent changes[2];
    EV_SET(&changes[0], descriptor, EVFILT_READ, EV_DELETE, 0, 0, NULL);
    EV_SET(&changes[1], descriptor, EVFILT_WRITE, EV_DELETE, 0, 0, NULL);
    return kevent(poller, changes, 2, NULL, 0, NULL);
}

int frame_poller_wait(int poller, struct frame_readiness *reports, int capacity, int timeout) {
    enum { BATCH = 64 };
    struct kevent events[BATCH];
    struct timespec span = {.tv_sec = timeout / 1000, .tv_nsec = (timeout % 1000) * 1000000L};
    int count = kevent(poller, NULL, 0, events, capacity < BATCH ? capacity : BATCH, timeout < 0 ? NULL : &span);
    for (int i = 0; i < count; i++) {
        uint32_t flags = 0;
        if (events[i].filter == EVFILT_READ) flags |= FRAME_READABLE;
        if (events[i].filter == EVFILT_WRITE) flags |= FRAME_WRITABLE;
        // The end of writing may be this side's own.
        if (events[i].filter == EVFILT_READ && events[i].flags & EV_EOF) flags |= FRAME_HANGUP;
        reports[i] = (struct frame_readiness){.token = (uint64_t)(uintptr_t)events[i].udata, .flags = flags};
    }
    return count;
}

int frame_wakeup_create(int poller) {
    struct kevent change;
    EV_SET(&change, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
    if (kevent(poller, &change, 1, NULL, 0, NULL) < 0) return -1;
    return fcntl(poller, F_DUPFD_CLOEXEC, 0);
}

int frame_wakeup_signal(int wakeup) {
    struct kevent change;
    EV_SET(&change, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
    return kevent(wakeup, &change, 1, NULL, 0, NULL);
}

static int prepare(int descriptor) {
    int on = 1;
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0 || fcntl(descriptor, F_SETFL, O_NONBLOCK) < 0) return -1;
    // A socket whose peer has gone takes no options (EINVAL). One that was accepted has this one from its listener.
    return setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on) < 0 && errno != EINVAL ? -1 : 0;
}

static int prepared(int descriptor) {
    if (descriptor < 0) return -1;
    if (prepare(descriptor) < 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    frame_socket_send_without_delay(descriptor, frame_socket_family(descriptor));
    return descriptor;
}

int frame_socket_create(int family) {
    int descriptor = prepared(socket(family, SOCK_STREAM, 0));
    if (descriptor >= 0) frame_socket_reuse_address(descriptor, family);
    return descriptor;
}

int frame_socket_accept(int listener) {
    return prepared(accept(listener, NULL, NULL));
}

int frame_listener_adopt(int descriptor) {
    return prepare(descriptor);
}

int frame_socket_peer(int descriptor, pid_t *pid, uid_t *uid, gid_t *gid) {
    socklen_t length = sizeof *pid;
    // Of a peer that has gone, the system still knows the user, and not the process.
    if (getsockopt(descriptor, SOL_LOCAL, LOCAL_PEERPID, pid, &length) < 0) {
        if (errno != ENOTCONN) return -1;
        *pid = 0;
    }
    return getpeereid(descriptor, uid, gid);
}

int frame_socket_untaken(int descriptor, int *byte_count) {
    errno = ENOTSUP;
    return -1;
}

int frame_socket_backlog(int descriptor, int *unread, bool *has_peer_closed) {
    errno = ENOTSUP;
    return -1;
}

bool frame_is_mount(int directory, const char *name) {
    // Only directories are mounted here.
    (void)directory, (void)name;
    return false;
}

void frame_thread_set_name(const char *name) {
    pthread_setname_np(name);
}

uint64_t frame_monotonic_time(void) {
    return clock_gettime_nsec_np(CLOCK_MONOTONIC);
}

#endif
