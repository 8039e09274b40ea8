// OpenSSL's libcrypto as a module; the shims are what Swift's importer cannot see (macros).
#ifndef COPENSSL_H
#define COPENSSL_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

// A context keyed for HMAC-SHA-256, or NULL when memory ran out; EVP_MAC_init with a NULL key rewinds it.
// OSSL_PARAM borrows its strings, which C keeps alive for the call and Swift would have to be told to.
static inline EVP_MAC_CTX *balloon_hmac_sha256_new(const unsigned char *key, size_t key_bytes) {
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    if (context != NULL && EVP_MAC_init(context, key, key_bytes, parameters) == 1) return context;
    EVP_MAC_CTX_free(context);
    return NULL;
}

#endif
