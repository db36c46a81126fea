// libyuv's scalers and converters. Only the headers with a C interface are named: its umbrella header is C++.
#if !__has_include(<libyuv/scale.h>)
#error "libyuv/scale.h not found: apt-get install libyuv-dev (macOS: sudo port install libyuv)"
#else
#include <libyuv/convert_from_argb.h>
#include <libyuv/planar_functions.h>
#include <libyuv/scale.h>
#include <libyuv/scale_argb.h>
#include <libyuv/scale_rgb.h>
#include <libyuv/scale_uv.h>
#endif
