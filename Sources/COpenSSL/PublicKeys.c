#include "PublicKeys.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

static int result(int is_success) {
    ERR_clear_error();
    return is_success ? 1 : 0;
}

static EVP_PKEY *key_of(const char *type, int selection, OSSL_PARAM *parameters) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (context == NULL || parameters == NULL || EVP_PKEY_fromdata_init(context) != 1
        || EVP_PKEY_fromdata(context, &key, selection, parameters) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    return key;
}

static EVP_PKEY *rsa_key(
    const unsigned char *modulus, size_t modulus_bytes, const unsigned char *exponent, size_t exponent_bytes) {
    if (modulus_bytes > BALLOON_RSA_MAXIMUM_BYTES || exponent_bytes > BALLOON_RSA_MAXIMUM_BYTES) return NULL;
    BIGNUM *n = BN_bin2bn(modulus, (int)modulus_bytes, NULL);
    BIGNUM *e = BN_bin2bn(exponent, (int)exponent_bytes, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *parameters = NULL;
    if (n != NULL && e != NULL && builder != NULL && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1)
        parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY *key = key_of("RSA", EVP_PKEY_PUBLIC_KEY, parameters);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    BN_free(e);
    BN_free(n);
    return key;
}

// The bytes of a point are copied by fromdata, which also refuses a point that is not on the curve.
static EVP_PKEY *point_key(const char *group, const unsigned char *point, size_t bytes) {
    if (point[0] != POINT_CONVERSION_UNCOMPRESSED) return NULL;
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (unsigned char *)point, bytes),
        OSSL_PARAM_construct_end(),
    };
    return key_of("EC", EVP_PKEY_PUBLIC_KEY, parameters);
}

static EVP_PKEY *scalar_key(const char *group, const unsigned char *scalar, size_t bytes) {
    BIGNUM *number = BN_secure_new();
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *parameters = NULL;
    if (number != NULL && builder != NULL && BN_bin2bn(scalar, (int)bytes, number) != NULL
        && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number) == 1)
        parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY *key = key_of("EC", EVP_PKEY_KEYPAIR, parameters);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    BN_clear_free(number);
    return key;
}

static int verify(
    EVP_PKEY *key, const unsigned char *message, size_t message_bytes, const unsigned char *signature,
    size_t signature_bytes) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int is_valid = context != NULL && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestVerify(context, signature, signature_bytes, message, message_bytes) == 1;
    EVP_MD_CTX_free(context);
    return is_valid;
}

int balloon_verify_rs256(
    const unsigned char *modulus, size_t modulus_bytes, const unsigned char *exponent, size_t exponent_bytes,
    const unsigned char *message, size_t message_bytes, const unsigned char *signature, size_t signature_bytes) {
    EVP_PKEY *key = rsa_key(modulus, modulus_bytes, exponent, exponent_bytes);
    int is_valid = key != NULL && verify(key, message, message_bytes, signature, signature_bytes);
    EVP_PKEY_free(key);
    return result(is_valid);
}

int balloon_is_p256_point(const unsigned char *point) {
    EVP_PKEY *key = point_key("P-256", point, BALLOON_P256_POINT_BYTES);
    EVP_PKEY_free(key);
    return result(key != NULL);
}

// OpenSSL reads the DER form of RFC 3279 §2.2.3, so r and s are encoded first.
int balloon_verify_es256(
    const unsigned char *point, const unsigned char *message, size_t message_bytes, const unsigned char *signature) {
    int is_valid = 0;
    unsigned char *encoded = NULL;
    EVP_PKEY *key = point_key("P-256", point, BALLOON_P256_POINT_BYTES);
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, BALLOON_P256_SIGNATURE_BYTES / 2, NULL);
    BIGNUM *s = BN_bin2bn(signature + BALLOON_P256_SIGNATURE_BYTES / 2, BALLOON_P256_SIGNATURE_BYTES / 2, NULL);
    if (pair != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(pair, r, s) == 1) {
        // The pair owns both numbers now.
        r = s = NULL;
        int bytes = i2d_ECDSA_SIG(pair, &encoded);
        is_valid = key != NULL && bytes > 0 && verify(key, message, message_bytes, encoded, (size_t)bytes);
    }
    OPENSSL_free(encoded);
    BN_free(s);
    BN_free(r);
    ECDSA_SIG_free(pair);
    EVP_PKEY_free(key);
    return result(is_valid);
}

// A key with a password is refused; OpenSSL would prompt on the terminal.
static int no_password(char *password, int size, int is_writing, void *unused) {
    (void)password, (void)size, (void)is_writing, (void)unused;
    return 0;
}

static EVP_PKEY *private_key(const unsigned char *pem, size_t bytes) {
    if (bytes > INT_MAX) return NULL;
    BIO *input = BIO_new_mem_buf(pem, (int)bytes);
    EVP_PKEY *key = input == NULL ? NULL : PEM_read_bio_PrivateKey(input, NULL, no_password, NULL);
    BIO_free(input);
    return key;
}

static int is_p256(EVP_PKEY *key) {
    char group[32] = "";
    size_t bytes = 0;
    return EVP_PKEY_is_a(key, "EC") == 1
        && EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, &bytes) == 1
        && strcmp(group, "prime256v1") == 0;
}

static int read_number(EVP_PKEY *key, const char *name, unsigned char *number, size_t *bytes) {
    BIGNUM *value = NULL;
    int is_read = EVP_PKEY_get_bn_param(key, name, &value) == 1 && BN_num_bytes(value) <= BALLOON_RSA_MAXIMUM_BYTES;
    if (is_read) *bytes = (size_t)BN_bn2bin(value, number);
    BN_free(value);
    return is_read;
}

// The coordinates are read as numbers, because a key file may state its point in compressed form.
static int read_point(EVP_PKEY *key, unsigned char *point) {
    int half = (BALLOON_P256_POINT_BYTES - 1) / 2;
    BIGNUM *x = NULL, *y = NULL;
    int is_read = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1
        && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1
        && BN_bn2binpad(x, point + 1, half) == half && BN_bn2binpad(y, point + 1 + half, half) == half;
    point[0] = POINT_CONVERSION_UNCOMPRESSED;
    BN_free(y);
    BN_free(x);
    return is_read;
}

int balloon_read_key(const unsigned char *pem, size_t pem_bytes, balloon_key_parts *parts) {
    int is_read = 0;
    EVP_PKEY *key = private_key(pem, pem_bytes);
    memset(parts, 0, sizeof *parts);
    if (key != NULL && EVP_PKEY_is_a(key, "RSA") == 1) {
        parts->rsa_bits = EVP_PKEY_get_bits(key);
        is_read = parts->rsa_bits > 0 && read_number(key, OSSL_PKEY_PARAM_RSA_N, parts->modulus, &parts->modulus_bytes)
            && read_number(key, OSSL_PKEY_PARAM_RSA_E, parts->exponent, &parts->exponent_bytes);
    } else if (key != NULL && is_p256(key)) {
        is_read = read_point(key, parts->point);
    }
    EVP_PKEY_free(key);
    return result(is_read);
}

int balloon_create_key(int rsa_bits, unsigned char *pem, size_t *pem_bytes) {
    int is_created = 0;
    EVP_PKEY *key = rsa_bits > 0 ? EVP_RSA_gen((unsigned int)rsa_bits) : EVP_EC_gen("P-256");
    BIO *output = BIO_new(BIO_s_mem());
    if (key != NULL && output != NULL && PEM_write_bio_PKCS8PrivateKey(output, key, NULL, NULL, 0, NULL, NULL) == 1) {
        int bytes = BIO_read(output, pem, *pem_bytes > INT_MAX ? INT_MAX : (int)*pem_bytes);
        is_created = bytes > 0 && BIO_pending(output) == 0;
        if (is_created) *pem_bytes = (size_t)bytes;
    }
    BIO_free(output);
    EVP_PKEY_free(key);
    return result(is_created);
}

// Replaces the DER form of an ECDSA signature by r and s.
static int split_signature(unsigned char *signature, size_t *signature_bytes) {
    int half = BALLOON_P256_SIGNATURE_BYTES / 2;
    const unsigned char *encoded = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &encoded, (long)*signature_bytes);
    int is_split = pair != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(pair), signature, half) == half
        && BN_bn2binpad(ECDSA_SIG_get0_s(pair), signature + half, half) == half;
    if (is_split) *signature_bytes = BALLOON_P256_SIGNATURE_BYTES;
    ECDSA_SIG_free(pair);
    return is_split;
}

int balloon_sign(
    const unsigned char *pem, size_t pem_bytes, const unsigned char *message, size_t message_bytes,
    unsigned char *signature, size_t *signature_bytes) {
    EVP_PKEY *key = private_key(pem, pem_bytes);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int is_signed = key != NULL && context != NULL
        && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1
        && EVP_DigestSign(context, signature, signature_bytes, message, message_bytes) == 1
        && (EVP_PKEY_is_a(key, "RSA") == 1 || split_signature(signature, signature_bytes));
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return result(is_signed);
}

int balloon_create_p384(unsigned char *scalar, unsigned char *point) {
    size_t bytes = 0;
    BIGNUM *number = NULL;
    EVP_PKEY *key = EVP_EC_gen("P-384");
    int is_created = key != NULL
        && EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, BALLOON_P384_POINT_BYTES, &bytes) == 1
        && bytes == BALLOON_P384_POINT_BYTES && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1
        && BN_bn2binpad(number, scalar, BALLOON_P384_SCALAR_BYTES) == BALLOON_P384_SCALAR_BYTES;
    BN_clear_free(number);
    EVP_PKEY_free(key);
    return result(is_created);
}

// set_peer refuses a point outside the curve, and the check of the private key a scalar outside its range.
int balloon_agree_p384(
    const unsigned char *scalar, size_t scalar_bytes, const unsigned char *point, unsigned char *secret) {
    size_t bytes = BALLOON_P384_SCALAR_BYTES;
    EVP_PKEY *key = scalar_bytes > BALLOON_P384_SCALAR_BYTES ? NULL : scalar_key("P-384", scalar, scalar_bytes);
    EVP_PKEY *peer = point_key("P-384", point, BALLOON_P384_POINT_BYTES);
    EVP_PKEY_CTX *context = key == NULL ? NULL : EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    int is_agreed = context != NULL && peer != NULL && EVP_PKEY_private_check(context) == 1
        && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, peer) == 1
        && EVP_PKEY_derive(context, secret, &bytes) == 1 && bytes == BALLOON_P384_SCALAR_BYTES;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(peer);
    EVP_PKEY_free(key);
    return result(is_agreed);
}

static const int nonce_bytes = 16;

int balloon_seal_gcm(
    const unsigned char *key, const unsigned char *nonce, const unsigned char *plain, size_t bytes,
    unsigned char *sealed, unsigned char *tag) {
    int written = 0, rest = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int is_sealed = context != NULL && bytes <= INT_MAX
        && EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, NULL, NULL) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, nonce_bytes, NULL) == 1
        && EVP_EncryptInit_ex(context, NULL, NULL, key, nonce) == 1
        && EVP_EncryptUpdate(context, sealed, &written, plain, (int)bytes) == 1
        && EVP_EncryptFinal_ex(context, sealed + written, &rest) == 1 && (size_t)(written + rest) == bytes
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, BALLOON_GCM_TAG_BYTES, tag) == 1;
    EVP_CIPHER_CTX_free(context);
    return result(is_sealed);
}

int balloon_open_gcm(
    const unsigned char *key, const unsigned char *nonce, const unsigned char *sealed, size_t bytes,
    const unsigned char *tag, unsigned char *plain) {
    int written = 0, rest = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int is_open = context != NULL && bytes <= INT_MAX
        && EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), NULL, NULL, NULL) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, nonce_bytes, NULL) == 1
        && EVP_DecryptInit_ex(context, NULL, NULL, key, nonce) == 1
        && EVP_DecryptUpdate(context, plain, &written, sealed, (int)bytes) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, BALLOON_GCM_TAG_BYTES, (void *)tag) == 1
        && EVP_DecryptFinal_ex(context, plain + written, &rest) == 1 && (size_t)(written + rest) == bytes;
    EVP_CIPHER_CTX_free(context);
    return result(is_open);
}
