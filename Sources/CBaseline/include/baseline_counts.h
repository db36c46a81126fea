// How often this process calls the system and its allocator, and what it copies.

#ifndef BASELINE_COUNTS_H
#define BASELINE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct baseline_counts {
    /// Calls that read from a descriptor, that write to one, and that wait for some.
    int64_t reads, writes, waits;
    /// Calls that allocate memory.
    int64_t allocations;
    /// Bytes that memcpy and memmove copied, where the compiler did not put instructions in their place.
    int64_t copied;
};

/// Begins or ends to count: in all threads, by functions that the linker takes in place of the C library's. While nothing
/// is counted they cost one load each. Returns false if the C library is not supported.
bool baseline_counts_enable(bool on);

/// What was counted so far.
struct baseline_counts baseline_counts_now(void);

#endif
