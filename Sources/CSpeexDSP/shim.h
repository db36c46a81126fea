// libspeexdsp's resampler; its echo canceller and preprocessor are not needed.
#if !__has_include(<speex/speex_resampler.h>)
#error "speex/speex_resampler.h not found: apt-get install libspeexdsp-dev (macOS: brew install speexdsp)"
#else
#include <speex/speex_resampler.h>
#endif
