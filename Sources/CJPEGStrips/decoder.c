// Strips are read as a separate JPEG, and nothing is copied: the source manager provides the header, with another
// height, and then the data in place.

#include "failure.h"

#include <stdlib.h>

/// The number of rows of pixels requested at once.
#define ROWS_AT_ONCE 64

/// The header up to its height, the height, the rest of the header, the data.
#define PIECES 4

struct decoding {
    struct strips_failure failure;
    struct jpeg_source_mgr source;
    struct jpeg_decompress_struct codec;
    const struct jpeg_strips_source *from;
    const struct jpeg_strips_target *to;
    uint8_t height[2];
    struct jpeg_strips_bytes pieces[PIECES];
    int next_piece;
};

// MARK: The source

static struct decoding *decoding_of(j_decompress_ptr codec) { return codec->client_data; }

static void start_source(j_decompress_ptr codec) { (void)codec; }

static boolean next_piece(j_decompress_ptr codec) {
    struct decoding *decoding = decoding_of(codec);
    if (decoding->next_piece == PIECES) {
        // If the strips end before the JPEG does, libjpeg must stop: by then it has passed the marker after them.
        if (decoding->from->end < decoding->from->count) return FALSE;
        ERREXIT(codec, JERR_INPUT_EOF);
    }
    struct jpeg_strips_bytes piece = decoding->pieces[decoding->next_piece++];
    codec->src->next_input_byte = piece.start;
    codec->src->bytes_in_buffer = piece.count;
    return TRUE;
}

static void skip_bytes(j_decompress_ptr codec, long count) {
    while (count > (long)codec->src->bytes_in_buffer) {
        count -= (long)codec->src->bytes_in_buffer;
        if (!next_piece(codec)) ERREXIT(codec, JERR_CANT_SUSPEND);
    }
    if (count <= 0) return;
    codec->src->next_input_byte += count;
    codec->src->bytes_in_buffer -= (size_t)count;
}

/// Accepts restart markers with any number: the caller has checked that they are in order, but here they need not begin
/// with 0.
static boolean take_restart(j_decompress_ptr codec, int desired) {
    (void)desired;
    if (codec->unread_marker < JPEG_RST0 || codec->unread_marker > JPEG_RST0 + 7) ERREXIT(codec, JERR_BAD_PROGRESSION);
    codec->unread_marker = 0;
    return TRUE;
}

static void end_source(j_decompress_ptr codec) { (void)codec; }

static void set_source(struct decoding *decoding) {
    const struct jpeg_strips_source *from = decoding->from;
    decoding->height[0] = (uint8_t)(from->height >> 8);
    decoding->height[1] = (uint8_t)from->height;
    size_t behind_height = from->height_offset + 2;
    decoding->pieces[0] = (struct jpeg_strips_bytes){from->jpeg, from->height_offset};
    decoding->pieces[1] = (struct jpeg_strips_bytes){decoding->height, 2};
    decoding->pieces[2] = (struct jpeg_strips_bytes){from->jpeg + behind_height, from->data_offset - behind_height};
    decoding->pieces[3] = (struct jpeg_strips_bytes){from->jpeg + from->start, from->end - from->start};
    decoding->source = (struct jpeg_source_mgr){
        .init_source = start_source,
        .fill_input_buffer = next_piece,
        .skip_input_data = skip_bytes,
        .resync_to_restart = take_restart,
        .term_source = end_source,
    };
    decoding->codec.src = &decoding->source;
    decoding->codec.client_data = decoding;
}

// MARK: Rows

/// Whether the strips end before the JPEG does, so that the rest of their data has yet to be checked.
static bool ends_early(const struct decoding *decoding) { return decoding->from->end < decoding->from->count; }

static void read_packed(struct decoding *decoding) {
    j_decompress_ptr codec = &decoding->codec;
    const struct jpeg_strips_target *to = decoding->to;
    JSAMPROW spare = (*codec->mem->alloc_large)((j_common_ptr)codec, JPOOL_IMAGE,
                                                (size_t)codec->output_width * (size_t)codec->output_components);
    if (to->skipped > 0) {
        // The last of the rows is read: if all of them were skipped, libjpeg would not check their data.
        if (to->skipped > 1) jpeg_skip_scanlines(codec, to->skipped - 1);
        if (jpeg_read_scanlines(codec, &spare, 1) == 0) ERREXIT(codec, JERR_CANT_SUSPEND);
    }
    JSAMPROW rows[ROWS_AT_ONCE];
    for (uint32_t row = 0; row < to->count;) {
        JDIMENSION wanted = to->count - row < ROWS_AT_ONCE ? to->count - row : ROWS_AT_ONCE;
        for (JDIMENSION index = 0; index < wanted; index++) {
            rows[index] = to->pixels.base[0] + to->pixels.stride[0] * (ptrdiff_t)(row + index);
        }
        for (JDIMENSION read = 0; read < wanted;) {
            JDIMENSION count = jpeg_read_scanlines(codec, rows + read, wanted - read);
            if (count == 0) ERREXIT(codec, JERR_CANT_SUSPEND);
            read += count;
        }
        row += wanted;
    }
    if (!ends_early(decoding)) return;
    // There is nothing after the marker: libjpeg stops after it has counted the bytes that the strip did not need.
    if (jpeg_read_scanlines(codec, &spare, 1) != 0) ERREXIT(codec, JERR_BAD_STATE);
}

/// The planes of one row of MCUs, as libjpeg writes them.
struct planes {
    JSAMPROW rows[3][2 * DCTSIZE];
    JSAMPARRAY lists[3];
    /// Memory for data that cannot be written directly to its destination.
    JSAMPARRAY spare[3];
    bool is_direct[3];
};

static void prepare_planes(struct decoding *decoding, struct planes *planes) {
    j_decompress_ptr codec = &decoding->codec;
    for (int plane = 0; plane < codec->num_components; plane++) {
        const jpeg_component_info *component = &codec->comp_info[plane];
        JDIMENSION width = component->width_in_blocks * DCTSIZE;
        planes->lists[plane] = planes->rows[plane];
        planes->spare[plane] = (*codec->mem->alloc_sarray)((j_common_ptr)codec, JPOOL_IMAGE, width,
                                                           (JDIMENSION)(component->v_samp_factor * DCTSIZE));
        bool is_paired = decoding->to->format == JPEG_STRIPS_PAIRED_PLANES && plane > 0;
        planes->is_direct[plane] =
            plane < decoding->to->plane_count && !is_paired && width == decoding->to->plane_width[plane];
    }
}

static uint8_t *row_of_plane(const struct jpeg_strips_target *to, int plane, uint32_t row) {
    return to->pixels.base[plane] + to->pixels.stride[plane] * (ptrdiff_t)row;
}

/// Copies the rows of a plane that were not written directly.
static void place_plane(struct decoding *decoding, struct planes *planes, int plane, uint32_t first, uint32_t rows) {
    const struct jpeg_strips_target *to = decoding->to;
    for (uint32_t row = 0; row < rows && first + row < to->plane_height[plane]; row++) {
        const uint8_t *from = planes->spare[plane][row];
        uint8_t *place = row_of_plane(to, plane, first + row);
        if (to->format == JPEG_STRIPS_PLANES || plane == 0) {
            memcpy(place, from, to->plane_width[plane]);
            continue;
        }
        if (plane == 1) continue;
        const uint8_t *blue = planes->spare[1][row];
        for (uint32_t column = 0; column < to->plane_width[plane]; column++) {
            place[2 * column] = blue[column];
            place[2 * column + 1] = from[column];
        }
    }
}

static void read_planes(struct decoding *decoding) {
    j_decompress_ptr codec = &decoding->codec;
    const struct jpeg_strips_target *to = decoding->to;
    struct planes planes;
    prepare_planes(decoding, &planes);
    JDIMENSION mcu_height = (JDIMENSION)(codec->max_v_samp_factor * DCTSIZE);
    for (uint32_t row = 0; row < to->count; row += mcu_height) {
        for (int plane = 0; plane < codec->num_components; plane++) {
            uint32_t height = (uint32_t)codec->comp_info[plane].v_samp_factor * DCTSIZE;
            uint32_t first = row / mcu_height * height;
            for (uint32_t index = 0; index < height; index++) {
                bool is_direct = planes.is_direct[plane] && first + index < to->plane_height[plane];
                planes.rows[plane][index] =
                    is_direct ? row_of_plane(to, plane, first + index) : planes.spare[plane][index];
            }
        }
        if (jpeg_read_raw_data(codec, planes.lists, mcu_height) == 0) ERREXIT(codec, JERR_CANT_SUSPEND);
        for (int plane = 0; plane < to->plane_count; plane++) {
            uint32_t height = (uint32_t)codec->comp_info[plane].v_samp_factor * DCTSIZE;
            if (!planes.is_direct[plane]) place_plane(decoding, &planes, plane, row / mcu_height * height, height);
        }
    }
    if (!ends_early(decoding)) return;
    for (int plane = 0; plane < codec->num_components; plane++) planes.lists[plane] = planes.spare[plane];
    if (jpeg_read_raw_data(codec, planes.lists, mcu_height) != 0) ERREXIT(codec, JERR_BAD_STATE);
}

/// Fails if bytes of a strip were left over.
///
/// libjpeg counts these bytes, and warns about them when it next looks for a marker, if it ever does: whether it has
/// already found one depends on how far it has read ahead. This function makes it look. A JPEG that fails here is
/// decoded as a whole, so that the verdict is that of libjpeg on the complete JPEG.
static void check_leftovers(struct decoding *decoding) {
    static const JOCTET marker[] = {0xFF, JPEG_RST0};
    j_decompress_ptr codec = &decoding->codec;
    codec->src->next_input_byte = marker;
    codec->src->bytes_in_buffer = sizeof marker;
    decoding->failure.ignores_resync = true;
    // A marker that has no meaning there is skipped.
    codec->unread_marker = 1;
    if (!jpeg_resync_to_restart(codec, 0)) ERREXIT(codec, JERR_CANT_SUSPEND);
}

// MARK: Decoding

/// Whether there is a plane for each component, no higher than `struct planes` allows.
static bool has_known_planes(const struct decoding *decoding) {
    const struct jpeg_decompress_struct *codec = &decoding->codec;
    if (codec->num_components != 1 && codec->num_components != 3) return false;
    if (codec->jpeg_color_space != (codec->num_components == 1 ? JCS_GRAYSCALE : JCS_YCbCr)) return false;
    for (int plane = 0; plane < codec->num_components; plane++) {
        if (codec->comp_info[plane].v_samp_factor > 2) return false;
    }
    return codec->num_components >= decoding->to->plane_count;
}

static int decode(struct decoding *decoding, char *message) {
    j_decompress_ptr codec = &decoding->codec;
    if (setjmp(decoding->failure.place)) {
        jpeg_destroy_decompress(codec);
        return strips_failure_report(&decoding->failure, message);
    }
    jpeg_create_decompress(codec);
    set_source(decoding);
    if (jpeg_read_header(codec, TRUE) != JPEG_HEADER_OK) ERREXIT(codec, JERR_CANT_SUSPEND);
    bool is_planar =
        decoding->to->format == JPEG_STRIPS_PLANES || decoding->to->format == JPEG_STRIPS_PAIRED_PLANES;
    if (is_planar) {
        if (!has_known_planes(decoding)) ERREXIT(codec, JERR_CONVERSION_NOTIMPL);
        codec->raw_data_out = TRUE;
    } else {
        codec->out_color_space = strips_color_space(decoding->to->format);
    }
    if (!jpeg_start_decompress(codec)) ERREXIT(codec, JERR_CANT_SUSPEND);
    if (is_planar) {
        read_planes(decoding);
    } else {
        read_packed(decoding);
    }
    // If all rows were read, the JPEG ends here. Otherwise the following data is not part of the strips.
    if (codec->output_scanline >= codec->output_height && !ends_early(decoding) && !jpeg_finish_decompress(codec)) {
        ERREXIT(codec, JERR_CANT_SUSPEND);
    }
    check_leftovers(decoding);
    jpeg_destroy_decompress(codec);
    return 0;
}

int jpeg_strips_decode(const struct jpeg_strips_source *source, const struct jpeg_strips_target *target,
                       char *message) {
    // Not a variable of the function that calls setjmp: changes after setjmp would be undefined after the jump.
    struct decoding decoding = {.from = source, .to = target};
    decoding.codec.err = strips_failure_init(&decoding.failure);
    return decode(&decoding, message);
}
