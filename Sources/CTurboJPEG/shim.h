// The TurboJPEG API of libjpeg-turbo 2.1, which 3.x still has. Nothing newer is used.
#include <turbojpeg.h>
