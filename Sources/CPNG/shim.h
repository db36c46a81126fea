// libpng. Only CPNGRows uses it: libpng reports errors by longjmp, which must not pass a Swift frame.
#if !__has_include(<png.h>)
#error "png.h not found: apt-get install libpng-dev (macOS: brew install libpng)"
#else
#include <png.h>
#endif
