// What the baselines share.

#ifndef BASELINE_SOCKETS_H
#define BASELINE_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

int64_t baseline_now(void);

/// Writes all of a head and a body, waiting where the socket is full. Returns 0, or -1.
int baseline_send_all(int socket, const void *head, size_t head_bytes, const void *body, size_t body_bytes);

/// Gives a socket room to send two messages.
void baseline_make_room(int socket, size_t message_bytes);

/// Reads all of `count` bytes. Returns 0, or -1.
int baseline_receive_all(int socket, void *bytes, size_t count);

#endif
