// X.509 certificates over bytes: each function creates its OpenSSL objects and frees them, so no pointer to one
// reaches Swift. All leave the error queue empty.
#ifndef BALLOON_CERTIFICATES_H
#define BALLOON_CERTIFICATES_H

#include <stddef.h>
#include <stdint.h>

enum {
    BALLOON_CERTIFICATE_MAXIMUM_BYTES = 4096,
};

// The result of balloon_verify_chain; the first check that fails decides.
enum {
    BALLOON_CHAIN_VALID = 0,
    // A certificate is larger than the maximum, is not DER, or has bytes behind its end.
    BALLOON_CHAIN_MALFORMED = 1,
    // The leaf's key is not on P-256, or the intermediate's neither on P-256 nor on P-384.
    BALLOON_CHAIN_KEY = 2,
    // A certificate is signed by something else than ECDSA with SHA-256 or SHA-384.
    BALLOON_CHAIN_ALGORITHM = 3,
    // A certificate has expired, or is not valid yet.
    BALLOON_CHAIN_EXPIRED = 4,
    // The chain does not lead from the leaf over the intermediate to the root.
    BALLOON_CHAIN_UNTRUSTED = 5,
    // The leaf or the intermediate lacks the extension that states its purpose.
    BALLOON_CHAIN_PURPOSE = 6,
    // Memory is exhausted, or the root is unreadable.
    BALLOON_CHAIN_FAILED = 7,
};

// A certificate to verify, or to issue from.
typedef struct {
    const unsigned char *bytes;
    size_t count;
} balloon_certificate;

// Reads one certificate from DER or PEM and writes it as DER; returns 1 for success. `der_bytes` holds the
// capacity of `der` and gets the length. Only a certificate authority's certificate is read.
int balloon_read_root(const unsigned char *bytes, size_t count, unsigned char *der, size_t *der_bytes);

// Verifies the chain of three at `seconds` since 1970, and writes the leaf's uncompressed point, 65 bytes.
int balloon_verify_chain(
    balloon_certificate leaf, balloon_certificate intermediate, balloon_certificate root, int64_t seconds,
    const char *leaf_extension, const char *intermediate_extension, unsigned char *point);

// The properties of a certificate that is issued for a simulation.
typedef struct {
    const char *name;
    // "P-256" or "P-384"; NULL for an RSA key of 2,048 bits.
    const char *curve;
    // "SHA256", for example.
    const char *digest;
    // The object identifier of an extension without content; NULL for none.
    const char *extension;
    // The names of a server, such as "IP:127.0.0.1"; NULL for none.
    const char *names;
    int is_authority;
    int64_t not_before;
    int64_t not_after;
} balloon_certificate_request;

// Issues a certificate with a new key, signed by the issuer, or by itself when `issuer.bytes` is NULL; returns 1
// for success. `der_bytes` and `pem_bytes` hold capacities and get the lengths; `pem` gets the key as PKCS#8.
int balloon_issue_certificate(
    const balloon_certificate_request *request, balloon_certificate issuer, const unsigned char *issuer_pem,
    size_t issuer_pem_bytes, unsigned char *der, size_t *der_bytes, unsigned char *pem, size_t *pem_bytes);

#endif
