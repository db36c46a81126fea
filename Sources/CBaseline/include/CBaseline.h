// What the same work costs in plain C, to be measured in the same run.

#ifndef CBASELINE_H
#define CBASELINE_H

#include <stddef.h>
#include <stdint.h>

/// Sends `frames` messages of a head and a body over a socket pair, from a thread to the calling one: one sendmsg with
/// two vectors, reads into one body buffer that is used again. Returns the nanoseconds it took, or -1.
int64_t baseline_transport(int frames, size_t head_bytes, size_t body_bytes);

/// A plain libturbojpeg codec with handles and buffers that are used again.
struct baseline_codec;

struct baseline_codec *baseline_codec_create(int width, int height);
void baseline_codec_destroy(struct baseline_codec *codec);

/// Compresses BGRA pixels at 4:2:0; the JPEG stays in the codec. Returns its bytes, or -1.
int64_t baseline_encode(struct baseline_codec *codec, const uint8_t *pixels, int stride, int quality);

/// Decompresses a JPEG to BGRA in the codec's buffer. Returns 0, or -1.
int baseline_decode(struct baseline_codec *codec, const uint8_t *jpeg, size_t bytes);

/// Sends `frames` pictures over a socket pair: compress, write, read and decompress, on two threads. Returns the
/// nanoseconds it took, or -1.
int64_t baseline_end_to_end(int frames, const uint8_t *pixels, int width, int height, int stride, int quality);

/// Reads a head as a careless receiver does: splits lines and names, matches the four names without regard to case,
/// reads their numbers. Returns the content length, or -1.
int64_t baseline_parse_head(const uint8_t *bytes, size_t count);

#endif
