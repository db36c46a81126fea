// Many senders, in processes of their own, and one receiver.

#ifndef BASELINE_SENDERS_H
#define BASELINE_SENDERS_H

#include <stddef.h>

/// Connected sockets, all served by the calling thread, which waits with poll.
struct baseline_ends;

/// Listens at a path. Returns the descriptor, or -1.
int baseline_listen(const char *path);

/// Connects to a path. Returns the descriptor, or -1.
int baseline_connect(const char *path);

/// Connects to a path `count` times, to send messages of this size. Returns NULL if that fails.
struct baseline_ends *baseline_ends_connect(const char *path, int count, size_t message_bytes);

/// Accepts `count` connections, to receive messages of this size. Returns NULL if that fails.
struct baseline_ends *baseline_ends_accept(int listener, int count, size_t message_bytes);

void baseline_ends_destroy(struct baseline_ends *ends);

/// Sends `messages` over each connection. Returns 0, or -1.
int baseline_ends_send(struct baseline_ends *ends, int messages);

/// Receives `messages` over each connection. Returns the share that the slowest had received when the fastest was done, or
/// -1.
double baseline_ends_receive(struct baseline_ends *ends, int messages);

#endif
