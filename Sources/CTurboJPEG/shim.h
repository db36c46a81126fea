// The TurboJPEG API of libjpeg-turbo 2.1, which 3.x still has. Nothing newer is used.
#if !__has_include(<turbojpeg.h>)
#error "turbojpeg.h not found: apt-get install libturbojpeg0-dev (macOS: brew install jpeg-turbo)"
#else
#include <turbojpeg.h>
#endif
