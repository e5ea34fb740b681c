#pragma once
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#define COPENSSL_FUNCTIONS(X)                                                                     \
  X(ASN1_TIME_diff) X(ASN1_TIME_free) X(ASN1_TIME_set) X(BIO_free) X(BIO_new_mem_buf)             \
  X(BN_bin2bn) X(BN_bn2binpad) X(BN_clear_free) X(BN_free) X(BN_num_bits) X(CRYPTO_memcmp)        \
  X(CRYPTO_secure_clear_free) X(CRYPTO_secure_malloc) X(CRYPTO_secure_malloc_init)                \
  X(CRYPTO_secure_used) X(d2i_ECDSA_SIG) X(d2i_PKCS8_PRIV_KEY_INFO) X(ECDSA_SIG_free)             \
  X(ECDSA_SIG_get0_r) X(ECDSA_SIG_get0_s) X(ECDSA_SIG_new) X(ECDSA_SIG_set0) X(ERR_clear_error)   \
  X(EVP_CIPHER_CTX_ctrl) X(EVP_CIPHER_CTX_free) X(EVP_CIPHER_CTX_new) X(EVP_CIPHER_fetch)         \
  X(EVP_CipherInit_ex) X(EVP_CipherUpdate) X(EVP_DecryptFinal_ex) X(EVP_Digest)                   \
  X(EVP_DigestSign) X(EVP_DigestSignInit_ex) X(EVP_DigestVerify) X(EVP_DigestVerifyInit_ex)       \
  X(EVP_EncryptFinal_ex) X(EVP_MAC_CTX_dup) X(EVP_MAC_CTX_free) X(EVP_MAC_CTX_new)                \
  X(EVP_MAC_CTX_set_params) X(EVP_MAC_fetch) X(EVP_MAC_final) X(EVP_MAC_free) X(EVP_MAC_init)     \
  X(EVP_MAC_update) X(EVP_MD_CTX_free) X(EVP_MD_CTX_new) X(EVP_MD_fetch) X(EVP_PBE_scrypt)        \
  X(EVP_PKCS82PKEY) X(EVP_PKEY2PKCS8) X(EVP_PKEY_CTX_add1_hkdf_info) X(EVP_PKEY_CTX_free)         \
  X(EVP_PKEY_CTX_new_from_name) X(EVP_PKEY_CTX_set1_hkdf_key) X(EVP_PKEY_CTX_set1_hkdf_salt)      \
  X(EVP_PKEY_CTX_set_hkdf_md) X(EVP_PKEY_CTX_set_rsa_padding)                                     \
  X(EVP_PKEY_CTX_set_rsa_pss_saltlen) X(EVP_PKEY_derive) X(EVP_PKEY_derive_init)                  \
  X(EVP_PKEY_free) X(EVP_PKEY_fromdata) X(EVP_PKEY_fromdata_init) X(EVP_PKEY_get_base_id)         \
  X(EVP_PKEY_get_bits) X(EVP_PKEY_get_bn_param) X(EVP_PKEY_get_group_name)                        \
  X(EVP_PKEY_get_raw_public_key) X(EVP_PKEY_new_raw_public_key_ex) X(EVP_PKEY_Q_keygen)           \
  X(i2d_ECDSA_SIG) X(i2d_PKCS8_PRIV_KEY_INFO) X(i2d_X509_PUBKEY) X(OPENSSL_cleanse)               \
  X(OPENSSL_init_crypto) X(OpenSSL_version) X(OSSL_PARAM_BLD_free) X(OSSL_PARAM_BLD_new)          \
  X(OSSL_PARAM_BLD_push_BN) X(OSSL_PARAM_BLD_to_param) X(OSSL_PARAM_construct_end)                \
  X(OSSL_PARAM_construct_octet_string) X(OSSL_PARAM_construct_utf8_string) X(OSSL_PARAM_free)     \
  X(PEM_read_bio_PrivateKey) X(PEM_read_bio_X509) X(PKCS8_PRIV_KEY_INFO_free)                     \
  X(X509_check_private_key) X(X509_free) X(X509_get0_notAfter) X(X509_get_X509_PUBKEY)

/// The functions of libcrypto that einlass uses.
struct copenssl_functions {
#define COPENSSL_MEMBER(name) __typeof__(&name) name;
  COPENSSL_FUNCTIONS(COPENSSL_MEMBER)
};

/// Returns the functions of libcrypto, and opens it at the first call. Ends the process with exit code 78 and a sentence
/// if there is none.
const struct copenssl_functions *copenssl(void);

/// OSSL_PARAM points into its texts, and Swift would not keep them alive long enough.
int copenssl_mac_set_digest(EVP_MAC_CTX *context, const char *name);

/// Returns an RSA public key from a big-endian modulus and exponent, or NULL if libcrypto rejects
/// them.
EVP_PKEY *copenssl_rsa_key(const unsigned char *n, size_t n_count, const unsigned char *e, size_t e_count);

/// Returns a public key on a curve from an uncompressed point, or NULL if the point is not on the
/// curve.
EVP_PKEY *copenssl_ec_key(const char *curve, const unsigned char *point, size_t count);

/// Converts `r || s` (RFC 7518 section 3.4) to DER in `der`. Returns the number of bytes written,
/// or 0.
int copenssl_ecdsa_der(const unsigned char *pair, size_t count, unsigned char *der, size_t capacity);

/// Returns a new RSA key with this many bits and exponent 65537.
EVP_PKEY *copenssl_new_rsa_key(size_t bits);

/// Returns a new key on a curve, or NULL if libcrypto does not support it.
EVP_PKEY *copenssl_new_ec_key(const char *curve);

EVP_PKEY *copenssl_new_ed25519_key(void);

/// Returns the key of a PKCS #8 `PrivateKeyInfo`, or NULL if it is malformed or followed by other
/// bytes.
EVP_PKEY *copenssl_pkcs8_key(const unsigned char *der, size_t count);

/// Returns the first private key of a PEM text that needs no passphrase, or NULL.
EVP_PKEY *copenssl_pem_key(const unsigned char *text, size_t count);

/// Returns the first certificate of a PEM text, or NULL.
X509 *copenssl_pem_certificate(const unsigned char *text, size_t count);

/// Writes a time of a certificate to `seconds`, since 1970. Returns 1, or 0 for a malformed time.
int copenssl_unix_time(const ASN1_TIME *time, long long *seconds);

/// Writes the PKCS #8 form of a key to `der` unless that is NULL. Returns the number of bytes, or
/// 0.
int copenssl_pkcs8_der(const EVP_PKEY *key, unsigned char *der);

/// Writes a big-endian number of a key in `count` bytes or, with 0, in as many as it needs. Returns
/// the number of bytes, also if `output` is NULL, or 0.
int copenssl_key_number(const EVP_PKEY *key, const char *name, unsigned char *output, size_t count);

/// Converts DER to `r || s` (RFC 7518 section 3.4), each with `half` bytes. Returns 1, or 0 on
/// failure.
int copenssl_ecdsa_pair(const unsigned char *der, size_t count, unsigned char *pair, size_t half);
