#include "codec.h"

#include <stdlib.h>

#if __has_include(<jconfig.h>)
#include <jconfig.h>
#endif

struct baseline_codec *baseline_codec_create(int width, int height) {
    struct baseline_codec *codec = calloc(1, sizeof *codec);
    codec->width = width;
    codec->height = height;
    codec->compressor = tjInitCompress();
    codec->decompressor = tjInitDecompress();
    codec->capacity = tjBufSize(width, height, TJSAMP_420);
    codec->jpeg = malloc(codec->capacity);
    codec->pixels = malloc((size_t)width * (size_t)height * 4);
    return codec;
}

void baseline_codec_destroy(struct baseline_codec *codec) {
    tjDestroy(codec->compressor);
    tjDestroy(codec->decompressor);
    free(codec->jpeg);
    free(codec->pixels);
    free(codec);
}

int64_t baseline_encode(struct baseline_codec *codec, const uint8_t *pixels, int stride, int quality) {
    unsigned long bytes = codec->capacity;
    int status = tjCompress2(codec->compressor, pixels, codec->width, stride, codec->height, TJPF_BGRA, &codec->jpeg,
                             &bytes, TJSAMP_420, quality, TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT);
    return status == 0 ? (int64_t)bytes : -1;
}

int baseline_decode(struct baseline_codec *codec, const uint8_t *jpeg, size_t bytes) {
    return tjDecompress2(codec->decompressor, jpeg, bytes, codec->pixels, codec->width, codec->width * 4, codec->height,
                         TJPF_BGRA, TJFLAG_ACCURATEDCT);
}

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

const char *baseline_codec_version(void) {
#if defined(LIBJPEG_TURBO_VERSION)
    return TEXT(LIBJPEG_TURBO_VERSION);
#else
    return NULL;
#endif
}
