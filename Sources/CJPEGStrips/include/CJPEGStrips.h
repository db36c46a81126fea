// Encodes and decodes parts of a JPEG through libjpeg's own interface.
//
// libjpeg reports errors with longjmp, and a jump over Swift frames is undefined: every call of libjpeg and every
// setjmp is in the .c files of this target, and no function here calls back. Functions with a status return 0, or -1
// with a text in `message`, which has room for JPEG_STRIPS_MESSAGE_LENGTH bytes.

#ifndef CJPEGSTRIPS_H
#define CJPEGSTRIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The maximum length of an error text, including its terminator.
#define JPEG_STRIPS_MESSAGE_LENGTH 200

/// The arrangement of a pixel's bytes.
enum jpeg_strips_format {
    JPEG_STRIPS_BGRA,
    JPEG_STRIPS_RGBA,
    JPEG_STRIPS_ARGB,
    JPEG_STRIPS_ABGR,
    JPEG_STRIPS_RGB,
    JPEG_STRIPS_BGR,
    JPEG_STRIPS_GRAY,
    /// Planes of luma and chroma in the JPEG's own shape.
    JPEG_STRIPS_PLANES,
    /// A plane of luma, and one of interleaved chroma.
    JPEG_STRIPS_PAIRED_PLANES,
};

/// Rows of an image in memory: one base for packed formats, otherwise one for each plane.
struct jpeg_strips_pixels {
    uint8_t *base[3];
    ptrdiff_t stride[3];
};

// MARK: Encoding

/// The options that strips must share to be joined.
struct jpeg_strips_options {
    enum jpeg_strips_format format;
    uint32_t width;
    int quality;
    /// The sampling factors of luma; those of chroma are 1. Both are 0 for a JPEG without chroma.
    int horizontal;
    int vertical;
    /// The rows of MCUs between two restart markers; 0 for none.
    int mcu_rows;
};

/// Bytes that are valid until the next call for the same encoder.
struct jpeg_strips_bytes {
    const uint8_t *start;
    size_t count;
};

/// An open JPEG that strips are taken from.
struct jpeg_strips_encoder;

/// Writes the JPEG of an image of `height` rows, and its size to `count`; without pixels only what is before the compressed
/// data.
int jpeg_strips_write(const struct jpeg_strips_options *options, uint32_t height,
                      const struct jpeg_strips_pixels *pixels, uint8_t *output, size_t capacity, size_t *count,
                      char *message);

/// Creates an encoder, whose bytes go to the caller's memory.
///
/// @param output Room for one strip and a header.
/// @return NULL on failure, for example if there is no memory, with a text in `message`.
struct jpeg_strips_encoder *jpeg_strips_encoder_open(const struct jpeg_strips_options *options, uint8_t *output,
                                                     size_t capacity, char *message);

/// Begins a JPEG; one that was begun before is dropped, whether it was finished, has failed, or neither.
///
/// @param height The number of rows of a single strip, if they end within an MCU. Otherwise 0: there may then be any
///     number of strips, and all except the last must have as many rows of MCUs as the options state.
int jpeg_strips_encoder_start(struct jpeg_strips_encoder *encoder, uint32_t height, char *message);

/// Compresses the next strip.
///
/// @param tail The remaining bytes of the previous strip; empty for the first one.
/// @param body The data of this strip, without the last few bytes.
int jpeg_strips_encode(struct jpeg_strips_encoder *encoder, const struct jpeg_strips_pixels *pixels, uint32_t rows,
                       struct jpeg_strips_bytes *tail, struct jpeg_strips_bytes *body, char *message);

/// Ends the JPEG, and provides the remaining bytes of the last strip.
int jpeg_strips_encoder_finish(struct jpeg_strips_encoder *encoder, struct jpeg_strips_bytes *tail, char *message);

/// Releases an encoder, whether it was finished or has failed.
void jpeg_strips_encoder_close(struct jpeg_strips_encoder *encoder);

// MARK: Decoding

/// Strips of a JPEG that are decoded together: baseline, one scan, every restart marker in its place.
struct jpeg_strips_source {
    /// The complete JPEG.
    const uint8_t *jpeg;
    size_t count;
    /// The offsets of the two bytes of the image's height, and of the compressed data.
    size_t height_offset;
    size_t data_offset;
    /// The number of rows of the strips, including those after them that are decoded for context.
    uint32_t height;
    /// The offset of the first strip's data.
    size_t start;
    /// The offset after the restart marker at which reading stops; `count` to read until the JPEG ends or there are
    /// enough rows.
    size_t end;
};

/// The destination of rows of pixels, and how they are computed.
struct jpeg_strips_target {
    enum jpeg_strips_format format;
    /// The number of rows before those that are wanted; 0 for planes.
    uint32_t skipped;
    /// The number of wanted rows.
    uint32_t count;
    /// The location of the first wanted row. For planes, the fields below state the visible samples per row and the
    /// rows.
    struct jpeg_strips_pixels pixels;
    uint32_t plane_width[3];
    uint32_t plane_height[3];
    /// The number of wanted planes: 1 for luma only, or 3; two of them share a base if they are interleaved.
    int plane_count;
};

/// Decodes rows. Damage that libjpeg only warns about is an error, even at the end of the last strip.
int jpeg_strips_decode(const struct jpeg_strips_source *source, const struct jpeg_strips_target *target, char *message);

// MARK: Memory

/// Prefetches a cache line that will be read soon. The address need not be valid.
static inline void jpeg_strips_prefetch(const void *address) { __builtin_prefetch(address); }

#endif
