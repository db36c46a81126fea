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


/// Whether a socket is of the Unix domain.
bool frame_socket_is_local(int descriptor);
