#include "PaymentTokens.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <time.h>

static int no_password(char *password, int size, int is_writing, void *unused) {
    (void)password, (void)size, (void)is_writing, (void)unused;
    return 0;
}

static EVP_PKEY *read_private_key(const unsigned char *pem, size_t count) {
    BIO *input = count > INT_MAX ? NULL : BIO_new_mem_buf(pem, (int)count);
    EVP_PKEY *key = input == NULL ? NULL : PEM_read_bio_PrivateKey(input, NULL, no_password, NULL);
    BIO_free(input);
    return key;
}

static int is_on_p256(EVP_PKEY *key) {
    char group[32] = "";
    size_t bytes = 0;
    return key != NULL && EVP_PKEY_is_a(key, "EC") == 1
        && EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, &bytes) == 1
        && strcmp(group, "prime256v1") == 0;
}

// A key that was read in compressed form would be written so, and have another hash.
static int write_spki(EVP_PKEY *key, unsigned char *spki) {
    return is_on_p256(key) && EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed") == 1
        && i2d_PUBKEY(key, NULL) == BALLOON_P256_SPKI_BYTES && i2d_PUBKEY(key, &spki) == BALLOON_P256_SPKI_BYTES;
}

// Returns the one signing time in the signed attributes; -1 when there is none or another number of them.
static int64_t signing_time_of(CMS_SignerInfo *signer) {
    int at = CMS_signed_get_attr_by_NID(signer, NID_pkcs9_signingTime, -1);
    if (at < 0 || CMS_signed_get_attr_by_NID(signer, NID_pkcs9_signingTime, at) >= 0) return -1;
    X509_ATTRIBUTE *attribute = CMS_signed_get_attr(signer, at);
    if (attribute == NULL || X509_ATTRIBUTE_count(attribute) != 1) return -1;
    ASN1_TYPE *type = X509_ATTRIBUTE_get0_type(attribute, 0);
    if (type == NULL || (type->type != V_ASN1_UTCTIME && type->type != V_ASN1_GENERALIZEDTIME)) return -1;
    struct tm moment;
    if (ASN1_TIME_to_tm(type->value.asn1_string, &moment) != 1) return -1;
    return timegm(&moment);
}

static int verify_pair(
    X509 *leaf, X509 *intermediate, balloon_certificate root, int64_t seconds, const char *leaf_extension,
    const char *intermediate_extension) {
    unsigned char *leaf_der = NULL, *intermediate_der = NULL;
    unsigned char point[65];
    int leaf_bytes = i2d_X509(leaf, &leaf_der);
    int intermediate_bytes = i2d_X509(intermediate, &intermediate_der);
    int result = BALLOON_CHAIN_FAILED;
    if (leaf_bytes > 0 && intermediate_bytes > 0)
        result = balloon_verify_chain(
            (balloon_certificate){leaf_der, (size_t)leaf_bytes},
            (balloon_certificate){intermediate_der, (size_t)intermediate_bytes}, root, seconds, leaf_extension,
            intermediate_extension, point);
    OPENSSL_free(intermediate_der);
    OPENSSL_free(leaf_der);
    return result;
}

// The message may have its certificates in any order, so each is tried as the intermediate one. A reason that
// says more than "untrusted" wins.
static int verify_signer(
    X509 *leaf, STACK_OF(X509) *certificates, balloon_certificate root, int64_t seconds, const char *leaf_extension,
    const char *intermediate_extension) {
    int result = BALLOON_CHAIN_UNTRUSTED;
    for (int at = 0; at < sk_X509_num(certificates); at++) {
        X509 *other = sk_X509_value(certificates, at);
        if (X509_cmp(other, leaf) == 0) continue;
        int found = verify_pair(leaf, other, root, seconds, leaf_extension, intermediate_extension);
        if (found == BALLOON_CHAIN_VALID) return found;
        if (found != BALLOON_CHAIN_UNTRUSTED) result = found;
    }
    return result;
}

static int verify_content(
    CMS_ContentInfo *message, const unsigned char *content, size_t content_bytes, X509 **leaf) {
    BIO *input = BIO_new_mem_buf(content, (int)content_bytes);
    // The signer's chain is verified afterwards, at the signing time and with the purposes of Apple Pay.
    int is_signed = input != NULL
        && CMS_verify(message, NULL, NULL, input, NULL, CMS_DETACHED | CMS_BINARY | CMS_NO_SIGNER_CERT_VERIFY) == 1;
    STACK_OF(X509) *signers = is_signed ? CMS_get0_signers(message) : NULL;
    *leaf = signers != NULL && sk_X509_num(signers) == 1 ? sk_X509_value(signers, 0) : NULL;
    sk_X509_free(signers);
    BIO_free(input);
    return *leaf != NULL;
}

static int verify_message(
    CMS_ContentInfo *message, STACK_OF(X509) *certificates, balloon_certificate root, const unsigned char *content,
    size_t content_bytes, const char *leaf_extension, const char *intermediate_extension, int64_t *signing_time) {
    STACK_OF(CMS_SignerInfo) *infos = CMS_get0_SignerInfos(message);
    if (infos == NULL || sk_CMS_SignerInfo_num(infos) != 1) return BALLOON_SIGNATURE_SIGNER;
    CMS_SignerInfo *signer = sk_CMS_SignerInfo_value(infos, 0);
    X509_ALGOR *digest = NULL;
    const ASN1_OBJECT *name = NULL;
    CMS_SignerInfo_get0_algs(signer, NULL, NULL, &digest, NULL);
    X509_ALGOR_get0(&name, NULL, NULL, digest);
    if (OBJ_obj2nid(name) != NID_sha256) return BALLOON_SIGNATURE_SIGNER;
    X509 *leaf = NULL;
    if (!verify_content(message, content, content_bytes, &leaf)) return BALLOON_SIGNATURE_WRONG;
    *signing_time = signing_time_of(signer);
    if (*signing_time < 0) return BALLOON_SIGNATURE_TIME;
    int chain = verify_signer(leaf, certificates, root, *signing_time, leaf_extension, intermediate_extension);
    return chain == BALLOON_CHAIN_VALID ? BALLOON_SIGNATURE_VALID : BALLOON_SIGNATURE_CHAIN + chain;
}

int balloon_verify_payment_signature(
    balloon_certificate root, const unsigned char *signature, size_t signature_bytes, const unsigned char *content,
    size_t content_bytes, const char *leaf_extension, const char *intermediate_extension, int64_t *signing_time) {
    if (signature_bytes > BALLOON_PAYMENT_SIGNATURE_MAXIMUM_BYTES || content_bytes > INT_MAX)
        return BALLOON_SIGNATURE_MALFORMED;
    const unsigned char *end = signature;
    CMS_ContentInfo *message = d2i_CMS_ContentInfo(NULL, &end, (long)signature_bytes);
    int result = BALLOON_SIGNATURE_MALFORMED;
    if (message != NULL && end == signature + signature_bytes
        && OBJ_obj2nid(CMS_get0_type(message)) == NID_pkcs7_signed && CMS_is_detached(message) == 1) {
        STACK_OF(X509) *certificates = CMS_get1_certs(message);
        int count = certificates == NULL ? 0 : sk_X509_num(certificates);
        if (count >= 1 && count <= 8)
            result = verify_message(
                message, certificates, root, content, content_bytes, leaf_extension, intermediate_extension, signing_time);
        sk_X509_pop_free(certificates, X509_free);
    }
    CMS_ContentInfo_free(message);
    ERR_clear_error();
    return result;
}

static X509 *read_certificate(balloon_certificate certificate) {
    const unsigned char *end = certificate.bytes;
    return certificate.count > LONG_MAX ? NULL : d2i_X509(NULL, &end, (long)certificate.count);
}

int balloon_sign_payment(
    balloon_certificate leaf_bytes, const unsigned char *leaf_pem, size_t leaf_pem_bytes,
    balloon_certificate intermediate_bytes, const unsigned char *content, size_t content_bytes, int64_t signing_time,
    unsigned char *signature, size_t *signature_bytes) {
    const unsigned int flags = CMS_DETACHED | CMS_BINARY | CMS_PARTIAL;
    X509 *leaf = read_certificate(leaf_bytes);
    X509 *intermediate = read_certificate(intermediate_bytes);
    EVP_PKEY *key = read_private_key(leaf_pem, leaf_pem_bytes);
    BIO *input = content_bytes > INT_MAX ? NULL : BIO_new_mem_buf(content, (int)content_bytes);
    ASN1_TIME *time = ASN1_TIME_set(NULL, (time_t)signing_time);
    CMS_ContentInfo *message = CMS_sign(NULL, NULL, NULL, NULL, flags);
    int is_signed = 0;
    if (leaf != NULL && intermediate != NULL && key != NULL && input != NULL && time != NULL && message != NULL) {
        CMS_SignerInfo *signer = CMS_add1_signer(message, leaf, key, EVP_sha256(), flags | CMS_NOSMIMECAP);
        is_signed = signer != NULL
            && CMS_signed_add1_attr_by_NID(signer, NID_pkcs9_signingTime, time->type, time, -1) == 1
            && CMS_add1_cert(message, intermediate) == 1 && CMS_final(message, input, NULL, flags) == 1;
    }
    int count = is_signed ? i2d_CMS_ContentInfo(message, NULL) : -1;
    is_signed = count > 0 && (size_t)count <= *signature_bytes;
    if (is_signed) *signature_bytes = (size_t)i2d_CMS_ContentInfo(message, &signature);
    CMS_ContentInfo_free(message);
    ASN1_TIME_free(time);
    BIO_free(input);
    EVP_PKEY_free(key);
    X509_free(intermediate);
    X509_free(leaf);
    ERR_clear_error();
    return is_signed;
}

int balloon_read_payment_key(const unsigned char *pem, size_t pem_bytes, unsigned char *spki) {
    EVP_PKEY *key = read_private_key(pem, pem_bytes);
    int is_read = write_spki(key, spki);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return is_read;
}

// The extension holds an ASN.1 string of one length byte: tag, length and 64 digits.
static int read_merchant(X509 *certificate, unsigned char *merchant) {
    ASN1_OBJECT *object = OBJ_txt2obj("1.2.840.113635.100.6.32", 1);
    int at = object == NULL ? -1 : X509_get_ext_by_OBJ(certificate, object, -1);
    ASN1_OBJECT_free(object);
    if (at < 0) return 0;
    ASN1_OCTET_STRING *content = X509_EXTENSION_get_data(X509_get_ext(certificate, at));
    const unsigned char *bytes = ASN1_STRING_get0_data(content);
    if (ASN1_STRING_length(content) != BALLOON_MERCHANT_BYTES + 2 || bytes[1] != BALLOON_MERCHANT_BYTES) return 0;
    memcpy(merchant, bytes + 2, BALLOON_MERCHANT_BYTES);
    return 1;
}

int balloon_read_payment_certificate(
    const unsigned char *bytes, size_t count, unsigned char *spki, unsigned char *merchant) {
    const unsigned char *end = bytes;
    X509 *certificate = count > BALLOON_PAYMENT_SIGNATURE_MAXIMUM_BYTES ? NULL : d2i_X509(NULL, &end, (long)count);
    if (certificate == NULL && count <= BALLOON_PAYMENT_SIGNATURE_MAXIMUM_BYTES) {
        BIO *input = BIO_new_mem_buf(bytes, (int)count);
        if (input != NULL) certificate = PEM_read_bio_X509(input, NULL, no_password, NULL);
        BIO_free(input);
    }
    int is_read = certificate != NULL && write_spki(X509_get0_pubkey(certificate), spki)
        && read_merchant(certificate, merchant);
    X509_free(certificate);
    ERR_clear_error();
    return is_read;
}

int balloon_agree_payment(
    const unsigned char *pem, size_t pem_bytes, const unsigned char *spki, size_t spki_bytes, unsigned char *secret) {
    const unsigned char *end = spki;
    EVP_PKEY *key = read_private_key(pem, pem_bytes);
    EVP_PKEY *peer = spki_bytes > 1024 ? NULL : d2i_PUBKEY(NULL, &end, (long)spki_bytes);
    EVP_PKEY_CTX *context = key == NULL ? NULL : EVP_PKEY_CTX_new(key, NULL);
    size_t bytes = BALLOON_P256_SECRET_BYTES;
    // Setting the peer checks that its point is on the curve.
    int is_agreed = is_on_p256(key) && is_on_p256(peer) && end == spki + spki_bytes && context != NULL
        && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, peer) == 1
        && EVP_PKEY_derive(context, secret, &bytes) == 1 && bytes == BALLOON_P256_SECRET_BYTES;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(peer);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return is_agreed;
}
