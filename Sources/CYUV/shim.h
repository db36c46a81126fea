// libyuv's scalers, and what takes channels apart. Only the headers with a C interface are named: its umbrella header is C++.
#include <libyuv/planar_functions.h>
#include <libyuv/scale.h>
#include <libyuv/scale_argb.h>
#include <libyuv/scale_rgb.h>
#include <libyuv/scale_uv.h>
