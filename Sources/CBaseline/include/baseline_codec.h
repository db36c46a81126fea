// Plain calls of libturbojpeg.

#ifndef BASELINE_CODEC_H
#define BASELINE_CODEC_H

#include <stddef.h>
#include <stdint.h>

/// A codec with handles and buffers that are used again.
struct baseline_codec;

struct baseline_codec *baseline_codec_create(int width, int height);
void baseline_codec_destroy(struct baseline_codec *codec);

/// Compresses BGRA pixels at 4:2:0; the JPEG stays in the codec. Returns its bytes, or -1.
int64_t baseline_encode(struct baseline_codec *codec, const uint8_t *pixels, int stride, int quality);

/// Decompresses a JPEG to BGRA in the codec's buffer. Returns 0, or -1.
int baseline_decode(struct baseline_codec *codec, const uint8_t *jpeg, size_t bytes);

/// The version of libjpeg-turbo that this was compiled against, or NULL if its headers do not tell.
const char *baseline_codec_version(void);

#endif
