// RSA, P-256 and P-384 over bytes: each function creates its OpenSSL objects and frees them, so no pointer to
// one reaches Swift. All return 1 for success and 0 for everything else, and leave the error queue empty.
#ifndef BALLOON_PUBLIC_KEYS_H
#define BALLOON_PUBLIC_KEYS_H

#include <stddef.h>

enum {
    BALLOON_P256_POINT_BYTES = 65,
    BALLOON_P256_SIGNATURE_BYTES = 64,
    BALLOON_P384_SCALAR_BYTES = 48,
    BALLOON_P384_POINT_BYTES = 97,
    BALLOON_RSA_MAXIMUM_BYTES = 1024,
    BALLOON_GCM_TAG_BYTES = 16,
};

// A private key from PEM, as far as a caller needs it. `rsa_bits` is 0 for a P-256 key.
typedef struct {
    int rsa_bits;
    size_t modulus_bytes;
    size_t exponent_bytes;
    unsigned char modulus[BALLOON_RSA_MAXIMUM_BYTES];
    unsigned char exponent[BALLOON_RSA_MAXIMUM_BYTES];
    unsigned char point[BALLOON_P256_POINT_BYTES];
} balloon_key_parts;

// Verifies RSASSA-PKCS1-v1_5 with SHA-256 for a modulus and an exponent in big-endian order.
int balloon_verify_rs256(
    const unsigned char *modulus, size_t modulus_bytes, const unsigned char *exponent, size_t exponent_bytes,
    const unsigned char *message, size_t message_bytes, const unsigned char *signature, size_t signature_bytes);

// Whether 65 bytes are an uncompressed point on P-256.
int balloon_is_p256_point(const unsigned char *point);

// Verifies ECDSA on P-256 with SHA-256; the signature is r and s, 32 bytes each.
int balloon_verify_es256(
    const unsigned char *point, const unsigned char *message, size_t message_bytes, const unsigned char *signature);

// Reads a PEM private key without a password; fails for every key but RSA and P-256.
int balloon_read_key(const unsigned char *pem, size_t pem_bytes, balloon_key_parts *parts);

// Creates a private key as PKCS#8 PEM: RSA of `rsa_bits`, or P-256 when that is 0. `pem_bytes` holds the
// capacity of `pem` and gets the length.
int balloon_create_key(int rsa_bits, unsigned char *pem, size_t *pem_bytes);

// Signs with SHA-256: PKCS#1 v1.5 for an RSA key, r and s for a P-256 key. `signature_bytes` holds the
// capacity of `signature` and gets the length.
int balloon_sign(
    const unsigned char *pem, size_t pem_bytes, const unsigned char *message, size_t message_bytes,
    unsigned char *signature, size_t *signature_bytes);

// Creates a P-384 key pair: the scalar in 48 bytes, big-endian, and the uncompressed point.
int balloon_create_p384(unsigned char *scalar, unsigned char *point);

// Computes the x coordinate of scalar times point, 48 bytes; fails when the scalar is out of range or the point
// is not on the curve.
int balloon_agree_p384(
    const unsigned char *scalar, size_t scalar_bytes, const unsigned char *point, unsigned char *secret);

// Encrypts with AES-256-GCM, a nonce of 16 bytes, and no additional data.
int balloon_seal_gcm(
    const unsigned char *key, const unsigned char *nonce, const unsigned char *plain, size_t bytes,
    unsigned char *sealed, unsigned char *tag);

// Decrypts with AES-256-GCM; `plain` is meaningless unless the function returns 1.
int balloon_open_gcm(
    const unsigned char *key, const unsigned char *nonce, const unsigned char *sealed, size_t bytes,
    const unsigned char *tag, unsigned char *plain);

#endif
