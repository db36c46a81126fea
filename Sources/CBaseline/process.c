#if defined(__linux__)
#define _GNU_SOURCE
#include <sched.h>
#endif

#include "baseline_process.h"

#include <sys/resource.h>
#include <unistd.h>

int64_t baseline_process_switches(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nvcsw : 0;
}

int baseline_process_processors(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}
