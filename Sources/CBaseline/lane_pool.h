// The buffers of a lane, and how they are passed.

#ifndef LANE_POOL_H
#define LANE_POOL_H

#include "baseline_lane.h"

#include <stddef.h>

enum { LANE_BUFFERS = 3 };

/// What goes ahead of each frame: as long as the text of a protocol.
struct lane_header {
    uint64_t number;
    int64_t submitted;
    uint32_t buffer;
    char rest[280];
};

/// What comes back when a frame has been read.
struct lane_release {
    uint32_t buffer;
    char rest[60];
};

struct lane_pool {
    size_t bytes;
    uint8_t *buffers[LANE_BUFFERS];
};

size_t lane_bytes(struct baseline_lane_shape shape);

/// Makes the pool and passes it. Returns 0, or -1.
int lane_pool_pass(struct lane_pool *pool, size_t bytes, int socket);

/// Receives a pool and maps it for reading. Returns 0, or -1.
int lane_pool_receive(struct lane_pool *pool, size_t bytes, int socket);

void lane_pool_unmap(struct lane_pool *pool);

#endif
