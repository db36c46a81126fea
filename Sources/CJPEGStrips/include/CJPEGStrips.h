// Encoding and decoding of parts of a JPEG through libjpeg's own interface.
//
// libjpeg reports errors by longjmp, and a jump over Swift frames is undefined: every call of libjpeg and every setjmp
// is in the .c files of this target, and no function here calls back. Functions with a status return 0, or -1 with a
// text in `message`, which has room for JPEG_STRIPS_MESSAGE_LENGTH bytes.

#ifndef CJPEGSTRIPS_H
#define CJPEGSTRIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The longest text of an error, its terminator included.
#define JPEG_STRIPS_MESSAGE_LENGTH 200

/// How the bytes of pixels are arranged.
enum jpeg_strips_format {
    JPEG_STRIPS_BGRA,
    JPEG_STRIPS_RGBA,
    JPEG_STRIPS_ARGB,
    JPEG_STRIPS_ABGR,
    JPEG_STRIPS_RGB,
    JPEG_STRIPS_BGR,
    JPEG_STRIPS_GRAY,
    /// Planes of luma and chroma of the JPEG's own shape.
    JPEG_STRIPS_PLANES,
    /// A plane of luma, and one of both kinds of chroma in turns.
    JPEG_STRIPS_PAIRED_PLANES,
};

/// Rows of an image in memory: one base for packed formats, otherwise one for each plane.
struct jpeg_strips_pixels {
    uint8_t *base[3];
    ptrdiff_t stride[3];
};

// MARK: Encoding

/// What strips have to share to be put together.
struct jpeg_strips_options {
    enum jpeg_strips_format format;
    uint32_t width;
    int quality;
    /// The sampling factors of luma; those of chroma are 1. Both are 0 for a JPEG without chroma.
    int horizontal;
    int vertical;
    bool is_fast_dct;
    /// The rows of MCUs between two restart markers; 0 for none.
    int mcu_rows;
};

/// Bytes that are valid until the next call for the same encoder.
struct jpeg_strips_bytes {
    const uint8_t *start;
    size_t count;
};

/// An open JPEG of which strips are taken.
struct jpeg_strips_encoder;

/// Writes all that stands before the compressed data of an image of `height` rows, and its size to `count`.
int jpeg_strips_write_header(const struct jpeg_strips_options *options, uint32_t height, uint8_t *output,
                             size_t capacity, size_t *count, char *message);

/// Opens a JPEG, whose bytes go to memory of the caller's.
///
/// @param height The rows of the one strip there will be, if these end within an MCU; else 0: then there may be any
///     number of strips, and all but the last one must have as many rows of MCUs as the options say.
/// @param output Room for one strip.
/// @return NULL if there is no memory, or with a text in `message`.
struct jpeg_strips_encoder *jpeg_strips_encoder_open(const struct jpeg_strips_options *options, uint32_t height,
                                                     uint8_t *output, size_t capacity, char *message);

/// Compresses one strip more.
///
/// @param tail What the strip before still lacked; empty for the first one.
/// @param body The data of this strip, without the last few bytes.
int jpeg_strips_encode(struct jpeg_strips_encoder *encoder, const struct jpeg_strips_pixels *pixels, uint32_t rows,
                       struct jpeg_strips_bytes *tail, struct jpeg_strips_bytes *body, char *message);

/// Ends the JPEG, and gives what the last strip still lacked.
int jpeg_strips_encoder_finish(struct jpeg_strips_encoder *encoder, struct jpeg_strips_bytes *tail, char *message);

/// Releases an encoder, whether it was finished or has failed.
void jpeg_strips_encoder_close(struct jpeg_strips_encoder *encoder);

// MARK: Decoding

/// Strips of a JPEG that are decoded together: baseline, one scan, every restart marker in its place.
struct jpeg_strips_source {
    /// The whole JPEG.
    const uint8_t *jpeg;
    size_t count;
    /// Where the two bytes of the image's height stand, and where the compressed data begin.
    size_t height_offset;
    size_t data_offset;
    /// The rows of the strips, with those behind them that are decoded for context.
    uint32_t height;
    /// Where the data of the first strip begin.
    size_t start;
    /// Behind the restart marker at which reading stops; `count` to go on until the JPEG ends or enough rows are read.
    size_t end;
};

/// Where rows of pixels go, and how they are computed.
struct jpeg_strips_target {
    enum jpeg_strips_format format;
    bool is_fast_dct;
    bool is_fast_upsampling;
    /// The rows before those that are wanted; none for planes.
    uint32_t skipped;
    /// The rows that are wanted.
    uint32_t count;
    /// The place of the first wanted row. Planes have this many visible samples in a row and rows.
    struct jpeg_strips_pixels pixels;
    uint32_t plane_width[3];
    uint32_t plane_height[3];
    /// How many planes are wanted: 1 for luma alone, or 3; two of them share a base if they are paired.
    int plane_count;
};

/// Decodes rows. Damage that libjpeg only warns of is an error, also if it lies at the end of the last strip.
int jpeg_strips_decode(const struct jpeg_strips_source *source, const struct jpeg_strips_target *target, char *message);

// MARK: Memory

/// Has a cache line fetched that will be read soon. The address need not be a valid one.
static inline void jpeg_strips_prefetch(const void *address) { __builtin_prefetch(address); }

#endif
