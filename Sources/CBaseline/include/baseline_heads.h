// Reading the head of a frame.

#ifndef BASELINE_HEADS_H
#define BASELINE_HEADS_H

#include <stddef.h>
#include <stdint.h>

/// Reads a head as a careless receiver does: splits lines and names, matches the four names without regard to case,
/// reads their numbers. Returns the content length, or -1.
int64_t baseline_parse_head(const uint8_t *bytes, size_t count);

/// Reads a head strictly: the status line, names of token characters, numbers of digits alone that do not overflow, each
/// field once, CR and LF together. Returns the content length, or -1.
int64_t baseline_parse_head_strictly(const uint8_t *bytes, size_t count);

#endif
