// The inside of a codec, for the files of this target.

#ifndef BASELINE_CODEC_INSIDE_H
#define BASELINE_CODEC_INSIDE_H

#include "baseline_codec.h"

#include <turbojpeg.h>

struct baseline_codec {
    int width, height;
    tjhandle compressor, decompressor;
    unsigned char *jpeg;
    unsigned long capacity;
    uint8_t *pixels;
};

#endif
