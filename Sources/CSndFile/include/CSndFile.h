// libsndfile, loaded by the one option that needs it: linked, it and its seven codecs would be loaded by every process of the program,
// those that send among them.
#pragma once

#if !__has_include(<sndfile.h>)
#error "sndfile.h not found: apt-get install libsndfile1-dev (macOS: brew install libsndfile)"
#endif
#include <sndfile.h>

// The functions that are used, by their names without `sf_`.
#define SNDFILE_FUNCTIONS(each) \
    each(open_virtual) each(readf_float) each(current_byterate) each(error) each(strerror) each(close)
#define SNDFILE_MEMBER(name) __typeof__(sf_##name) *_Nonnull name;

struct sndfile {
    SNDFILE_FUNCTIONS(SNDFILE_MEMBER)
};

// Loads the library, unless it is loaded; returns NULL on failure, and then `dlerror` says why. For one thread at a time.
const struct sndfile *_Nullable sndfile_load(void);
