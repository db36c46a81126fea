#define _GNU_SOURCE
#include <sys/event.h>

#undef fcntl
#undef setsockopt
#undef getsockopt

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// A queue is an epoll instance, which watches for data to read, for the user's event, and another instance that watches for room. The
// last one reports for as long as it has something to report; everything else is reported once for each change.
struct queue {
    int room, user;
    // Of the user's event.
    void *udata;
    int descriptors;
};

// What is known of a descriptor: the queue that it is one of, or the events that a queue has for it. One queue may watch it.
struct entry {
    struct queue *queue;
    // The watching queue's first descriptor.
    int watcher;
    bool reads, writes, has_room_watched, has_shut_down_sending;
    void *read_udata, *write_udata;
};

enum { CAPACITY = 1 << 16, READ = 0, USER = 1, ROOM = 2 };

static struct entry entries[CAPACITY];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct epoll_event interest(uint32_t events, int kind, int descriptor) {
    return (struct epoll_event){.events = events, .data = {.u64 = (uint64_t)kind << 32 | (uint32_t)descriptor}};
}

static struct entry *entry(int descriptor) {
    return descriptor >= 0 && descriptor < CAPACITY ? &entries[descriptor] : NULL;
}

static int failing(int error) {
    errno = error;
    return -1;
}

static void destroy(struct queue *queue) {
    if (queue->room >= 0) syscall(SYS_close, queue->room);
    if (queue->user >= 0) syscall(SYS_close, queue->user);
    free(queue);
}

int kqueue(void) {
    struct queue *queue = malloc(sizeof *queue);
    if (queue == NULL) return failing(ENOMEM);
    int descriptor = epoll_create1(0);
    *queue = (struct queue){.room = epoll_create1(EPOLL_CLOEXEC), .user = -1, .descriptors = 1};
    struct epoll_event room = interest(EPOLLIN, ROOM, queue->room);
    if (descriptor < 0 || queue->room < 0 || entry(descriptor) == NULL
        || epoll_ctl(descriptor, EPOLL_CTL_ADD, queue->room, &room) < 0) {
        int error = errno;
        if (descriptor >= 0) syscall(SYS_close, descriptor);
        destroy(queue);
        return failing(error);
    }
    pthread_mutex_lock(&lock);
    entries[descriptor] = (struct entry){.queue = queue};
    pthread_mutex_unlock(&lock);
    return descriptor;
}

// The linker takes this in place of the C library's, for the whole process: a closed descriptor leaves its queue, and the last one of a
// queue ends it.
int close(int descriptor) {
    struct entry *known = entry(descriptor);
    if (known != NULL) {
        pthread_mutex_lock(&lock);
        struct queue *queue = known->queue;
        *known = (struct entry){0};
        if (queue != NULL && --queue->descriptors == 0) destroy(queue);
        pthread_mutex_unlock(&lock);
    }
    return (int)syscall(SYS_close, descriptor);
}

int shutdown(int descriptor, int how) {
    struct entry *known = entry(descriptor);
    if (known != NULL && how != SHUT_RD) {
        pthread_mutex_lock(&lock);
        known->has_shut_down_sending = true;
        pthread_mutex_unlock(&lock);
    }
    return (int)syscall(SYS_shutdown, descriptor, how);
}

int kqueue_fcntl(int descriptor, int command, int argument) {
    int result = fcntl(descriptor, command, argument);
    struct entry *known = entry(descriptor);
    if (command != F_DUPFD_CLOEXEC || result < 0 || known == NULL || entry(result) == NULL) return result;
    pthread_mutex_lock(&lock);
    if (known->queue != NULL) {
        known->queue->descriptors++;
        entries[result] = (struct entry){.queue = known->queue};
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static int change_reading(int poller, const struct kevent *change) {
    int descriptor = (int)change->ident;
    struct entry *known = entry(descriptor);
    if (change->flags & EV_DELETE) {
        if (known == NULL || !known->reads || known->watcher != poller) return failing(ENOENT);
        known->reads = false;
        return epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, NULL);
    }
    if (change->flags != (EV_ADD | EV_CLEAR)) return failing(EINVAL);
    struct epoll_event event = interest(EPOLLIN | EPOLLRDHUP | EPOLLET, READ, descriptor);
    if (epoll_ctl(poller, known != NULL && known->reads ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) < 0) return -1;
    if (known == NULL) return failing(ENOMEM);
    known->watcher = poller;
    known->reads = true;
    known->read_udata = change->udata;
    return 0;
}

// As the manual says, a disabled event is never reported, and enabling one reports what is so already.
static int change_writing(int poller, struct queue *queue, const struct kevent *change) {
    int descriptor = (int)change->ident;
    struct entry *known = entry(descriptor);
    if (known == NULL) return failing(ENOMEM);
    if (change->flags & EV_ADD) {
        if (change->flags != (EV_ADD | EV_CLEAR | EV_DISABLE)) return failing(EINVAL);
        known->watcher = poller;
        known->writes = true;
        known->write_udata = change->udata;
        return 0;
    }
    if (!known->writes || known->watcher != poller) return failing(ENOENT);
    bool watches = change->flags == EV_ENABLE, watched = known->has_room_watched;
    if (change->flags == EV_DELETE) known->writes = false;
    else known->write_udata = change->udata;
    known->has_room_watched = watches;
    struct epoll_event event = interest(EPOLLOUT | EPOLLET, ROOM, descriptor);
    if (watches) return epoll_ctl(queue->room, watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
    return watched ? epoll_ctl(queue->room, EPOLL_CTL_DEL, descriptor, NULL) : 0;
}

static int change_user(int poller, struct queue *queue, const struct kevent *change) {
    if (change->flags == (EV_ADD | EV_CLEAR) && queue->user < 0) {
        int user = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (user < 0) return -1;
        struct epoll_event event = interest(EPOLLIN | EPOLLET, USER, user);
        queue->user = user;
        queue->udata = change->udata;
        return epoll_ctl(poller, EPOLL_CTL_ADD, user, &event);
    }
    if (change->flags != 0 || change->fflags != NOTE_TRIGGER || queue->user < 0) return failing(ENOENT);
    return eventfd_write(queue->user, 1);
}

static int apply(int poller, struct queue *queue, const struct kevent *change) {
    switch (change->filter) {
    case EVFILT_READ: return change_reading(poller, change);
    case EVFILT_WRITE: return change_writing(poller, queue, change);
    case EVFILT_USER: return change_user(poller, queue, change);
    default: return failing(EINVAL);
    }
}

// The bytes that can be read; the waiting connections of a listener, of which Linux only says that there are some.
static intptr_t unread(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) < 0 ? 1 : count;
}

// The bytes that can be written.
static intptr_t room(int descriptor) {
    int capacity = 0, used = 0;
    socklen_t size = sizeof capacity;
    getsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &capacity, &size);
    ioctl(descriptor, TIOCOUTQ, &used);
    return capacity > used ? capacity - used : 0;
}

// Writes what epoll has reported as an event of a queue; returns false if it is of a descriptor that nobody watches any more.
static bool translate(const struct queue *queue, int kind, const struct epoll_event *found, struct kevent *event) {
    int descriptor = (int)(uint32_t)found->data.u64;
    const struct entry *known = &entries[descriptor];
    *event = (struct kevent){.ident = (uintptr_t)descriptor, .flags = EV_CLEAR};
    switch (kind) {
    case USER:
        event->ident = 0;
        event->filter = EVFILT_USER;
        event->udata = queue->udata;
        return true;
    case READ:
        event->filter = EVFILT_READ;
        event->data = unread(descriptor);
        event->udata = known->read_udata;
        if (found->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) event->flags |= EV_EOF;
        return known->reads;
    default:
        event->filter = EVFILT_WRITE;
        event->data = room(descriptor);
        event->udata = known->write_udata;
        // Also the end of writing that is this side's own.
        if (known->has_shut_down_sending || found->events & (EPOLLHUP | EPOLLERR)) event->flags |= EV_EOF;
        return known->writes && known->has_room_watched;
    }
}

static int collect(const struct queue *queue, const struct epoll_event *found, int count, int kind, struct kevent *events) {
    int written = 0;
    for (int i = 0; i < count; i++) {
        int own = kind == ROOM ? ROOM : (int)(found[i].data.u64 >> 32);
        if (own == ROOM && kind != ROOM) continue;
        written += translate(queue, own, &found[i], &events[written]);
    }
    return written;
}

int kevent(int poller, const struct kevent *changes, int change_count, struct kevent *events, int event_count, const struct timespec *timeout) {
    enum { BATCH = 64 };
    struct epoll_event found[BATCH];
    pthread_mutex_lock(&lock);
    struct entry *known = entry(poller);
    struct queue *queue = known == NULL ? NULL : known->queue;
    int result = queue == NULL ? failing(EBADF) : 0;
    for (int i = 0; result == 0 && i < change_count; i++) result = apply(poller, queue, &changes[i]);
    pthread_mutex_unlock(&lock);
    if (result < 0 || event_count == 0) return result;

    int limit = event_count < BATCH ? event_count : BATCH;
    int milliseconds = timeout == NULL ? -1 : (int)(timeout->tv_sec * 1000 + timeout->tv_nsec / 1000000);
    while (true) {
        int count = epoll_wait(poller, found, limit, milliseconds);
        if (count <= 0) return count;
        bool has_room = false;
        for (int i = 0; i < count; i++) has_room |= found[i].data.u64 >> 32 == ROOM;
        pthread_mutex_lock(&lock);
        int written = collect(queue, found, count, READ, events);
        if (has_room && written < limit) {
            int more = epoll_wait(queue->room, found, limit - written, 0);
            if (more > 0) written += collect(queue, found, more, ROOM, events + written);
        }
        pthread_mutex_unlock(&lock);
        // What was reported may have been closed meanwhile.
        if (written > 0 || milliseconds == 0) return written;
    }
}

// What follows does what the sources of Apple's kernel say (xnu), where that differs from Linux.

// The mode of an open file is that of a file, which a socket is none of.
int fchmod(int descriptor, mode_t mode) {
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) return failing(EINVAL);
    return (int)syscall(SYS_fchmod, descriptor, mode);
}

// Nobody is told whether a socket listens.
int getsockopt(int descriptor, int level, int option, void *value, socklen_t *size) {
    if (level == SOL_SOCKET && option == SO_ACCEPTCONN) return failing(ENOPROTOOPT);
    return (int)syscall(SYS_getsockopt, descriptor, level, option, value, size);
}

// Whether the other end of a socket has gone.
static bool has_lost_peer(int descriptor) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    struct pollfd state = {.fd = descriptor};
    return getpeername(descriptor, (struct sockaddr *)&address, &size) == 0 && poll(&state, 1, 0) == 1
        && (state.revents & POLLHUP) != 0;
}

// A socket that neither end uses any more takes no options.
int kqueue_ignore_sigpipe(int descriptor) {
    signal(SIGPIPE, SIG_IGN);
    return has_lost_peer(descriptor) ? failing(EINVAL) : 0;
}

static int credentials(int descriptor, struct ucred *found) {
    socklen_t size = sizeof *found;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, found, &size);
}

// The process is asked of the other end, and the user is what was noted when the connection was made.
int getpeerpid(int descriptor, pid_t *pid) {
    struct ucred found = {0};
    if (has_lost_peer(descriptor)) return failing(ENOTCONN);
    if (credentials(descriptor, &found) < 0) return -1;
    *pid = found.pid;
    return 0;
}

int getpeereid(int descriptor, uid_t *user, gid_t *group) {
    struct ucred found = {0};
    if (credentials(descriptor, &found) < 0) return -1;
    *user = found.uid;
    *group = found.gid;
    return 0;
}

uint64_t clock_gettime_nsec_np(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
