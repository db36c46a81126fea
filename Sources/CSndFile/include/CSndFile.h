// libsndfile, loaded by the one option that needs it: linked, it and its seven codecs would be loaded by every process of the program,
// those that send among them.
#pragma once

#if !__has_include(<sndfile.h>)
#error "sndfile.h not found: apt-get install libsndfile1-dev (macOS: brew install libsndfile)"
#endif
#include <sndfile.h>

// Loads the library, unless it is loaded; returns NULL on success, or else the system's error message. Every other function here
// needs it. For one thread at a time.
const char *sndfile_load(void);

// Opens what the functions read; NULL on failure, and then `sndfile_message(NULL)` says why. What they are called with is `context`.
SNDFILE *sndfile_open(
    sf_vio_get_filelen length, sf_vio_seek seek, sf_vio_read read, sf_vio_tell tell, void *context, SF_INFO *info);

// Reads whole frames as numbers from -1 to 1, fewer at the end.
sf_count_t sndfile_read(SNDFILE *file, float *samples, sf_count_t frames);

// The library's message about the last error; NULL if there is none.
const char *sndfile_message(SNDFILE *file);

void sndfile_close(SNDFILE *file);

// The bytes of a sample; 0 if the samples are compressed.
int sndfile_bytes_per_sample(const SF_INFO *info);
