#include "sockets.h"

#include <stdlib.h>
#include <turbojpeg.h>

#if __has_include(<jconfig.h>)
#include <jconfig.h>
#endif

struct baseline_codec {
    int width, height;
    tjhandle compressor, decompressor;
    unsigned char *jpeg;
    unsigned long capacity;
    uint8_t *pixels;
};

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

int64_t baseline_encode(struct baseline_codec *codec, const uint8_t *pixels) {
    unsigned long bytes = codec->capacity;
    int status = tjCompress2(codec->compressor, pixels, codec->width, codec->width * 4, codec->height, TJPF_BGRA,
                             &codec->jpeg, &bytes, TJSAMP_420, 80, TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT);
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

struct header {
    int64_t began, bytes;
};

int64_t baseline_send_images(int socket, struct baseline_codec *codec, const uint8_t *const *images, int count, int frames,
                             int64_t interval) {
    int64_t start = baseline_now();
    for (int i = 0; i < frames; i++) {
        if (interval > 0) baseline_sleep_until(start + i * interval);
        struct header header = {.began = baseline_now()};
        header.bytes = baseline_encode(codec, images[i % count]);
        if (header.bytes < 0) return -1;
        if (baseline_send_all(socket, &header, sizeof header, codec->jpeg, (size_t)header.bytes) < 0) return -1;
    }
    return start;
}

int baseline_receive_images(int socket, struct baseline_codec *codec, int frames, int64_t *latencies) {
    for (int i = 0; i < frames; i++) {
        struct header header;
        if (baseline_receive_all(socket, &header, sizeof header) < 0 || header.bytes > (int64_t)codec->capacity
            || baseline_receive_all(socket, codec->jpeg, (size_t)header.bytes) < 0
            || baseline_decode(codec, codec->jpeg, (size_t)header.bytes) < 0) return -1;
        latencies[i] = baseline_now() - header.began;
    }
    return 0;
}
