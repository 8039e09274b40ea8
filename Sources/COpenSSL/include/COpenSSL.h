// OpenSSL's libcrypto as a module; the shims are what Swift's importer cannot see (macros).
#ifndef COPENSSL_H
#define COPENSSL_H

#include <openssl/crypto.h>
#include <openssl/evp.h>

#endif
