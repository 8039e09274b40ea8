// OpenSSL's libcrypto and libssl as a module; the shims are what Swift's importer cannot see (macros).
#ifndef COPENSSL_H
#define COPENSSL_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <string.h>

#include "Certificates.h"
#include "PaymentTokens.h"
#include "PublicKeys.h"

// SHA-256 with the low-level calls: EVP needs two to five allocations for each text and half of a short one's
// time. The calls are deprecated since 3.0, but stay until 4.0 at least; only these functions would change.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
typedef SHA256_CTX balloon_sha256;

static inline void balloon_sha256_begin(balloon_sha256 *hash) { SHA256_Init(hash); }

static inline void balloon_sha256_update(balloon_sha256 *hash, const unsigned char *bytes, size_t count) {
    SHA256_Update(hash, bytes, count);
}

static inline void balloon_sha256_end(balloon_sha256 *hash, unsigned char digest[32]) { SHA256_Final(digest, hash); }
#pragma GCC diagnostic pop

// HTTP/1.1 is the only protocol; a client that offers protocols without it is refused (RFC 7301 §3.2).
static inline int balloon_tls_select_protocol(
    SSL *session, const unsigned char **chosen, unsigned char *chosen_bytes, const unsigned char *offered,
    unsigned int offered_bytes, void *unused) {
    static const unsigned char name[] = "http/1.1";
    (void)session, (void)unused;
    for (unsigned int at = 0; at < offered_bytes && at + 1 + offered[at] <= offered_bytes; at += 1 + offered[at]) {
        if (offered[at] == sizeof name - 1 && memcmp(offered + at + 1, name, sizeof name - 1) == 0) {
            *chosen = offered + at + 1;
            *chosen_bytes = offered[at];
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// A key with a password is refused; OpenSSL would prompt on the terminal.
static inline int balloon_tls_no_password(char *password, int size, int is_writing, void *unused) {
    (void)password, (void)size, (void)is_writing, (void)unused;
    return 0;
}

// Creates a server's context for a chain and its key in PEM files; NULL with the reason in the error queue.
static inline SSL_CTX *balloon_tls_context(const char *certificate, const char *key) {
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_default_passwd_cb(context, balloon_tls_no_password);
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    // Sessions are resumed by tickets; no session is stored here.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, balloon_tls_select_protocol, NULL);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1
        && SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1
        && SSL_CTX_use_certificate_chain_file(context, certificate) == 1
        && SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1
        && SSL_CTX_check_private_key(context) == 1)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

// Makes a server's context refuse clients without a certificate that leads to one of the authorities in a PEM file;
// returns 1 for success.
static inline int balloon_tls_require_clients(SSL_CTX *context, const char *authorities) {
    static const unsigned char scope[] = "balloon";
    ERR_clear_error();
    if (SSL_CTX_load_verify_locations(context, authorities, NULL) != 1) return 0;
    // A resumed session of a verified client needs a scope.
    if (SSL_CTX_set_session_id_context(context, scope, sizeof scope - 1) != 1) return 0;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return 1;
}

// The expiry of a context's certificate, in seconds since 1970; -1 when there is none.
static inline long long balloon_tls_expiry(const SSL_CTX *context) {
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    struct tm moment;
    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &moment) != 1) return -1;
    return timegm(&moment);
}

// The first reason in the error queue, which caused the later ones; NULL when the queue is empty.
static inline const char *balloon_tls_reason(void) {
    unsigned long code = ERR_peek_error();
    return ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
}

// Creates a server's side of a connection over two memory buffers; NULL without memory.
static inline SSL *balloon_tls_session(SSL_CTX *context) {
    SSL *session = SSL_new(context);
    BIO *input = BIO_new(BIO_s_mem());
    BIO *output = BIO_new(BIO_s_mem());
    if (session == NULL || input == NULL || output == NULL) {
        SSL_free(session);
        BIO_free(input);
        BIO_free(output);
        return NULL;
    }
    // An empty buffer means "retry later", not "end of data".
    BIO_set_mem_eof_return(input, -1);
    SSL_set_bio(session, input, output);
    SSL_set_accept_state(session);
    return session;
}

#endif
