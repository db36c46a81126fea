// The recorded streams of Fixtures, embedded.

#ifndef CRECORDEDSTREAMS_H
#define CRECORDEDSTREAMS_H

#include <stddef.h>
#include <stdint.h>

/// Bytes that live as long as the program.
struct recorded_bytes {
    const uint8_t *bytes;
    size_t count;
};

/// Returns the bytes of a stream by the name of its file without the extension; NULL and 0 if there is none of that name.
struct recorded_bytes recorded_stream(const char *name);

#endif
