#include "failure.h"

static void leave(j_common_ptr codec) {
    struct strips_failure *failure = (struct strips_failure *)codec->err;
    failure->manager.format_message(codec, failure->message);
    longjmp(failure->place, 1);
}

static void leave_after_warning(j_common_ptr codec, int level) {
    const struct strips_failure *failure = (struct strips_failure *)codec->err;
    if (level >= 0) return;
    if (failure->manager.msg_code == JWRN_MUST_RESYNC && failure->ignores_resync) return;
    leave(codec);
}

static void print_nothing(j_common_ptr codec) { (void)codec; }

struct jpeg_error_mgr *strips_failure_init(struct strips_failure *failure) {
    memset(failure, 0, sizeof *failure);
    jpeg_std_error(&failure->manager);
    failure->manager.error_exit = leave;
    failure->manager.emit_message = leave_after_warning;
    failure->manager.output_message = print_nothing;
    return &failure->manager;
}

int strips_failure_report(const struct strips_failure *failure, char *message) {
    memcpy(message, failure->message, sizeof failure->message);
    return -1;
}

J_COLOR_SPACE strips_color_space(enum jpeg_strips_format format) {
    switch (format) {
    case JPEG_STRIPS_BGRA:
        return JCS_EXT_BGRA;
    case JPEG_STRIPS_RGBA:
        return JCS_EXT_RGBA;
    case JPEG_STRIPS_ARGB:
        return JCS_EXT_ARGB;
    case JPEG_STRIPS_ABGR:
        return JCS_EXT_ABGR;
    case JPEG_STRIPS_RGB:
        return JCS_EXT_RGB;
    case JPEG_STRIPS_BGR:
        return JCS_EXT_BGR;
    case JPEG_STRIPS_GRAY:
        return JCS_GRAYSCALE;
    case JPEG_STRIPS_PLANES:
    case JPEG_STRIPS_PAIRED_PLANES:
        break;
    }
    return JCS_YCbCr;
}
