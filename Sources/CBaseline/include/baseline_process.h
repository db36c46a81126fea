// What a process is asked about itself, and Swift does not import.

#ifndef BASELINE_PROCESS_H
#define BASELINE_PROCESS_H

#include <stdint.h>

/// How often threads of this process have given their processor up to wait.
int64_t baseline_process_switches(void);

/// How many processors this process may use.
int baseline_process_processors(void);

#endif
