// zlib as a module; the shims are what Swift's importer cannot see (macros).
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

#endif
