#include "CPNGRows.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !__has_include(<png.h>)
#error "png.h not found: apt-get install libpng-dev (macOS: brew install libpng)"
#endif
#include <png.h>

struct png_rows {
    png_structp png;
    png_infop info;
    jmp_buf place;
    const uint8_t *bytes;
    size_t count;
    size_t position;
    /// What libpng and zlib may still allocate.
    size_t memory;
    bool has_no_memory;
    uint32_t width;
    uint32_t height;
    char message[128];
};

/// What precedes each allocation: its size.
enum { ALLOCATION_HEADER = 16 };

static png_voidp allocate(png_structp png, png_alloc_size_t size)
{
    png_rows *rows = png_get_mem_ptr(png);
    if (size > rows->memory)
        return NULL;
    uint8_t *start = malloc(size + ALLOCATION_HEADER);
    if (!start) {
        rows->has_no_memory = true;
        return NULL;
    }
    memcpy(start, &size, sizeof size);
    rows->memory -= size;
    return start + ALLOCATION_HEADER;
}

static void release(png_structp png, png_voidp memory)
{
    if (!memory)
        return;
    png_rows *rows = png_get_mem_ptr(png);
    uint8_t *start = (uint8_t *)memory - ALLOCATION_HEADER;
    png_alloc_size_t size;
    memcpy(&size, start, sizeof size);
    rows->memory += size;
    free(start);
}

static void leave(png_structp png, png_const_charp message)
{
    png_rows *rows = png_get_error_ptr(png);
    snprintf(rows->message, sizeof rows->message, "%s", message);
    longjmp(rows->place, 1);
}

static void print_nothing(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void take(png_structp png, png_bytep bytes, size_t count)
{
    png_rows *rows = png_get_io_ptr(png);
    if (count > rows->count - rows->position)
        png_error(png, "the file is cut off");
    memcpy(bytes, rows->bytes + rows->position, count);
    rows->position += count;
}

static enum png_rows_result failure(const png_rows *rows)
{
    return rows->has_no_memory ? PNG_ROWS_NO_MEMORY : PNG_ROWS_FAILED;
}

png_rows *png_rows_create(const void *bytes, size_t count, size_t memory)
{
    png_rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return NULL;
    rows->bytes = bytes;
    rows->count = count;
    rows->memory = memory;
    if (setjmp(rows->place) == 0) {
        rows->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, rows, leave, print_nothing, rows, allocate, release);
        rows->info = rows->png ? png_create_info_struct(rows->png) : NULL;
        if (rows->info)
            return rows;
    }
    png_rows_destroy(rows);
    return NULL;
}

enum png_rows_result png_rows_begin(png_rows *rows, uint32_t *width, uint32_t *height)
{
    // The chunks that say how samples become colors; all others, texts that inflate to megabytes among them, are skipped unread.
    static const png_byte kept[] = "IHDR\0PLTE\0tRNS\0IDAT\0IEND\0gAMA\0cHRM\0sRGB\0iCCP\0sBIT";
    png_structp png = rows->png;
    if (setjmp(rows->place))
        return failure(rows);
    png_set_read_fn(png, rows, take);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, kept, (int)(sizeof kept / 5));
    png_set_benign_errors(png, 1);
    png_read_info(png, rows->info);
    *width = rows->width = png_get_image_width(png, rows->info);
    *height = rows->height = png_get_image_height(png, rows->info);
    return PNG_ROWS_DONE;
}

/// Blends what is not opaque, in the values as they are encoded, rounded to the nearest.
static void blend(uint8_t *pixel, size_t count, const uint8_t background[3])
{
    for (const uint8_t *end = pixel + 4 * count; pixel < end; pixel += 4) {
        unsigned alpha = pixel[3];
        if (alpha == 255)
            continue;
        for (int channel = 0; channel < 3; channel++)
            pixel[channel] = (uint8_t)((pixel[channel] * alpha + background[2 - channel] * (255 - alpha) + 127) / 255);
        pixel[3] = 255;
    }
}

enum png_rows_result png_rows_finish(png_rows *rows, uint8_t *pixels, size_t bytes_per_row, const uint8_t background[3])
{
    png_structp png = rows->png;
    if (setjmp(rows->place))
        return failure(rows);
    bool has_alpha = (png_get_color_type(png, rows->info) & PNG_COLOR_MASK_ALPHA) ||
        png_get_valid(png, rows->info, PNG_INFO_tRNS);
    // To sRGB, from the color space that the file states, or as they are: samples of 16 bits too.
    png_set_alpha_mode_fixed(png, PNG_ALPHA_PNG, PNG_DEFAULT_sRGB);
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_bgr(png);
    png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, rows->info);
    if (png_get_rowbytes(png, rows->info) != (size_t)rows->width * 4)
        png_error(png, "rows of an unexpected length");
    for (int pass = 1; pass <= passes; pass++) {
        for (uint32_t row = 0; row < rows->height; row++) {
            uint8_t *start = pixels + row * bytes_per_row;
            png_read_row(png, start, NULL);
            if (has_alpha && background && pass == passes)
                blend(start, rows->width, background);
        }
    }
    return PNG_ROWS_DONE;
}

const char *png_rows_message(const png_rows *rows)
{
    return rows->message;
}

void png_rows_destroy(png_rows *rows)
{
    if (!rows)
        return;
    png_destroy_read_struct(&rows->png, &rows->info, NULL);
    free(rows);
}
