#include <zlib.h>

// A macro in zlib, which Swift cannot call.
static inline int inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 16 + MAX_WBITS); }
