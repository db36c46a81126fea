// The libjpeg API of libjpeg-turbo. Only CJPEGStrips uses it: libjpeg reports errors by longjmp, which must not pass a
// Swift frame.
#if !__has_include(<jpeglib.h>)
#error "jpeglib.h not found: apt-get install libjpeg-dev (Debian: libjpeg62-turbo-dev; macOS: brew install jpeg-turbo)"
#else
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>
#endif
