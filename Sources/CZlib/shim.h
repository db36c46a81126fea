// zlib, which libpng needs as well.
#if !__has_include(<zlib.h>)
#error "zlib.h not found: apt-get install zlib1g-dev (macOS: part of the SDK)"
#else
#include <zlib.h>
#endif
