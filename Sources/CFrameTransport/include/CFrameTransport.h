// The system interfaces that FrameTransport needs and Swift cannot import, or that differ between Linux and Apple
// platforms: those are in linux.c and apple.c.
//
// Unless stated otherwise, a function that fails returns -1 with errno set, like the call that it wraps.

#ifndef CFRAMETRANSPORT_H
#define CFRAMETRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// The events a descriptor is ready for; bits of `frame_readiness.flags`.
enum {
    FRAME_READABLE = 1,
    FRAME_WRITABLE = 2,
    /// The peer has closed or shut down its sending side, or the connection failed: read to the end.
    FRAME_HANGUP = 4,
};

/// One event reported by `frame_poller_wait`.
struct frame_readiness {
    uint64_t token;
    uint32_t flags;
};

/// Creates a poller: epoll on Linux, kqueue on Apple platforms. It is edge-triggered: each change is reported once.
int frame_poller_create(void);

/// Watches `descriptor` for data to read; its reports carry `token`, which is not 0.
int frame_poller_add(int poller, int descriptor, uint64_t token);

/// Starts or stops watching `descriptor` for room to write as well. Room that already exists is reported.
int frame_poller_watch_room(int poller, int descriptor, uint64_t token, bool watches);

/// Stops watching `descriptor`.
int frame_poller_remove(int poller, int descriptor);

/// Waits at most `timeout` ms (-1: forever) for reports, and returns the number of reports written. A wake-up counts as
/// a report with token 0.
int frame_poller_wait(int poller, struct frame_readiness *reports, int capacity, int timeout);

/// Creates the handle with which other threads wake a poller (an eventfd; on Apple, a duplicate of the poller).
int frame_wakeup_create(int poller);

/// Wakes the poller that `wakeup` belongs to.
int frame_wakeup_signal(int wakeup);

/// Creates a stream socket of the given family (AF_UNIX or AF_INET) that is non-blocking, closed on exec, and raises no
/// SIGPIPE. Over TCP, it sends without delay, and can bind to a port that still has connections in TIME_WAIT.
int frame_socket_create(int family);

/// Accepts a connection, with the same properties as a socket of `frame_socket_create`.
int frame_socket_accept(int listener);

/// Returns whether a TCP socket is connected to itself: 1 or 0.
int frame_socket_is_own_peer(int descriptor);

/// Returns whether a socket is in the Unix domain.
bool frame_socket_is_local(int descriptor);

/// Returns the port that a TCP socket is bound to.
int frame_socket_port(int descriptor);

/// The properties of a socket that was created elsewhere.
struct frame_listener {
    /// The address family: AF_UNIX, AF_INET, or another.
    int family;
    bool is_stream;
    bool is_listening;
    /// Whether the socket is bound to 127.0.0.1.
    bool is_loopback;
    uint16_t port;
};

/// Gets the properties of a socket, and writes its path, terminated by a NUL byte, to `path`; an abstract name begins
/// with "@".
int frame_listener_inspect(int descriptor, struct frame_listener *listener, char *path, size_t capacity);

/// Makes an inherited socket non-blocking and closed on exec; what it accepts raises no SIGPIPE.
int frame_listener_adopt(int descriptor);

/// Returns the result of a pending connect: 0, or the error.
int frame_socket_error(int descriptor);

/// The flags for opening a directory to name its entries; on Linux, without the right to list it.
extern const int frame_directory_flags;

/// The flags for opening a file only to keep a reference to it, whatever its type and mode; on Apple platforms, sockets
/// cannot be opened this way.
extern const int frame_hold_flags;

/// The flags of every send: a closed peer is an error to handle, never a signal.
extern const int frame_send_flags;

/// Gets the identity of the peer of a connected Unix-domain socket, as recorded by the kernel.
int frame_socket_peer(int descriptor, pid_t *pid, uid_t *uid, gid_t *gid);

/// Gets the amount of data written to a Unix-domain socket that its peer has not read, in bytes including the kernel's
/// overhead, and whether the peer has closed; supported only on Linux.
int frame_socket_backlog(int descriptor, int *unread, bool *has_peer_closed);

/// Gets the amount of data written to a socket that waits on this machine, in bytes including the kernel's overhead: what the
/// peer of a Unix-domain socket has not read, or that of a TCP socket has not acknowledged; supported only on Linux.
int frame_socket_untaken(int descriptor, int *byte_count);

/// Whether the file at a name in a directory is the root of a mount; false if the system does not tell.
bool frame_is_mount(int directory, const char *name);

/// Whether the system has memory that can be sealed against truncation.
extern const bool frame_memory_is_supported;

/// Creates memory to share, sealed against every change of its size and against writes by others, and maps it.
int frame_memory_create(size_t byte_count, void **memory);

/// The verdict on a descriptor that a peer has passed.
enum frame_memory_verdict {
    FRAME_MEMORY_FIT,
    /// Not memory that is sealed as by `frame_memory_create`.
    FRAME_MEMORY_UNSEALED,
    /// Memory of huge pages, which may turn out to be missing when they are read.
    FRAME_MEMORY_UNORDINARY,
    /// Not of the given size.
    FRAME_MEMORY_MISSIZED,
    /// Not all of its pages exist. Reading a missing page would allocate it, on this process's account, and raise
    /// SIGBUS if there is no memory for it.
    FRAME_MEMORY_HOLLOW,
    /// A call failed, with errno set.
    FRAME_MEMORY_FAILED,
};

/// Checks memory that a peer has passed: whether it is sealed, of exactly this size, and entirely there. It stays so.
enum frame_memory_verdict frame_memory_check(int descriptor, size_t byte_count);

/// Maps memory that was checked, for reading: 0, 1 if this process has no room for it, or -1. The caller still owns the
/// descriptor.
int frame_memory_map(int descriptor, size_t byte_count, const void **memory);

/// Turns off what the system may add to received bytes besides descriptors: a socket that a service manager has made
/// may pass on credentials, which would take the place of descriptors, and process descriptors, which would be leaked.
void frame_socket_expect_descriptors_alone(int socket);

struct msghdr;

/// Sends as `sendmsg` does, passing a descriptor with the first byte.
ssize_t frame_socket_send_passing(int socket, struct msghdr *message, int passed);

/// Receives as `recvmsg` does, with the descriptors that arrive with these bytes: their number, and the first of them;
/// the others are closed. `is_cut` means that there were still more, or that this process had no room for them.
ssize_t frame_socket_receive_passed(int socket, struct msghdr *message, int *passed, int *count, bool *is_cut);

/// Starts a thread that is never joined, and gives what `frame_thread_current` returns on it. In C, because `pthread_t` is a
/// number on some systems and a pointer on others. Returns an error number, or 0.
int frame_thread_start(void *(*routine)(void *), void *argument, uintptr_t *thread);

/// What tells the calling thread from every other that is alive.
uintptr_t frame_thread_current(void);

/// Names the calling thread, for debuggers and `top -H`.
void frame_thread_set_name(const char *name);

/// The time of `CLOCK_MONOTONIC` in nanoseconds. In C, because which module defines `timespec` depends on what else is imported.
uint64_t frame_monotonic_time(void);

/// Blocks every signal in the calling thread, so that signals reach the program's own threads.
void frame_thread_block_signals(void);

#endif
