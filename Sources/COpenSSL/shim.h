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
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

/// OSSL_PARAM points into its texts, and Swift would not keep them alive long enough.
static inline int copenssl_mac_set_digest(EVP_MAC_CTX *context, const char *name) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)name, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(context, parameters);
}

/// Returns an RSA public key from a big-endian modulus and exponent, or NULL if libcrypto rejects
/// them.
static inline EVP_PKEY *copenssl_rsa_key(const unsigned char *n, size_t n_count, const unsigned char *e, size_t e_count) {
  EVP_PKEY *key = NULL;
  BIGNUM *modulus = BN_bin2bn(n, (int)n_count, NULL), *exponent = BN_bin2bn(e, (int)e_count, NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM *parameters = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
  if (modulus && exponent && builder && context &&
      OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1 &&
      (parameters = OSSL_PARAM_BLD_to_param(builder)) && EVP_PKEY_fromdata_init(context) == 1)
    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(builder);
  BN_free(modulus);
  BN_free(exponent);
  return key;
}

/// Returns a public key on a curve from an uncompressed point, or NULL if the point is not on the
/// curve.
static inline EVP_PKEY *copenssl_ec_key(const char *curve, const unsigned char *point, size_t count) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)curve, 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, count),
      OSSL_PARAM_construct_end(),
  };
  if (context && EVP_PKEY_fromdata_init(context) == 1)
    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
  EVP_PKEY_CTX_free(context);
  return key;
}

/// Converts `r || s` (RFC 7518 section 3.4) to DER in `der`. Returns the number of bytes written,
/// or 0.
static inline int copenssl_ecdsa_der(const unsigned char *pair, size_t count, unsigned char *der, size_t capacity) {
  ECDSA_SIG *signature = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(pair, (int)(count / 2), NULL), *s = BN_bin2bn(pair + count / 2, (int)(count / 2), NULL);
  int written = 0;
  if (signature && r && s && ECDSA_SIG_set0(signature, r, s) == 1) {
    r = s = NULL; // owned by the signature now
    int needed = i2d_ECDSA_SIG(signature, NULL);
    if (needed > 0 && (size_t)needed <= capacity) written = i2d_ECDSA_SIG(signature, &der);
  }
  BN_free(r);
  BN_free(s);
  ECDSA_SIG_free(signature);
  return written < 0 ? 0 : written;
}

/// Returns a new RSA key with this many bits and exponent 65537.
static inline EVP_PKEY *copenssl_new_rsa_key(size_t bits) { return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits); }

/// Returns a new key on a curve, or NULL if libcrypto does not support it.
static inline EVP_PKEY *copenssl_new_ec_key(const char *curve) { return EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve); }

static inline EVP_PKEY *copenssl_new_ed25519_key(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }

/// Returns the key of a PKCS #8 `PrivateKeyInfo`, or NULL if it is malformed or followed by other
/// bytes.
static inline EVP_PKEY *copenssl_pkcs8_key(const unsigned char *der, size_t count) {
  const unsigned char *end = der;
  PKCS8_PRIV_KEY_INFO *info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &end, (long)count);
  EVP_PKEY *key = info && end == der + count ? EVP_PKCS82PKEY(info) : NULL;
  PKCS8_PRIV_KEY_INFO_free(info);
  return key;
}

/// Refuses a passphrase, because libcrypto would ask for it on the terminal.
static inline int copenssl_no_passphrase(char *buffer, int size, int is_writing, void *context) { return -1; }

/// Returns the first private key of a PEM text that needs no passphrase, or NULL.
static inline EVP_PKEY *copenssl_pem_key(const unsigned char *text, size_t count) {
  BIO *memory = BIO_new_mem_buf(text, (int)count);
  EVP_PKEY *key = memory ? PEM_read_bio_PrivateKey(memory, NULL, copenssl_no_passphrase, NULL) : NULL;
  BIO_free(memory);
  return key;
}

/// Returns the first certificate of a PEM text, or NULL.
static inline X509 *copenssl_pem_certificate(const unsigned char *text, size_t count) {
  BIO *memory = BIO_new_mem_buf(text, (int)count);
  X509 *certificate = memory ? PEM_read_bio_X509(memory, NULL, copenssl_no_passphrase, NULL) : NULL;
  BIO_free(memory);
  return certificate;
}

/// Writes a time of a certificate to `seconds`, since 1970. Returns 1, or 0 for a malformed time.
static inline int copenssl_unix_time(const ASN1_TIME *time, long long *seconds) {
  int days = 0, rest = 0;
  ASN1_TIME *start = ASN1_TIME_set(NULL, 0);
  int done = start && time && ASN1_TIME_diff(&days, &rest, start, time) == 1;
  ASN1_TIME_free(start);
  *seconds = days * 86400LL + rest;
  return done;
}

/// Writes the PKCS #8 form of a key to `der` unless that is NULL. Returns the number of bytes, or
/// 0.
static inline int copenssl_pkcs8_der(const EVP_PKEY *key, unsigned char *der) {
  PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
  int count = info ? i2d_PKCS8_PRIV_KEY_INFO(info, der ? &der : NULL) : 0;
  PKCS8_PRIV_KEY_INFO_free(info);
  return count < 0 ? 0 : count;
}

/// Writes a big-endian number of a key in `count` bytes or, with 0, in as many as it needs. Returns
/// the number of bytes, also if `output` is NULL, or 0.
static inline int copenssl_key_number(const EVP_PKEY *key, const char *name, unsigned char *output, size_t count) {
  BIGNUM *number = NULL;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return 0;
  int size = count ? (int)count : BN_num_bytes(number);
  int written = output ? BN_bn2binpad(number, output, size) : size;
  BN_clear_free(number);
  return written < 0 ? 0 : written;
}

/// Converts DER to `r || s` (RFC 7518 section 3.4), each with `half` bytes. Returns 1, or 0 on
/// failure.
static inline int copenssl_ecdsa_pair(const unsigned char *der, size_t count, unsigned char *pair, size_t half) {
  ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &der, (long)count);
  int done = signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), pair, (int)half) == (int)half &&
             BN_bn2binpad(ECDSA_SIG_get0_s(signature), pair + half, (int)half) == (int)half;
  ECDSA_SIG_free(signature);
  return done;
}
