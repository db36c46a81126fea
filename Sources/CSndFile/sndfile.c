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

// Each function that is used, with the type that the header gives it.
#define FUNCTIONS(each) each(open_virtual) each(readf_float) each(error) each(strerror) each(close)

static struct {
#define MEMBER(name) __typeof__(sf_##name) *name;
    FUNCTIONS(MEMBER)
} library;

const char *sndfile_load(void)
{
    if (library.open_virtual)
        return NULL;
    void *handle = NULL;
    for (size_t index = 0; !handle && index < sizeof names / sizeof *names; index++)
        handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return dlerror();
#define RESOLVE(name) \
    if (!(library.name = (__typeof__(sf_##name) *)dlsym(handle, "sf_" #name))) \
        goto incomplete;
    FUNCTIONS(RESOLVE)
    return NULL;
incomplete:
    library.open_virtual = NULL;
    return dlerror();
}

SNDFILE *sndfile_open(
    sf_vio_get_filelen length, sf_vio_seek seek, sf_vio_read read, sf_vio_tell tell, void *context, SF_INFO *info)
{
    SF_VIRTUAL_IO functions = {.get_filelen = length, .seek = seek, .read = read, .tell = tell};
    return library.open_virtual(&functions, SFM_READ, info, context);
}

sf_count_t sndfile_read(SNDFILE *file, float *samples, sf_count_t frames)
{
    return library.readf_float(file, samples, frames);
}

const char *sndfile_message(SNDFILE *file)
{
    return library.error(file) == SF_ERR_NO_ERROR ? NULL : library.strerror(file);
}

void sndfile_close(SNDFILE *file)
{
    library.close(file);
}

int sndfile_bytes_per_sample(const SF_INFO *info)
{
    switch (info->format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_S8:
    case SF_FORMAT_PCM_U8:
    case SF_FORMAT_ULAW:
    case SF_FORMAT_ALAW:
        return 1;
    case SF_FORMAT_PCM_16:
        return 2;
    case SF_FORMAT_PCM_24:
        return 3;
    case SF_FORMAT_PCM_32:
    case SF_FORMAT_FLOAT:
        return 4;
    case SF_FORMAT_DOUBLE:
        return 8;
    default:
        return 0;
    }
}
