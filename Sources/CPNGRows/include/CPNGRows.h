// Reads PNGs with libpng, whose errors are jumps: none of them leaves this target, and so none passes a Swift frame.

#ifndef CPNGROWS_H
#define CPNGROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A PNG that is being read.
typedef struct png_rows png_rows;

/// What a step of reading came to.
enum png_rows_result {
    PNG_ROWS_DONE,
    /// See png_rows_message().
    PNG_ROWS_FAILED,
    PNG_ROWS_NO_MEMORY,
};

/// Prepares to read `count` bytes, which must stay in place; returns NULL if there is no memory.
///
/// Reading takes at most `memory` bytes at a time besides the pixels: a few hundred KiB are usual, and a chunk that inflates to more
/// is a failure.
png_rows *png_rows_create(const void *bytes, size_t count, size_t memory);

/// Reads up to the pixels.
enum png_rows_result png_rows_begin(png_rows *rows, uint32_t *width, uint32_t *height);

/// Reads the pixels as B, G, R and an opaque byte, blended with a background where they are not opaque.
///
/// `background` is red, green and blue; without one (NULL) nothing is blended, and the fourth byte is alpha, with which the colors
/// are not multiplied.
enum png_rows_result png_rows_finish(png_rows *rows, uint8_t *pixels, size_t bytes_per_row, const uint8_t background[3]);

/// libpng's message about the last failure.
const char *png_rows_message(const png_rows *rows);

void png_rows_destroy(png_rows *rows);

#endif
