// Apple Pay tokens of the version EC_v1 over bytes: each function creates its OpenSSL objects and frees them, so no
// pointer to one reaches Swift. All leave the error queue empty.
#ifndef BALLOON_PAYMENT_TOKENS_H
#define BALLOON_PAYMENT_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "Certificates.h"

enum {
    // A public key on P-256 as SubjectPublicKeyInfo with its uncompressed point.
    BALLOON_P256_SPKI_BYTES = 91,
    BALLOON_P256_SECRET_BYTES = 32,
    // The text of the extension that names the merchant: SHA-256 of its identifier in hexadecimal digits.
    BALLOON_MERCHANT_BYTES = 64,
    BALLOON_PAYMENT_SIGNATURE_MAXIMUM_BYTES = 65536,
};

// The result of balloon_verify_payment_signature; the first check that fails decides. A chain that is refused is
// BALLOON_SIGNATURE_CHAIN plus its reason, such as BALLOON_CHAIN_UNTRUSTED.
enum {
    BALLOON_SIGNATURE_VALID = 0,
    // The signature is not one detached CMS SignedData in DER or BER with one to eight certificates.
    BALLOON_SIGNATURE_MALFORMED = 1,
    // There is not exactly one signer with SHA-256.
    BALLOON_SIGNATURE_SIGNER = 2,
    // The signer's key did not sign the content.
    BALLOON_SIGNATURE_WRONG = 3,
    // The signed attributes do not have one signing time.
    BALLOON_SIGNATURE_TIME = 4,
    BALLOON_SIGNATURE_CHAIN = 16,
};

// Verifies a detached CMS signature of `content` (RFC 5652 §5.4), and the chain of its signer at the signing time,
// which is written as seconds since 1970.
int balloon_verify_payment_signature(
    balloon_certificate root, const unsigned char *signature, size_t signature_bytes, const unsigned char *content,
    size_t content_bytes, const char *leaf_extension, const char *intermediate_extension, int64_t *signing_time);

// Signs `content` as Apple does, for a simulation; returns 1 for success. `signature_bytes` holds the capacity and
// gets the length.
int balloon_sign_payment(
    balloon_certificate leaf, const unsigned char *leaf_pem, size_t leaf_pem_bytes, balloon_certificate intermediate,
    const unsigned char *content, size_t content_bytes, int64_t signing_time, unsigned char *signature,
    size_t *signature_bytes);

// Writes the public key of a private key on P-256 in PEM without a password; returns 1 for success.
int balloon_read_payment_key(const unsigned char *pem, size_t pem_bytes, unsigned char *spki);

// Writes the public key and the merchant of a certificate in DER or PEM; returns 1 for success. The merchant is the
// ASN.1 string in the extension 1.2.840.113635.100.6.32.
int balloon_read_payment_certificate(
    const unsigned char *bytes, size_t count, unsigned char *spki, unsigned char *merchant);

// Computes the shared secret of a private key on P-256 and a public key (NIST SP 800-56A §5.7.1.2); returns 1 for
// success.
int balloon_agree_payment(
    const unsigned char *pem, size_t pem_bytes, const unsigned char *spki, size_t spki_bytes, unsigned char *secret);

#endif
