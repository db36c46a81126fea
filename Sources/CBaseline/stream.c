#include "baseline_stream.h"

#include <string.h>

size_t baseline_count_markers(const uint8_t *bytes, size_t count) {
    size_t markers = 0;
    const uint8_t *at = bytes, *end = bytes + count;
    while (at < end && (at = memchr(at, 0xFF, (size_t)(end - at))) != NULL) {
        if (at + 1 < end && at[1] == 0xD9) markers++;
        at += 2;
    }
    return markers;
}
