// Searching a stream of JPEGs.

#ifndef BASELINE_STREAM_H
#define BASELINE_STREAM_H

#include <stddef.h>
#include <stdint.h>

/// Counts the end markers in a stream, by memchr, without following segments and without copying images.
size_t baseline_count_markers(const uint8_t *bytes, size_t count);

#endif
