// Pixels in at one end of a socket, pixels out at the other: compress, write, read, decompress.

#ifndef BASELINE_IMAGES_H
#define BASELINE_IMAGES_H

#include "baseline_codec.h"

#include <stdint.h>

/// Images of one shape, which are sent one after the other, over and over.
struct baseline_images {
    const uint8_t *const *pixels;
    int count, stride, quality;
};

/// Sends `frames` images, one each `interval` nanoseconds, or as fast as it goes where that is 0. Returns when the first
/// one began, on the monotonic clock, or -1.
int64_t baseline_send_images(int socket, struct baseline_codec *codec, const struct baseline_images *images,
                               int frames, int64_t interval);

/// Receives `frames` images into the codec's buffers, and notes for each, unless `latencies` is NULL, the nanoseconds
/// since its compression began. Returns 0, or -1.
int baseline_receive_images(int socket, struct baseline_codec *codec, int frames, int64_t *latencies);

/// Does both, on two threads of this process. Returns 0, or -1.
int baseline_end_to_end(struct baseline_codec *sender, struct baseline_codec *receiver,
                        const struct baseline_images *images, int frames);

#endif
