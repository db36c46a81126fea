// The Apple half of this file has not been compiled: it is written from Apple's documentation.

#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "CFrameTransport.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int frame_thread_start(void *(*routine)(void *), void *argument, uintptr_t *thread) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t handle;
    error = pthread_create(&handle, &attributes, routine, argument);
    pthread_attr_destroy(&attributes);
    if (error == 0) *thread = (uintptr_t)handle;
    return error;
}

uintptr_t frame_thread_current(void) {
    return (uintptr_t)pthread_self();
}

void frame_thread_block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void send_without_delay(int descriptor, int family) {
    int on = 1;
    if (family == AF_INET) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void reuse_address(int descriptor, int family) {
    int on = 1;
    if (family == AF_INET) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

static int family_of(int descriptor) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    return getsockname(descriptor, (struct sockaddr *)&address, &length) < 0 ? AF_UNSPEC : address.ss_family;
}

bool frame_socket_is_local(int descriptor) {
    return family_of(descriptor) == AF_UNIX;
}

int frame_socket_port(int descriptor) {
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) < 0) return -1;
    return ntohs(address.sin_port);
}

int frame_socket_is_own_peer(int descriptor) {
    struct sockaddr_in own = {0}, peer = {0};
    socklen_t own_length = sizeof own, peer_length = sizeof peer;
    if (getsockname(descriptor, (struct sockaddr *)&own, &own_length) < 0) return -1;
    if (getpeername(descriptor, (struct sockaddr *)&peer, &peer_length) < 0) return -1;
    return own.sin_family == AF_INET && own.sin_port == peer.sin_port && own.sin_addr.s_addr == peer.sin_addr.s_addr;
}

static bool has_option(int descriptor, int option, int wanted) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 && value == wanted;
}

int frame_listener_inspect(int descriptor, struct frame_listener *listener, char *path, size_t capacity) {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in internet;
        struct sockaddr_storage storage;
    } address = {0};
    socklen_t length = sizeof address;
    if (getsockname(descriptor, &address.any, &length) < 0) return -1;
    *listener = (struct frame_listener){
        .family = address.any.sa_family,
        .is_stream = has_option(descriptor, SO_TYPE, SOCK_STREAM),
        .is_listening = has_option(descriptor, SO_ACCEPTCONN, 1),
    };
    size_t count = 0;
    if (listener->family == AF_INET) {
        listener->port = ntohs(address.internet.sin_port);
        listener->is_loopback = address.internet.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    } else if (listener->family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path)) {
        const char *name = address.local.sun_path;
        count = length - offsetof(struct sockaddr_un, sun_path);
        if (count > sizeof address.local.sun_path) count = sizeof address.local.sun_path;
        // The length may count the NUL byte that ends a path; one at its start begins an abstract name.
        if (name[0] != 0) count = strnlen(name, count);
        if (count >= capacity) count = capacity - 1;
        memcpy(path, name, count);
        if (count > 0 && path[0] == 0) path[0] = '@';
    }
    path[count] = 0;
    return 0;
}

int frame_listener_adopt(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -1;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

int frame_socket_error(int descriptor) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

#if defined(__linux__)

#include <linux/sockios.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

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
    if (descriptor >= 0) send_without_delay(descriptor, family);
    if (descriptor >= 0) reuse_address(descriptor, family);
    return descriptor;
}

int frame_socket_accept(int listener) {
    int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) send_without_delay(descriptor, family_of(descriptor));
    return descriptor;
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

int frame_socket_backlog(int descriptor, int *unread, bool *has_peer_closed) {
    if (!frame_socket_is_local(descriptor)) {
        errno = ENOTSUP;
        return -1;
    }
    // The order matters: a closing peer first signals the close, and only then drops what it has not read.
    if (ioctl(descriptor, SIOCOUTQ, unread) < 0) return -1;
    struct pollfd state = {.fd = descriptor};
    if (poll(&state, 1, 0) < 0) return -1;
    *has_peer_closed = (state.revents & (POLLHUP | POLLERR)) != 0;
    return 0;
}

int frame_descriptor_limit(pid_t process, uint64_t *limit) {
    struct rlimit both = {0};
    if (prlimit(process, RLIMIT_NOFILE, NULL, &both) < 0) return -1;
    *limit = both.rlim_cur;
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

#elif defined(__APPLE__)

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
        if (events[i].flags & (EV_EOF | EV_ERROR)) flags |= FRAME_READABLE | FRAME_HANGUP;
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

static int prepared(int descriptor) {
    if (descriptor < 0) return -1;
    int on = 1;
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0
        || fcntl(descriptor, F_SETFL, O_NONBLOCK) < 0
        || setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on) < 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    send_without_delay(descriptor, family_of(descriptor));
    return descriptor;
}

int frame_socket_create(int family) {
    int descriptor = prepared(socket(family, SOCK_STREAM, 0));
    if (descriptor >= 0) reuse_address(descriptor, family);
    return descriptor;
}

int frame_socket_accept(int listener) {
    return prepared(accept(listener, NULL, NULL));
}

int frame_socket_peer(int descriptor, pid_t *pid, uid_t *uid, gid_t *gid) {
    socklen_t length = sizeof *pid;
    if (getsockopt(descriptor, SOL_LOCAL, LOCAL_PEERPID, pid, &length) < 0) return -1;
    return getpeereid(descriptor, uid, gid);
}

int frame_socket_backlog(int descriptor, int *unread, bool *has_peer_closed) {
    errno = ENOTSUP;
    return -1;
}

int frame_descriptor_limit(pid_t process, uint64_t *limit) {
    struct rlimit both = {0};
    if (process != 0) {
        errno = ENOTSUP;
        return -1;
    }
    if (getrlimit(RLIMIT_NOFILE, &both) < 0) return -1;
    *limit = both.rlim_cur;
    return 0;
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
