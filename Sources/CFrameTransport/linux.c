// What only Linux has.

#if defined(__linux__) && !defined(KQUEUE_OVER_EPOLL)

#define _GNU_SOURCE
#include "CFrameTransport.h"
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const int frame_directory_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
const int frame_hold_flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
const int frame_send_flags = MSG_NOSIGNAL;

int frame_poller_create(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

static int watch(int poller, int operation, int descriptor, uint64_t token, uint32_t room) {
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLRDHUP | EPOLLET | room,
        .data = {.u64 = token},
    };
    return epoll_ctl(poller, operation, descriptor, &event);
}

int frame_poller_add(int poller, int descriptor, uint64_t token) {
    return watch(poller, EPOLL_CTL_ADD, descriptor, token, 0);
}

int frame_poller_watch_room(int poller, int descriptor, uint64_t token, bool watches) {
    return watch(poller, EPOLL_CTL_MOD, descriptor, token, watches ? EPOLLOUT : 0);
}

int frame_poller_remove(int poller, int descriptor) {
    return epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, NULL);
}

int frame_poller_wait(int poller, struct frame_readiness *reports, int capacity, int timeout) {
    enum { BATCH = 64 };
    struct epoll_event events[BATCH];
    int count = epoll_wait(poller, events, capacity < BATCH ? capacity : BATCH, timeout);
    for (int i = 0; i < count; i++) {
        uint32_t flags = 0;
        if (events[i].events & EPOLLIN) flags |= FRAME_READABLE;
        if (events[i].events & EPOLLOUT) flags |= FRAME_WRITABLE;
        if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) flags |= FRAME_READABLE | FRAME_HANGUP;
        reports[i] = (struct frame_readiness){.token = events[i].data.u64, .flags = flags};
    }
    return count;
}

int frame_wakeup_create(int poller) {
    int wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wakeup < 0) return -1;
    // Edge-triggered, so that each write is a report and the counter never needs to be read.
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.u64 = 0}};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, wakeup, &event) < 0) {
        int error = errno;
        close(wakeup);
        errno = error;
        return -1;
    }
    return wakeup;
}

int frame_wakeup_signal(int wakeup) {
    return eventfd_write(wakeup, 1);
}

int frame_socket_create(int family) {
    int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0) frame_socket_send_without_delay(descriptor, family);
    if (descriptor >= 0) frame_socket_reuse_address(descriptor, family);
    return descriptor;
}

int frame_socket_accept(int listener) {
    int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) frame_socket_send_without_delay(descriptor, frame_socket_family(descriptor));
    return descriptor;
}

int frame_listener_adopt(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -1;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

int frame_socket_peer(int descriptor, pid_t *pid, uid_t *uid, gid_t *gid) {
    struct ucred credentials = {0};
    socklen_t length = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return -1;
    *pid = credentials.pid;
    *uid = credentials.uid;
    *gid = credentials.gid;
    return 0;
}

int frame_socket_untaken(int descriptor, int *byte_count) {
    return ioctl(descriptor, SIOCOUTQ, byte_count);
}

int frame_socket_backlog(int descriptor, int *unread, bool *has_peer_closed) {
    if (!frame_socket_is_local(descriptor)) {
        errno = ENOTSUP;
        return -1;
    }
    // The order matters: a closing peer first signals the close, and only then drops what it has not read.
    if (frame_socket_untaken(descriptor, unread) < 0) return -1;
    struct pollfd state = {.fd = descriptor};
    if (poll(&state, 1, 0) < 0) return -1;
    *has_peer_closed = (state.revents & (POLLHUP | POLLERR)) != 0;
    return 0;
}

bool frame_is_mount(int directory, const char *name) {
    struct statx status = {0};
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) < 0) return false;
    return (status.stx_attributes & status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

void frame_thread_set_name(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

uint64_t frame_monotonic_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#endif
