// Faults of the system, by seed, under a program that was not built for them: see README.md.
//
// Loaded with LD_PRELOAD, it stands between the program and the C library in the calls by which FrameTransport reaches
// its sockets. Each call on such a socket draws a number from the seed, the socket's own number and how many calls of
// this kind it has seen, and so either goes through or meets a fault.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/sockios.h>

// MARK: What may happen

enum fault { NONE, SHORT, INTERRUPT, AGAIN, ABORT, EXHAUST, RESET, NOBUFS, BUSY, FAULTS };
static const char *const names[FAULTS] = {
    "none", "short", "eintr", "eagain", "econnaborted", "emfile", "econnreset", "enobufs", "busy",
};

enum call { RECEIVE, SEND, ACCEPT, CONNECT, SOCKET, WAIT, WATCH, CALLS };
// In the order of the enumeration, what each call may meet; which of them it does is also up to FAULTS.
static const uint32_t possible[CALLS] = {
    [RECEIVE] = 1 << SHORT | 1 << INTERRUPT | 1 << AGAIN | 1 << RESET,
    [SEND] = 1 << SHORT | 1 << INTERRUPT | 1 << AGAIN | 1 << RESET | 1 << NOBUFS,
    [ACCEPT] = 1 << INTERRUPT | 1 << AGAIN | 1 << ABORT | 1 << EXHAUST,
    [CONNECT] = 1 << INTERRUPT | 1 << BUSY,
    [SOCKET] = 1 << NOBUFS,
    [WAIT] = 1 << INTERRUPT,
    [WATCH] = 1 << NOBUFS,
};

static uint64_t seed;
static uint32_t enabled;
static uint32_t rate = 4;
static atomic_ulong injected[FAULTS];

// MARK: The sockets

enum { CAPACITY = 1 << 16 };

// A socket that is non-blocking, as FrameTransport's are; a test's own blocking sockets are left alone.
struct watched {
    atomic_uint number;  // 0: not one of them
    atomic_uint calls[CALLS];
    // How it was registered, so that a faked EAGAIN can be made good.
    atomic_int poller;  // 0: not registered
    atomic_uint events;
    atomic_ulong data;
};

static struct watched sockets[CAPACITY];
static atomic_uint last_number;

static struct watched *watched(int descriptor) {
    if (!enabled || descriptor < 0 || descriptor >= CAPACITY) return NULL;
    return atomic_load(&sockets[descriptor].number) ? &sockets[descriptor] : NULL;
}

static int watch(int descriptor) {
    if (!enabled || descriptor < 0 || descriptor >= CAPACITY) return descriptor;
    struct watched *socket = &sockets[descriptor];
    for (int call = 0; call < CALLS; call++) atomic_store(&socket->calls[call], 0);
    atomic_store(&socket->poller, 0);
    atomic_store(&socket->number, atomic_fetch_add(&last_number, 1) + 1);
    return descriptor;
}

// MARK: Drawing

static uint64_t mixed(uint64_t value) {
    value += 0x9E3779B97F4A7C15;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
}

// Draws for the `index`th call of this kind on socket `number`; `amount` is for whatever the fault needs.
static enum fault draw(enum call call, uint32_t number, uint32_t index, uint64_t *amount) {
    uint64_t value = mixed(seed ^ mixed((uint64_t)number << 40 ^ (uint64_t)call << 32 ^ index));
    uint32_t choices = possible[call] & enabled;
    if (!choices || value % rate != 0) return NONE;
    value = mixed(value);
    int nth = (int)(value % (uint64_t)__builtin_popcount(choices));
    while (nth-- > 0) choices &= choices - 1;
    *amount = mixed(value);
    return (enum fault)__builtin_ctz(choices);
}

static enum fault draw_on(struct watched *socket, enum call call, uint64_t *amount) {
    if (!socket) return NONE;
    return draw(call, atomic_load(&socket->number), atomic_fetch_add(&socket->calls[call], 1), amount);
}

static int fail(enum fault fault, int error) {
    atomic_fetch_add(&injected[fault], 1);
    errno = error;
    return -1;
}

static int nobufs(uint64_t amount) {
    static const int errors[] = {ENOBUFS, ENOMEM};
    return errors[amount % 2];
}

// MARK: The C library's own

#define ORIGINAL(name) \
    static __typeof__(name) *original; \
    if (!original) original = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

// What is ready now is reported once more, as if it had become so just after the call: EAGAIN and a short count promise a
// report, and the one that told of what is there already has been given out.
static void report_again(int descriptor, struct watched *socket) {
    int poller = atomic_load(&socket->poller);
    if (!poller) return;
    ORIGINAL(epoll_ctl);
    struct epoll_event event = {
        .events = atomic_load(&socket->events),
        .data = {.u64 = atomic_load(&socket->data)},
    };
    original(poller, EPOLL_CTL_MOD, descriptor, &event);
}

// MARK: Transfers

static size_t length_of(const struct msghdr *message) {
    size_t length = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) length += message->msg_iov[i].iov_len;
    return length;
}

enum { MOST_RUNS = 8 };

// The same message with no more than `limit` bytes.
static struct msghdr shortened(const struct msghdr *message, size_t limit, struct iovec *runs) {
    struct msghdr result = *message;
    result.msg_iov = runs;
    result.msg_iovlen = 0;
    for (size_t i = 0; i < message->msg_iovlen && limit > 0; i++) {
        runs[i] = message->msg_iov[i];
        if (runs[i].iov_len > limit) runs[i].iov_len = limit;
        limit -= runs[i].iov_len;
        result.msg_iovlen++;
    }
    return result;
}

// A limit under `length`: half the time a few bytes, half the time anything.
static size_t limit_under(size_t length, uint64_t amount) {
    size_t most = amount & 1 && length > 16 ? 16 : length;
    return 1 + (size_t)(amount >> 1) % (most - 1);
}

// Whether the peer has closed, as a write that failed may have told already: then a read finds data or the end, and never
// that there is nothing yet.
static bool has_peer_closed(int descriptor) {
    struct pollfd state = {.fd = descriptor, .events = POLLRDHUP};
    return poll(&state, 1, 0) == 1 && state.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    ORIGINAL(recvmsg);
    uint64_t amount = 0;
    struct watched *socket = watched(descriptor);
    switch (draw_on(socket, RECEIVE, &amount)) {
    case INTERRUPT: return fail(INTERRUPT, EINTR);
    case RESET: return fail(RESET, ECONNRESET);
    case AGAIN:
        if (has_peer_closed(descriptor)) break;
        report_again(descriptor, socket);
        return fail(AGAIN, EAGAIN);
    case SHORT: {
        int there = 0;
        size_t length = length_of(message);
        // Less than is there, or it would not be short.
        if (ioctl(descriptor, FIONREAD, &there) == 0 && there >= 0 && (size_t)there < length) length = (size_t)there;
        if (length < 2 || message->msg_iovlen > MOST_RUNS) break;
        struct iovec runs[MOST_RUNS];
        struct msghdr part = shortened(message, limit_under(length, amount), runs);
        ssize_t count = original(descriptor, &part, flags);
        message->msg_flags = part.msg_flags;
        message->msg_controllen = part.msg_controllen;
        message->msg_namelen = part.msg_namelen;
        if (count > 0) {
            atomic_fetch_add(&injected[SHORT], 1);
            report_again(descriptor, socket);
        }
        return count;
    }
    default: break;
    }
    return original(descriptor, message, flags);
}

// What the peer has not read yet. While that is nothing a write is never refused for want of room, and one of half the
// least buffer that Linux allows is never cut: a program may count on it.
static int unread(int descriptor) {
    int queued = 0;
    return ioctl(descriptor, SIOCOUTQ, &queued) == 0 ? queued : 0;
}

enum { ALWAYS_FITS = 2048 };

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    ORIGINAL(sendmsg);
    uint64_t amount = 0;
    struct watched *socket = watched(descriptor);
    switch (draw_on(socket, SEND, &amount)) {
    case INTERRUPT: return fail(INTERRUPT, EINTR);
    case RESET: return fail(RESET, amount & 1 ? ECONNRESET : EPIPE);
    case NOBUFS: return fail(NOBUFS, nobufs(amount));
    case AGAIN:
        if (unread(descriptor) == 0) break;
        report_again(descriptor, socket);
        return fail(AGAIN, EAGAIN);
    case SHORT: {
        size_t length = length_of(message);
        if (length < 2 || message->msg_iovlen > MOST_RUNS) break;
        if (length <= ALWAYS_FITS && unread(descriptor) == 0) break;
        struct iovec runs[MOST_RUNS];
        struct msghdr part = shortened(message, limit_under(length, amount), runs);
        ssize_t count = original(descriptor, &part, flags);
        if (count > 0) {
            atomic_fetch_add(&injected[SHORT], 1);
            report_again(descriptor, socket);
        }
        return count;
    }
    default: break;
    }
    return original(descriptor, message, flags);
}

// MARK: Connections

int socket(int family, int type, int protocol) {
    ORIGINAL(socket);
    bool is_watched = (family == AF_UNIX || family == AF_INET) && type & SOCK_NONBLOCK && (type & 0xF) == SOCK_STREAM;
    if (!is_watched || !enabled) return original(family, type, protocol);
    static atomic_uint index;
    uint64_t amount = 0;
    if (draw(SOCKET, 0, atomic_fetch_add(&index, 1), &amount) == NOBUFS) {
        return fail(NOBUFS, amount >> 1 & 1 ? EMFILE : nobufs(amount));
    }
    return watch(original(family, type, protocol));
}

int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags) {
    ORIGINAL(accept4);
    uint64_t amount = 0;
    struct watched *listener = watched(descriptor);
    switch (draw_on(listener, ACCEPT, &amount)) {
    case INTERRUPT: return fail(INTERRUPT, EINTR);
    case ABORT: return fail(ABORT, ECONNABORTED);
    // Whoever asked stays in the backlog, as with a table of descriptors that is full. Seldom: each costs a pause.
    case EXHAUST:
        if (amount >> 32 & 7) break;
        return fail(EXHAUST, amount & 1 ? EMFILE : amount & 2 ? ENFILE : nobufs(amount >> 2));
    case AGAIN:
        report_again(descriptor, listener);
        return fail(AGAIN, EAGAIN);
    default: break;
    }
    int accepted = original(descriptor, address, length, flags);
    return flags & SOCK_NONBLOCK ? watch(accepted) : accepted;
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    ORIGINAL(connect);
    uint64_t amount = 0;
    switch (draw_on(watched(descriptor), CONNECT, &amount)) {
    case INTERRUPT: return fail(INTERRUPT, EINTR);
    // As where the backlog is full.
    case BUSY: return fail(BUSY, EAGAIN);
    default: return original(descriptor, address, length);
    }
}

int close(int descriptor) {
    ORIGINAL(close);
    struct watched *socket = watched(descriptor);
    // Before the number can be given out again.
    if (socket) atomic_store(&socket->number, 0);
    return original(descriptor);
}

// MARK: Waiting

int epoll_ctl(int poller, int operation, int descriptor, struct epoll_event *event) {
    ORIGINAL(epoll_ctl);
    struct watched *socket = watched(descriptor);
    if (!socket) return original(poller, operation, descriptor, event);
    if (operation == EPOLL_CTL_DEL) {
        atomic_store(&socket->poller, 0);
    } else if (event) {
        uint64_t amount = 0;
        // What is watched already can be changed without any memory.
        bool is_new = operation == EPOLL_CTL_ADD;
        if (is_new && draw_on(socket, WATCH, &amount) == NOBUFS) return fail(NOBUFS, amount & 1 ? ENOMEM : ENOSPC);
        atomic_store(&socket->events, event->events);
        atomic_store(&socket->data, event->data.u64);
        atomic_store(&socket->poller, poller);
    }
    return original(poller, operation, descriptor, event);
}

int epoll_wait(int poller, struct epoll_event *events, int capacity, int timeout) {
    ORIGINAL(epoll_wait);
    static atomic_uint index;
    uint64_t amount = 0;
    if (draw(WAIT, 0, atomic_fetch_add(&index, 1), &amount) == INTERRUPT) return fail(INTERRUPT, EINTR);
    return original(poller, events, capacity, timeout);
}

// MARK: Settings and report

__attribute__((constructor)) static void start(void) {
    const char *kinds = getenv("FAULTS"), *number = getenv("FAULTS_SEED"), *one_in = getenv("FAULTS_RATE");
    if (number) seed = strtoull(number, NULL, 10);
    if (one_in && atoi(one_in) > 0) rate = (uint32_t)atoi(one_in);
    char *list = strdup(kinds ? kinds : "");
    char *rest = list;
    for (char *kind; list && (kind = strsep(&rest, ","));) {
        int fault = 1;
        while (fault < FAULTS && strcmp(kind, names[fault]) != 0) fault++;
        if (fault < FAULTS) {
            enabled |= 1u << fault;
        } else if (*kind) {
            fprintf(stderr, "faults: \"%s\" in FAULTS is none of those in Tests/Faults/README.md\n", kind);
            _exit(64);
        }
    }
    free(list);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("FAULTS_REPORT");
    int file = enabled && path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file < 0) return;
    char line[512];
    int length = snprintf(line, sizeof line, "seed %llu", (unsigned long long)seed);
    for (int fault = 1; fault < FAULTS; fault++) {
        unsigned long count = atomic_load(&injected[fault]);
        if (count) length += snprintf(line + length, sizeof line - length, " %s %lu", names[fault], count);
    }
    line[length++] = '\n';
    if (write(file, line, length) != length) _exit(70);
    close(file);
}
