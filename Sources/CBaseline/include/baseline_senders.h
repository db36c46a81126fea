// Many senders and one receiver.

#ifndef BASELINE_SENDERS_H
#define BASELINE_SENDERS_H

#include <stddef.h>

/// Socket pairs, with a thread that writes to all and one that reads from all; both wait with poll.
struct baseline_senders;

struct baseline_senders *baseline_senders_create(int count, size_t head_bytes, size_t body_bytes);
void baseline_senders_destroy(struct baseline_senders *senders);

/// Sends `frames` messages over each pair. Returns the share that the slowest had received when the fastest was done, or a
/// number below 0.
double baseline_senders_run(struct baseline_senders *senders, int frames);

/// Connects to a path. Returns the descriptor, or -1.
int baseline_connect(const char *path);

#endif
