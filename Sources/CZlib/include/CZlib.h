// zlib as a module; the shims are what Swift's importer cannot see (macros).
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

// RFC 1952 only: adding 16 to the window bits selects the gzip format instead of zlib or raw deflate.
enum { balloon_gzip_window_bits = MAX_WBITS + 16 };

static inline int balloon_inflate_init(z_stream *stream) {
    return inflateInit2(stream, balloon_gzip_window_bits);
}

// RFC 1950, as in PNG files.
static inline int balloon_inflate_init_zlib(z_stream *stream) {
    return inflateInit2(stream, MAX_WBITS);
}

static inline int balloon_deflate_init(z_stream *stream) {
    return deflateInit2(
        stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, balloon_gzip_window_bits, 8, Z_DEFAULT_STRATEGY);
}

#endif
