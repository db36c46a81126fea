// What FrameTransport needs of the system and Swift cannot import, or what Linux and Apple spell
// differently. Everything that depends on the platform is in the one .c file behind this header.
//
// Every function returns -1 with errno set where it fails, as the call it wraps does.

#ifndef CFRAMETRANSPORT_H
#define CFRAMETRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// What a descriptor is ready for; bits of `frame_readiness.flags`.
enum {
    FRAME_READABLE = 1,
    FRAME_WRITABLE = 2,
    /// The peer has closed or shut down its sending side, or the connection failed: read to the end.
    FRAME_HANGUP = 4,
};

/// One report of `frame_poller_wait`.
struct frame_readiness {
    uint64_t token;
    uint32_t flags;
};

/// Makes a poller: epoll on Linux, kqueue on Apple. Edge-triggered: each change is reported once.
int frame_poller_create(void);

/// Watches `descriptor` for what is to be read; its reports carry `token`, which is not 0.
int frame_poller_add(int poller, int descriptor, uint64_t token);

/// Watches `descriptor` also for room to write, or no longer. Where there is room already that is reported.
int frame_poller_watch_room(int poller, int descriptor, uint64_t token, bool watches);

/// Stops watching `descriptor`.
int frame_poller_remove(int poller, int descriptor);

/// Waits for reports, at most `timeout` ms (-1: for ever), and returns how many were written.
/// A wake-up counts as a report with token 0.
int frame_poller_wait(int poller, struct frame_readiness *reports, int capacity, int timeout);

/// Makes the handle by which other threads wake a poller (an eventfd; on Apple the poller itself).
int frame_wakeup_create(int poller);

/// Wakes the poller that `wakeup` was made for.
int frame_wakeup_signal(int wakeup);

/// Makes a stream socket of the given family (AF_UNIX or AF_INET) that is non-blocking, closed on exec, and raises no
/// SIGPIPE; over TCP it sends without delay, and may be bound to a port of which connections still wait for their time to pass.
int frame_socket_create(int family);

/// Accepts a connection, with the same properties as `frame_socket_create` gives.
int frame_socket_accept(int listener);

/// Whether a TCP socket is connected to itself: 1 or 0.
int frame_socket_is_own_peer(int descriptor);

/// Whether a socket is of the Unix domain.
bool frame_socket_is_local(int descriptor);

/// The port that a TCP socket is bound to.
int frame_socket_port(int descriptor);

/// What a socket is that somebody else has made.
struct frame_listener {
    /// Its address family: AF_UNIX, AF_INET, or another.
    int family;
    bool is_stream;
    bool is_listening;
    /// Whether it is bound to 127.0.0.1.
    bool is_loopback;
    uint16_t port;
};

/// Says what a socket is, and writes its path, closed with a NUL byte, to `path`; an abstract name begins with "@" there.
int frame_listener_inspect(int descriptor, struct frame_listener *listener, char *path, size_t capacity);

/// Makes a socket that was inherited non-blocking, and closed on exec.
int frame_listener_adopt(int descriptor);

/// What became of a connect that was under way: 0, or the error.
int frame_socket_error(int descriptor);

/// How a directory is opened to name what is in it: on Linux without the right to list it.
extern const int frame_directory_flags;

/// How a file is opened only to hold on to it, whatever its kind and mode; Apple opens no sockets so.
extern const int frame_hold_flags;

/// The flags of every send: a closed peer is an error to handle, never a signal.
extern const int frame_send_flags;

/// Who is at the other end of a connected Unix-domain socket, as the kernel recorded it.
int frame_socket_peer(int descriptor, pid_t *pid, uid_t *uid, gid_t *gid);

/// How much of what was written to a Unix-domain socket its peer has not read, in bytes with the kernel's own overhead, and
/// whether the peer has closed; only Linux tells.
int frame_socket_backlog(int descriptor, int *unread, bool *has_peer_closed);

/// How many descriptors a process may have, itself where `process` is 0; of others Linux alone tells.
int frame_descriptor_limit(pid_t process, uint64_t *limit);

/// Names the calling thread, for debuggers and `top -H`.
void frame_thread_set_name(const char *name);

/// Blocks every signal in the calling thread, so that signals reach the program's own threads.
void frame_thread_block_signals(void);

#endif
