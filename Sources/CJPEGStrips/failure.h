// How errors leave libjpeg: by a jump to the function of this target that called it.

#ifndef CJPEGSTRIPS_FAILURE_H
#define CJPEGSTRIPS_FAILURE_H

#include "CJPEGStrips.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#if !__has_include(<jpeglib.h>)
#error "jpeglib.h not found: apt-get install libjpeg-dev (Debian: libjpeg62-turbo-dev; macOS: brew install jpeg-turbo)"
#endif
#include <jpeglib.h>

#include <jerror.h>

#if !defined(JCS_ALPHA_EXTENSIONS)
#error "libjpeg-turbo 1.5 or later is needed; another libjpeg has neither its color spaces nor jpeg_skip_scanlines"
#endif

/// The error manager, and the place to continue after an error.
struct strips_failure {
    struct jpeg_error_mgr manager;
    jmp_buf place;
    /// Whether an unexpected marker is not treated as an error.
    bool ignores_resync;
    char message[JMSG_LENGTH_MAX];
};

_Static_assert(JPEG_STRIPS_MESSAGE_LENGTH >= JMSG_LENGTH_MAX, "a message of libjpeg has to fit");

/// Sets up an error manager that jumps, even after warnings, and prints nothing.
struct jpeg_error_mgr *strips_failure_init(struct strips_failure *failure);

/// Copies the text of a failure to `message`, and returns -1.
int strips_failure_report(const struct strips_failure *failure, char *message);

/// Returns libjpeg's constant for a packed format.
J_COLOR_SPACE strips_color_space(enum jpeg_strips_format format);

#endif
