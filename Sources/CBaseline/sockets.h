// What the baselines share.

#ifndef BASELINE_SOCKETS_H
#define BASELINE_SOCKETS_H

#include "CBaseline.h"

#include <sys/socket.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

int64_t baseline_now(void);

/// Connects to a path. Returns the descriptor, or -1.
int baseline_connect(const char *path);

/// Gives a socket room to send two messages.
void baseline_make_room(int socket, size_t message_bytes);

/// Writes all of a header and a body, waiting while the socket is full.
int baseline_send_all(int socket, const void *header, size_t header_bytes, const void *body, size_t body_bytes);

/// Reads all of `count` bytes.
int baseline_receive_all(int socket, void *bytes, size_t count);

#endif
