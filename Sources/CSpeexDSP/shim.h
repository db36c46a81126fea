// libspeexdsp's resampler; its echo canceller and preprocessor are not needed.
#include <speex/speex_resampler.h>
