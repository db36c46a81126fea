// Messages from one thread to another over a socket pair.

#ifndef BASELINE_TRANSPORT_H
#define BASELINE_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/// A socket pair, and buffers that are used again.
struct baseline_link;

struct baseline_link *baseline_link_create(size_t head_bytes, size_t body_bytes);
void baseline_link_destroy(struct baseline_link *link);

/// Sends `frames` messages of a head and a body from a thread to the calling one: one sendmsg with two vectors each, one
/// each `interval` nanoseconds, or as fast as it goes where that is 0. Notes for each, unless `latencies` is NULL, the
/// nanoseconds from before it was sent to after it was received. Returns 0, or -1.
int baseline_link_run(struct baseline_link *link, int frames, int64_t interval, int64_t *latencies);

/// Makes a socket pair, the first end with room to send two messages. Returns 0, or -1.
int baseline_make_pair(int ends[2], size_t message_bytes);

/// Waits for a time of the monotonic clock, in nanoseconds.
void baseline_sleep_until(int64_t time);

#endif
