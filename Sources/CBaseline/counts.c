#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "baseline_counts.h"

#include <stdatomic.h>

static atomic_bool is_counting;
static _Atomic int64_t reads, writes, waits, allocations, copied;

struct baseline_counts baseline_counts_now(void) {
    return (struct baseline_counts){reads, writes, waits, allocations, copied};
}

static inline void count(_Atomic int64_t *counter, int64_t by) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed)) {
        atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
    }
}

#if defined(__has_feature)
#define HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HAS_SANITIZER 0
#endif

// A sanitizer puts functions of its own in the same places.
#if !defined(__GLIBC__) || HAS_SANITIZER

bool baseline_counts_enable(bool on) {
    (void)on;
    return false;
}

#else

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

bool baseline_counts_enable(bool on) {
    is_counting = on;
    return true;
}

/// Defines a function that counts and then calls the C library's own, which is looked up at the first call.
#define COUNTING(counter, by, result, name, parameters, arguments)         \
    result name parameters {                                               \
        static result (*_Atomic original) parameters;                      \
        count(&counter, by);                                               \
        result(*call) parameters = original;                               \
        if (call == NULL) original = call = dlsym(RTLD_NEXT, #name);       \
        return call arguments;                                             \
    }

// MARK: Descriptors

COUNTING(reads, 1, ssize_t, read, (int descriptor, void *bytes, size_t size), (descriptor, bytes, size))
COUNTING(reads, 1, ssize_t, recv, (int socket, void *bytes, size_t size, int flags), (socket, bytes, size, flags))
COUNTING(reads, 1, ssize_t, recvmsg, (int socket, struct msghdr *message, int flags), (socket, message, flags))
COUNTING(writes, 1, ssize_t, write, (int descriptor, const void *bytes, size_t size), (descriptor, bytes, size))
COUNTING(writes, 1, ssize_t, send, (int socket, const void *bytes, size_t size, int flags), (socket, bytes, size, flags))
COUNTING(writes, 1, ssize_t, sendmsg, (int socket, const struct msghdr *message, int flags), (socket, message, flags))
COUNTING(writes, 1, int, eventfd_write, (int descriptor, uint64_t value), (descriptor, value))
COUNTING(waits, 1, int, poll, (struct pollfd *descriptors, nfds_t size, int timeout), (descriptors, size, timeout))
COUNTING(waits, 1, int, epoll_wait, (int poller, struct epoll_event *events, int size, int timeout),
         (poller, events, size, timeout))

// MARK: Memory

// These are called while the program is loaded, before anything can be looked up.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    count(&allocations, 1);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(&allocations, 1);
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count(&allocations, 1);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(&allocations, 1);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    count(&allocations, 1);
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

// MARK: Copies

typedef void *copy(void *, const void *, size_t);

/// Copies byte by byte while the C library's function is looked up, in case that copies.
static void *copy_slowly(void *to, const void *from, size_t size) {
    volatile char *target = to;
    const char *source = from;
    if (source >= (char *)to) {
        for (size_t i = 0; i < size; i++) target[i] = source[i];
    } else {
        for (size_t i = size; i > 0; i--) target[i - 1] = source[i - 1];
    }
    return to;
}

static copy *_Atomic original_memcpy, *_Atomic original_memmove;

static copy *look_up(copy *_Atomic *original, const char *name) {
    *original = copy_slowly;
    return *original = (copy *)dlsym(RTLD_NEXT, name);
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    count(&copied, (int64_t)size);
    copy *call = atomic_load_explicit(&original_memcpy, memory_order_relaxed);
    return (call != NULL ? call : look_up(&original_memcpy, "memcpy"))(to, from, size);
}

void *memmove(void *to, const void *from, size_t size) {
    count(&copied, (int64_t)size);
    copy *call = atomic_load_explicit(&original_memmove, memory_order_relaxed);
    return (call != NULL ? call : look_up(&original_memmove, "memmove"))(to, from, size);
}

#endif
