#include "CSndFile.h"

#include <dlfcn.h>
#include <stddef.h>

// The names under which systems keep the version of the library that the header belongs to.
static const char *const names[] = {
#ifdef __APPLE__
    "libsndfile.1.dylib", "/opt/homebrew/lib/libsndfile.1.dylib", "/usr/local/lib/libsndfile.1.dylib",
#else
    "libsndfile.so.1",
#endif
};

const struct sndfile *sndfile_load(void)
{
    static struct sndfile library;
    static void *handle;
    for (size_t index = 0; !handle && index < sizeof names / sizeof *names; index++)
        handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return NULL;
#define RESOLVE(name) \
    if (!(library.name = (__typeof__(sf_##name) *)dlsym(handle, "sf_" #name))) \
        return NULL;
    SNDFILE_FUNCTIONS(RESOLVE)
    return &library;
}
