// libpng's simplified interface (png_image_*), which reports errors by value and never jumps.
#include <png.h>
