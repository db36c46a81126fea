// libpng's simplified interface (png_image_*), which reports errors by value and never jumps.
#if !__has_include(<png.h>)
#error "png.h not found: apt-get install libpng-dev (macOS: brew install libpng)"
#else
#include <png.h>
#endif
