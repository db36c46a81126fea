// A JPEG with restart markers stays open, and gets the strips to compress, whichever they are: a restart marker resets
// the coder's state, so the data of a strip does not depend on the previous strips.

#include "failure.h"

#include <stdlib.h>

/// The number of rows of pixels passed at once.
#define ROWS_AT_ONCE 64

/// The number of rows of samples of a plane in a row of MCUs.
#define PLANE_ROWS (2 * DCTSIZE)

/// The second byte of the marker whose segment precedes the compressed data.
#define SCAN_MARKER 0xDA

struct jpeg_strips_encoder {
    struct strips_failure failure;
    struct jpeg_destination_mgr destination;
    struct jpeg_compress_struct codec;
    struct jpeg_strips_options options;
    uint8_t *output;
    size_t capacity;
    bool has_strips;
    /// Padded samples of planes that do not end with whole blocks, or have interleaved chroma.
    JSAMPARRAY padded[3];
};

// MARK: The destination

static void start_destination(j_compress_ptr codec) { (void)codec; }

static boolean refuse_more(j_compress_ptr codec) {
    ERREXIT(codec, JERR_BUFFER_SIZE);
    return FALSE;
}

static void end_destination(j_compress_ptr codec) { (void)codec; }

static void rewind_destination(struct jpeg_strips_encoder *encoder) {
    encoder->destination.next_output_byte = encoder->output;
    encoder->destination.free_in_buffer = encoder->capacity;
}

static size_t written(const struct jpeg_strips_encoder *encoder) {
    return (size_t)(encoder->destination.next_output_byte - encoder->output);
}

// MARK: Opening

static bool is_planar(const struct jpeg_strips_options *options) {
    return options->format == JPEG_STRIPS_PLANES || options->format == JPEG_STRIPS_PAIRED_PLANES;
}

static int components_of(enum jpeg_strips_format format) {
    switch (format) {
    case JPEG_STRIPS_BGRA:
    case JPEG_STRIPS_RGBA:
    case JPEG_STRIPS_ARGB:
    case JPEG_STRIPS_ABGR:
        return 4;
    case JPEG_STRIPS_GRAY:
        return 1;
    default:
        return 3;
    }
}

/// Sets the same options that libturbojpeg derives from its flags.
static void configure(struct jpeg_strips_encoder *encoder) {
    j_compress_ptr codec = &encoder->codec;
    const struct jpeg_strips_options *options = &encoder->options;
    bool is_gray = options->horizontal == 0;
    codec->image_width = options->width;
    codec->in_color_space = strips_color_space(options->format);
    codec->input_components = components_of(options->format);
    if (is_planar(options) && is_gray) {
        codec->in_color_space = JCS_GRAYSCALE;
        codec->input_components = 1;
    }
    jpeg_set_defaults(codec);
    jpeg_set_quality(codec, options->quality, TRUE);
    codec->dct_method = JDCT_ISLOW;
    jpeg_set_colorspace(codec, is_gray ? JCS_GRAYSCALE : JCS_YCbCr);
    for (int index = 0; index < codec->num_components; index++) {
        codec->comp_info[index].h_samp_factor = index == 0 && !is_gray ? options->horizontal : 1;
        codec->comp_info[index].v_samp_factor = index == 0 && !is_gray ? options->vertical : 1;
    }
    codec->raw_data_in = is_planar(options);
    codec->restart_in_rows = options->mcu_rows;
}

static int prepare(struct jpeg_strips_encoder *encoder, char *message) {
    if (setjmp(encoder->failure.place)) return strips_failure_report(&encoder->failure, message);
    jpeg_create_compress(&encoder->codec);
    encoder->destination = (struct jpeg_destination_mgr){
        .init_destination = start_destination,
        .empty_output_buffer = refuse_more,
        .term_destination = end_destination,
    };
    encoder->codec.dest = &encoder->destination;
    configure(encoder);
    return 0;
}

struct jpeg_strips_encoder *jpeg_strips_encoder_open(const struct jpeg_strips_options *options, uint8_t *output,
                                                     size_t capacity, char *message) {
    struct jpeg_strips_encoder *encoder = calloc(1, sizeof *encoder);
    if (encoder == NULL) {
        strcpy(message, "Insufficient memory");
        return NULL;
    }
    encoder->options = *options;
    encoder->output = output;
    encoder->capacity = capacity;
    encoder->codec.err = strips_failure_init(&encoder->failure);
    if (prepare(encoder, message) == 0) return encoder;
    jpeg_strips_encoder_close(encoder);
    return NULL;
}

int jpeg_strips_encoder_start(struct jpeg_strips_encoder *encoder, uint32_t height, char *message) {
    j_compress_ptr codec = &encoder->codec;
    if (setjmp(encoder->failure.place)) return strips_failure_report(&encoder->failure, message);
    // Whatever became of the JPEG before.
    jpeg_abort_compress(codec);
    memset(encoder->padded, 0, sizeof encoder->padded);
    encoder->has_strips = false;
    rewind_destination(encoder);
    if (height == 0) {
        // The maximum number of whole rows of MCUs. The actual number is known when the JPEG ends.
        uint32_t vertical = encoder->options.vertical > 1 ? (uint32_t)encoder->options.vertical : 1;
        height = JPEG_MAX_DIMENSION / (DCTSIZE * vertical) * (DCTSIZE * vertical);
    }
    codec->image_height = height;
    jpeg_start_compress(codec, TRUE);
    return 0;
}

void jpeg_strips_encoder_close(struct jpeg_strips_encoder *encoder) {
    jpeg_destroy_compress(&encoder->codec);
    free(encoder);
}

// MARK: Strips

static void feed_packed(struct jpeg_strips_encoder *encoder, const struct jpeg_strips_pixels *pixels, uint32_t count) {
    JSAMPROW rows[ROWS_AT_ONCE];
    for (uint32_t row = 0; row < count;) {
        JDIMENSION wanted = count - row < ROWS_AT_ONCE ? count - row : ROWS_AT_ONCE;
        for (JDIMENSION index = 0; index < wanted; index++) {
            rows[index] = pixels->base[0] + pixels->stride[0] * (ptrdiff_t)(row + index);
        }
        for (JDIMENSION fed = 0; fed < wanted;) {
            JDIMENSION taken = jpeg_write_scanlines(&encoder->codec, rows + fed, wanted - fed);
            if (taken == 0) ERREXIT(&encoder->codec, JERR_CANT_SUSPEND);
            fed += taken;
        }
        row += wanted;
    }
}

/// Copies a row of a plane, and repeats the last sample up to the width of its blocks.
static JSAMPROW pad_row(struct jpeg_strips_encoder *encoder, const uint8_t *from, int plane, uint32_t slot,
                        JDIMENSION visible, JDIMENSION width) {
    JSAMPROW row = encoder->padded[plane][slot];
    if (encoder->options.format == JPEG_STRIPS_PAIRED_PLANES && plane > 0) {
        for (JDIMENSION column = 0; column < visible; column++) row[column] = from[2 * column + (JDIMENSION)plane - 1];
    } else {
        memcpy(row, from, visible);
    }
    memset(row + visible, row[visible - 1], width - visible);
    return row;
}

static void allocate_padding(struct jpeg_strips_encoder *encoder) {
    j_compress_ptr codec = &encoder->codec;
    for (int plane = 0; plane < codec->num_components; plane++) {
        JDIMENSION width = codec->comp_info[plane].width_in_blocks * DCTSIZE;
        encoder->padded[plane] =
            (*codec->mem->alloc_sarray)((j_common_ptr)codec, JPOOL_IMAGE, width, PLANE_ROWS);
    }
}

static void feed_planes(struct jpeg_strips_encoder *encoder, const struct jpeg_strips_pixels *pixels, uint32_t count) {
    j_compress_ptr codec = &encoder->codec;
    JSAMPROW rows[3][PLANE_ROWS];
    JSAMPARRAY lists[3] = {rows[0], rows[1], rows[2]};
    JDIMENSION mcu_height = (JDIMENSION)(codec->max_v_samp_factor * DCTSIZE);
    if (encoder->padded[0] == NULL) allocate_padding(encoder);
    for (uint32_t first = 0; first < count; first += mcu_height) {
        for (int plane = 0; plane < codec->num_components; plane++) {
            const jpeg_component_info *component = &codec->comp_info[plane];
            uint32_t scale_x = (uint32_t)(codec->max_h_samp_factor / component->h_samp_factor);
            uint32_t scale_y = (uint32_t)(codec->max_v_samp_factor / component->v_samp_factor);
            JDIMENSION visible = (codec->image_width + scale_x - 1) / scale_x;
            JDIMENSION width = component->width_in_blocks * DCTSIZE;
            bool is_whole = visible == width && (encoder->options.format == JPEG_STRIPS_PLANES || plane == 0);
            uint32_t height = (count + scale_y - 1) / scale_y;
            for (uint32_t slot = 0; slot < (uint32_t)component->v_samp_factor * DCTSIZE; slot++) {
                // The last row is repeated.
                uint32_t row = first / scale_y + slot < height ? first / scale_y + slot : height - 1;
                uint8_t *from = pixels->base[plane] + pixels->stride[plane] * (ptrdiff_t)row;
                rows[plane][slot] = is_whole ? from : pad_row(encoder, from, plane, slot, visible, width);
            }
        }
        if (jpeg_write_raw_data(codec, lists, mcu_height) == 0) ERREXIT(codec, JERR_CANT_SUSPEND);
    }
}

static void feed(struct jpeg_strips_encoder *encoder, const struct jpeg_strips_pixels *pixels, uint32_t count) {
    if (is_planar(&encoder->options)) {
        feed_planes(encoder, pixels, count);
    } else {
        feed_packed(encoder, pixels, count);
    }
}

/// Divides the output since the last strip began into its last few bytes, the restart marker, and the new strip.
static bool split(const struct jpeg_strips_encoder *encoder, struct jpeg_strips_bytes *tail,
                  struct jpeg_strips_bytes *body) {
    const uint8_t *start = encoder->output, *end = encoder->destination.next_output_byte;
    const uint8_t *marker = start;
    while ((marker = memchr(marker, 0xFF, (size_t)(end - marker))) != NULL && marker + 1 < end) {
        if (marker[1] >= JPEG_RST0 && marker[1] <= JPEG_RST0 + 7) {
            *tail = (struct jpeg_strips_bytes){start, (size_t)(marker - start)};
            *body = (struct jpeg_strips_bytes){marker + 2, (size_t)(end - marker - 2)};
            return true;
        }
        marker++;
    }
    return false;
}

/// Finds the first strip, after the header.
static bool take_first(const struct jpeg_strips_encoder *encoder, struct jpeg_strips_bytes *tail,
                       struct jpeg_strips_bytes *body) {
    const uint8_t *start = encoder->output;
    size_t count = written(encoder), offset = 2;
    while (offset + 4 <= count) {
        bool is_scan = start[offset + 1] == SCAN_MARKER;
        offset += 2 + ((size_t)start[offset + 2] << 8 | start[offset + 3]);
        if (!is_scan) continue;
        *tail = (struct jpeg_strips_bytes){start, 0};
        *body = (struct jpeg_strips_bytes){start + offset, count - offset};
        return offset <= count;
    }
    return false;
}

int jpeg_strips_encode(struct jpeg_strips_encoder *encoder, const struct jpeg_strips_pixels *pixels, uint32_t rows,
                       struct jpeg_strips_bytes *tail, struct jpeg_strips_bytes *body, char *message) {
    j_compress_ptr codec = &encoder->codec;
    if (setjmp(encoder->failure.place)) return strips_failure_report(&encoder->failure, message);
    bool is_first = !encoder->has_strips;
    encoder->has_strips = true;
    // The output of the first call follows the beginning of the JPEG, which is already there.
    if (!is_first) rewind_destination(encoder);
    feed(encoder, pixels, rows);
    bool is_divided = is_first ? take_first(encoder, tail, body) : split(encoder, tail, body);
    if (!is_divided) ERREXIT(codec, JERR_BAD_STATE);
    return 0;
}

int jpeg_strips_encoder_finish(struct jpeg_strips_encoder *encoder, struct jpeg_strips_bytes *tail, char *message) {
    if (setjmp(encoder->failure.place)) return strips_failure_report(&encoder->failure, message);
    rewind_destination(encoder);
    encoder->codec.image_height = encoder->codec.next_scanline;
    jpeg_finish_compress(&encoder->codec);
    // The end marker is not part of the data.
    *tail = (struct jpeg_strips_bytes){encoder->output, written(encoder) - 2};
    return 0;
}

// MARK: Whole images

static int write_image(struct jpeg_strips_encoder *encoder, const struct jpeg_strips_pixels *pixels, uint32_t height,
                       size_t *count, char *message) {
    if (setjmp(encoder->failure.place)) return strips_failure_report(&encoder->failure, message);
    if (pixels == NULL) {
        // The header is written before the first row, so no row is needed.
        JSAMPROW none = NULL;
        jpeg_write_scanlines(&encoder->codec, &none, 0);
    } else {
        feed(encoder, pixels, height);
        jpeg_finish_compress(&encoder->codec);
    }
    *count = written(encoder);
    return 0;
}

int jpeg_strips_write(const struct jpeg_strips_options *options, uint32_t height,
                      const struct jpeg_strips_pixels *pixels, uint8_t *output, size_t capacity, size_t *count,
                      char *message) {
    struct jpeg_strips_options used = *options;
    // The header does not depend on the input format.
    if (pixels == NULL && is_planar(options)) used.format = JPEG_STRIPS_RGB;
    struct jpeg_strips_encoder *encoder = jpeg_strips_encoder_open(&used, output, capacity, message);
    if (encoder == NULL) return -1;
    int status = jpeg_strips_encoder_start(encoder, height, message);
    if (status == 0) status = write_image(encoder, pixels, height, count, message);
    jpeg_strips_encoder_close(encoder);
    return status;
}
