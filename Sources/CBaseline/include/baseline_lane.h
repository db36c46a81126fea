// Frames in shared memory: a pool of sealed memory files passed once, then a header for each frame and a release back.

#ifndef BASELINE_LANE_H
#define BASELINE_LANE_H

#include <stdint.h>

/// The layout of a frame: planes one after another, each with rows `strides` bytes apart.
struct baseline_lane_shape {
    int planes;
    int strides[2], rows[2];
};

/// What the sender does with each frame.
enum baseline_lane_mode {
    /// Marks the rows that change in a buffer of the pool, and sends it.
    BASELINE_LANE_IN_PLACE,
    /// Overwrites all of a buffer of the pool first.
    BASELINE_LANE_DRAWN,
    /// Marks the rows that change in an image of its own, and copies all of it into a buffer of the pool.
    BASELINE_LANE_COPIED,
};

/// Writes the frame's number to the start of each row that changes: `permille` of all rows, in the middle, but at least
/// one.
void baseline_lane_mark(uint8_t *plane, int stride, int rows, int permille, uint64_t number);

/// Reads `bytes` of each row, one load per cache line. Returns 0 if the rows that change have the number, or -1.
int baseline_lane_read(const uint8_t *plane, int stride, int rows, int bytes, int permille, uint64_t number);

struct baseline_lane_sender;

/// Makes a pool of three buffers and passes it. Returns NULL on failure, and on systems without memfd_create.
struct baseline_lane_sender *baseline_lane_sender_create(int socket, struct baseline_lane_shape shape);
void baseline_lane_sender_destroy(struct baseline_lane_sender *sender);

/// Sends `frames` frames, one per `interval` nanoseconds, or as fast as buffers are released if that is 0.
///
/// A frame is submitted after it has been drawn or marked, and before it is copied. Returns when the first one began,
/// on the monotonic clock, or -1.
int64_t baseline_lane_send(struct baseline_lane_sender *sender, enum baseline_lane_mode mode, int permille, int frames,
                           int64_t interval);

struct baseline_lane_receiver;

/// Receives the pool, checks its seals and sizes, and maps it for reading. Returns NULL on failure.
struct baseline_lane_receiver *baseline_lane_receiver_create(int socket, struct baseline_lane_shape shape);
void baseline_lane_receiver_destroy(struct baseline_lane_receiver *receiver);

/// Receives `frames` frames, reads `bytes` of each row, and releases them. Stores the nanoseconds from when each was
/// submitted to when it had been read. Returns 0, or -1.
int baseline_lane_receive(struct baseline_lane_receiver *receiver, int bytes, int permille, int frames,
                          int64_t *latencies);

#endif
