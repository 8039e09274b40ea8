#include "Certificates.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "PublicKeys.h"

static int no_password(char *password, int size, int is_writing, void *unused) {
    (void)password, (void)size, (void)is_writing, (void)unused;
    return 0;
}

// DER only: the bytes must be those that OpenSSL writes for the certificate, so nothing may follow it.
static X509 *read_der(balloon_certificate certificate) {
    if (certificate.count == 0 || certificate.count > BALLOON_CERTIFICATE_MAXIMUM_BYTES) return NULL;
    const unsigned char *end = certificate.bytes;
    unsigned char *written = NULL;
    X509 *read = d2i_X509(NULL, &end, (long)certificate.count);
    int count = read == NULL ? -1 : i2d_X509(read, &written);
    int is_same = count >= 0 && (size_t)count == certificate.count && end == certificate.bytes + certificate.count
        && memcmp(written, certificate.bytes, certificate.count) == 0;
    OPENSSL_free(written);
    if (is_same) return read;
    X509_free(read);
    return NULL;
}

static int is_on_curve(X509 *certificate, const char *curve) {
    char group[32] = "";
    size_t bytes = 0;
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    return key != NULL && EVP_PKEY_is_a(key, "EC") == 1
        && EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, &bytes) == 1
        && strcmp(group, curve) == 0;
}

static int is_signed_by_ecdsa(X509 *certificate) {
    int algorithm = X509_get_signature_nid(certificate);
    return algorithm == NID_ecdsa_with_SHA256 || algorithm == NID_ecdsa_with_SHA384;
}

static int has_extension(X509 *certificate, const char *name) {
    ASN1_OBJECT *object = OBJ_txt2obj(name, 1);
    int has = object != NULL && X509_get_ext_by_OBJ(certificate, object, -1) >= 0;
    ASN1_OBJECT_free(object);
    return has;
}

// The coordinates are read as numbers, because a certificate may state its point in compressed form.
static int read_point(X509 *certificate, unsigned char *point) {
    int half = (BALLOON_P256_POINT_BYTES - 1) / 2;
    BIGNUM *x = NULL, *y = NULL;
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    int is_read = key != NULL && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1
        && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1
        && BN_bn2binpad(x, point + 1, half) == half && BN_bn2binpad(y, point + 1 + half, half) == half;
    point[0] = POINT_CONVERSION_UNCOMPRESSED;
    BN_free(y);
    BN_free(x);
    return is_read;
}

// The store holds the root only, and without X509_V_FLAG_PARTIAL_CHAIN only a self-signed certificate ends a chain.
static int verify(X509 *leaf, X509 *intermediate, X509 *root, int64_t seconds) {
    int result = BALLOON_CHAIN_FAILED;
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    STACK_OF(X509) *untrusted = sk_X509_new_null();
    if (store != NULL && context != NULL && untrusted != NULL && X509_STORE_add_cert(store, root) == 1
        && sk_X509_push(untrusted, intermediate) > 0
        && X509_STORE_CTX_init(context, store, leaf, untrusted) == 1) {
        X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(context);
        X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_X509_STRICT);
        X509_VERIFY_PARAM_set_time(parameters, (time_t)seconds);
        // One certificate at most between the leaf and the root.
        X509_VERIFY_PARAM_set_depth(parameters, 1);
        X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY);
        if (X509_verify_cert(context) == 1) {
            STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(context);
            int is_whole = sk_X509_num(chain) == 3 && X509_cmp(sk_X509_value(chain, 1), intermediate) == 0
                && X509_cmp(sk_X509_value(chain, 2), root) == 0;
            result = is_whole ? BALLOON_CHAIN_VALID : BALLOON_CHAIN_UNTRUSTED;
        } else {
            int error = X509_STORE_CTX_get_error(context);
            int is_late = error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID;
            result = is_late ? BALLOON_CHAIN_EXPIRED
                : error == X509_V_ERR_OUT_OF_MEM ? BALLOON_CHAIN_FAILED : BALLOON_CHAIN_UNTRUSTED;
        }
    }
    sk_X509_free(untrusted);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return result;
}

int balloon_verify_chain(
    balloon_certificate leaf_bytes, balloon_certificate intermediate_bytes, balloon_certificate root_bytes,
    int64_t seconds, const char *leaf_extension, const char *intermediate_extension, unsigned char *point) {
    X509 *leaf = read_der(leaf_bytes);
    X509 *intermediate = read_der(intermediate_bytes);
    X509 *root = read_der(root_bytes);
    int result;
    if (root == NULL)
        result = BALLOON_CHAIN_FAILED;
    else if (leaf == NULL || intermediate == NULL)
        result = BALLOON_CHAIN_MALFORMED;
    // Before any signature is verified: the cost of one depends on the kind of the key.
    else if (!is_on_curve(leaf, "prime256v1")
        || !(is_on_curve(intermediate, "prime256v1") || is_on_curve(intermediate, "secp384r1")))
        result = BALLOON_CHAIN_KEY;
    else if (!is_signed_by_ecdsa(leaf) || !is_signed_by_ecdsa(intermediate))
        result = BALLOON_CHAIN_ALGORITHM;
    else if ((result = verify(leaf, intermediate, root, seconds)) == BALLOON_CHAIN_VALID) {
        if (!has_extension(leaf, leaf_extension) || !has_extension(intermediate, intermediate_extension))
            result = BALLOON_CHAIN_PURPOSE;
        else if (!read_point(leaf, point))
            result = BALLOON_CHAIN_FAILED;
    }
    X509_free(root);
    X509_free(intermediate);
    X509_free(leaf);
    ERR_clear_error();
    return result;
}

static int write_der(X509 *certificate, unsigned char *der, size_t *der_bytes) {
    int count = i2d_X509(certificate, NULL);
    if (count < 0 || (size_t)count > *der_bytes) return 0;
    *der_bytes = (size_t)i2d_X509(certificate, &der);
    return 1;
}

int balloon_read_root(const unsigned char *bytes, size_t count, unsigned char *der, size_t *der_bytes) {
    X509 *root = read_der((balloon_certificate){bytes, count});
    if (root == NULL && count <= INT_MAX) {
        BIO *input = BIO_new_mem_buf(bytes, (int)count);
        if (input != NULL) root = PEM_read_bio_X509(input, NULL, no_password, NULL);
        BIO_free(input);
    }
    int is_read = root != NULL && X509_check_ca(root) > 0 && X509_self_signed(root, 1) == 1
        && write_der(root, der, der_bytes);
    X509_free(root);
    ERR_clear_error();
    return is_read;
}

static EVP_PKEY *read_key(const unsigned char *pem, size_t pem_bytes) {
    BIO *input = pem_bytes > INT_MAX ? NULL : BIO_new_mem_buf(pem, (int)pem_bytes);
    EVP_PKEY *key = input == NULL ? NULL : PEM_read_bio_PrivateKey(input, NULL, no_password, NULL);
    BIO_free(input);
    return key;
}

static int write_key(EVP_PKEY *key, unsigned char *pem, size_t *pem_bytes) {
    BIO *output = BIO_new(BIO_s_mem());
    int is_written = 0;
    if (output != NULL && PEM_write_bio_PKCS8PrivateKey(output, key, NULL, NULL, 0, NULL, NULL) == 1) {
        int count = BIO_read(output, pem, *pem_bytes > INT_MAX ? INT_MAX : (int)*pem_bytes);
        is_written = count > 0 && BIO_pending(output) == 0;
        if (is_written) *pem_bytes = (size_t)count;
    }
    BIO_free(output);
    return is_written;
}

static int add_extension(X509 *certificate, X509 *issuer, int kind, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    int is_added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

static int add_empty_extension(X509 *certificate, const char *name) {
    // ASN.1 NULL, which is what Apple's extensions contain.
    static const unsigned char null[] = {0x05, 0x00};
    ASN1_OBJECT *object = OBJ_txt2obj(name, 1);
    ASN1_OCTET_STRING *content = ASN1_OCTET_STRING_new();
    X509_EXTENSION *extension = NULL;
    if (object != NULL && content != NULL && ASN1_OCTET_STRING_set(content, null, sizeof null) == 1)
        extension = X509_EXTENSION_create_by_OBJ(NULL, object, 0, content);
    int is_added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    ASN1_OCTET_STRING_free(content);
    ASN1_OBJECT_free(object);
    return is_added;
}

static int add_serial_number(X509 *certificate) {
    BIGNUM *number = BN_new();
    int is_added = number != NULL && BN_rand(number, 64, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1
        && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return is_added;
}

static int fill(X509 *certificate, X509 *issuer, EVP_PKEY *key, const balloon_certificate_request *request) {
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_set_version(certificate, X509_VERSION_3) == 1 && add_serial_number(certificate)
        && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)request->name, -1, -1, 0) == 1
        && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1
        && ASN1_TIME_set(X509_getm_notBefore(certificate), (time_t)request->not_before) != NULL
        && ASN1_TIME_set(X509_getm_notAfter(certificate), (time_t)request->not_after) != NULL
        && X509_set_pubkey(certificate, key) == 1
        && add_extension(
            certificate, issuer, NID_basic_constraints, request->is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE")
        && add_extension(
            certificate, issuer, NID_key_usage,
            request->is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature")
        && (request->names == NULL || add_extension(certificate, issuer, NID_subject_alt_name, request->names))
        && add_extension(certificate, issuer, NID_subject_key_identifier, "hash")
        && add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always")
        && (request->extension == NULL || add_empty_extension(certificate, request->extension));
}

int balloon_issue_certificate(
    const balloon_certificate_request *request, balloon_certificate issuer_bytes, const unsigned char *issuer_pem,
    size_t issuer_pem_bytes, unsigned char *der, size_t *der_bytes, unsigned char *pem, size_t *pem_bytes) {
    int is_root = issuer_bytes.bytes == NULL;
    EVP_PKEY *key = request->curve == NULL ? EVP_RSA_gen(2048) : EVP_EC_gen(request->curve);
    EVP_PKEY *issuer_key = is_root ? NULL : read_key(issuer_pem, issuer_pem_bytes);
    X509 *certificate = X509_new();
    X509 *issuer = is_root ? NULL : read_der(issuer_bytes);
    const EVP_MD *digest = EVP_get_digestbyname(request->digest);
    int is_issued = key != NULL && certificate != NULL && digest != NULL && (is_root || (issuer != NULL && issuer_key != NULL))
        && fill(certificate, is_root ? certificate : issuer, key, request)
        && X509_sign(certificate, is_root ? key : issuer_key, digest) > 0 && write_der(certificate, der, der_bytes)
        && write_key(key, pem, pem_bytes);
    X509_free(issuer);
    X509_free(certificate);
    EVP_PKEY_free(issuer_key);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return is_issued;
}
