#define _GNU_SOURCE
#include "COpenSSL.h"

#include "CSystem.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static struct copenssl_functions functions;

static void fail(const char *why) {
  fprintf(stderr, "einlass: libcrypto of OpenSSL 3 can't be loaded: %s.\n", why);
  _exit(78);
}

static int is_short_of_descriptors(void) {
  int descriptor = csystem_event_open();
  if (descriptor >= 0) close(descriptor);
  return descriptor < 0;
}

// Opened at the first secret, because its 4 000 relocations were a quarter of a start.
static void open_library(void) {
  // A fixed name, so that no external input reaches dlopen.
  void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  for (int tries = 0; library == NULL && tries < 20 && is_short_of_descriptors(); tries++) {
    usleep(50000);
    library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL) fail(is_short_of_descriptors() ? "too many files are open" : dlerror());
#define LOAD(name)                                                                                \
  *(void **)&functions.name = dlsym(library, #name);                                              \
  if (functions.name == NULL) fail("it has no function " #name);
  COPENSSL_FUNCTIONS(LOAD)
  // Without this flag libcrypto frees its tables in `exit`, even if another thread is still in a transfer.
  if (functions.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) != 1) fail("it does not start");
}

const struct copenssl_functions *copenssl(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  return &functions;
}

int copenssl_mac_set_digest(EVP_MAC_CTX *context, const char *name) {
  OSSL_PARAM parameters[] = {
      copenssl()->OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)name, 0),
      copenssl()->OSSL_PARAM_construct_end(),
  };
  return copenssl()->EVP_MAC_CTX_set_params(context, parameters);
}

EVP_PKEY *copenssl_rsa_key(const unsigned char *n, size_t n_count, const unsigned char *e, size_t e_count) {
  EVP_PKEY *key = NULL;
  BIGNUM *modulus = copenssl()->BN_bin2bn(n, (int)n_count, NULL), *exponent = copenssl()->BN_bin2bn(e, (int)e_count, NULL);
  OSSL_PARAM_BLD *builder = copenssl()->OSSL_PARAM_BLD_new();
  OSSL_PARAM *parameters = NULL;
  EVP_PKEY_CTX *context = copenssl()->EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
  if (modulus && exponent && builder && context &&
      copenssl()->OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
      copenssl()->OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1 &&
      (parameters = copenssl()->OSSL_PARAM_BLD_to_param(builder)) && copenssl()->EVP_PKEY_fromdata_init(context) == 1)
    copenssl()->EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
  copenssl()->EVP_PKEY_CTX_free(context);
  copenssl()->OSSL_PARAM_free(parameters);
  copenssl()->OSSL_PARAM_BLD_free(builder);
  copenssl()->BN_free(modulus);
  copenssl()->BN_free(exponent);
  return key;
}

EVP_PKEY *copenssl_ec_key(const char *curve, const unsigned char *point, size_t count) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = copenssl()->EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  OSSL_PARAM parameters[] = {
      copenssl()->OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)curve, 0),
      copenssl()->OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, count),
      copenssl()->OSSL_PARAM_construct_end(),
  };
  if (context && copenssl()->EVP_PKEY_fromdata_init(context) == 1)
    copenssl()->EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
  copenssl()->EVP_PKEY_CTX_free(context);
  return key;
}

int copenssl_ecdsa_der(const unsigned char *pair, size_t count, unsigned char *der, size_t capacity) {
  ECDSA_SIG *signature = copenssl()->ECDSA_SIG_new();
  BIGNUM *r = copenssl()->BN_bin2bn(pair, (int)(count / 2), NULL), *s = copenssl()->BN_bin2bn(pair + count / 2, (int)(count / 2), NULL);
  int written = 0;
  if (signature && r && s && copenssl()->ECDSA_SIG_set0(signature, r, s) == 1) {
    r = s = NULL; // owned by the signature now
    int needed = copenssl()->i2d_ECDSA_SIG(signature, NULL);
    if (needed > 0 && (size_t)needed <= capacity) written = copenssl()->i2d_ECDSA_SIG(signature, &der);
  }
  copenssl()->BN_free(r);
  copenssl()->BN_free(s);
  copenssl()->ECDSA_SIG_free(signature);
  return written < 0 ? 0 : written;
}

EVP_PKEY *copenssl_new_rsa_key(size_t bits) { return copenssl()->EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits); }

EVP_PKEY *copenssl_new_ec_key(const char *curve) { return copenssl()->EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve); }

EVP_PKEY *copenssl_new_ed25519_key(void) { return copenssl()->EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }

EVP_PKEY *copenssl_pkcs8_key(const unsigned char *der, size_t count) {
  const unsigned char *end = der;
  PKCS8_PRIV_KEY_INFO *info = copenssl()->d2i_PKCS8_PRIV_KEY_INFO(NULL, &end, (long)count);
  EVP_PKEY *key = info && end == der + count ? copenssl()->EVP_PKCS82PKEY(info) : NULL;
  copenssl()->PKCS8_PRIV_KEY_INFO_free(info);
  return key;
}

// Refuses a passphrase, because libcrypto would ask for it on the terminal.
static int copenssl_no_passphrase(char *buffer, int size, int is_writing, void *context) { return -1; }

EVP_PKEY *copenssl_pem_key(const unsigned char *text, size_t count) {
  BIO *memory = copenssl()->BIO_new_mem_buf(text, (int)count);
  EVP_PKEY *key = memory ? copenssl()->PEM_read_bio_PrivateKey(memory, NULL, copenssl_no_passphrase, NULL) : NULL;
  copenssl()->BIO_free(memory);
  return key;
}

X509 *copenssl_pem_certificate(const unsigned char *text, size_t count) {
  BIO *memory = copenssl()->BIO_new_mem_buf(text, (int)count);
  X509 *certificate = memory ? copenssl()->PEM_read_bio_X509(memory, NULL, copenssl_no_passphrase, NULL) : NULL;
  copenssl()->BIO_free(memory);
  return certificate;
}

int copenssl_unix_time(const ASN1_TIME *time, long long *seconds) {
  int days = 0, rest = 0;
  ASN1_TIME *start = copenssl()->ASN1_TIME_set(NULL, 0);
  int done = start && time && copenssl()->ASN1_TIME_diff(&days, &rest, start, time) == 1;
  copenssl()->ASN1_TIME_free(start);
  *seconds = days * 86400LL + rest;
  return done;
}

int copenssl_pkcs8_der(const EVP_PKEY *key, unsigned char *der) {
  PKCS8_PRIV_KEY_INFO *info = copenssl()->EVP_PKEY2PKCS8(key);
  int count = info ? copenssl()->i2d_PKCS8_PRIV_KEY_INFO(info, der ? &der : NULL) : 0;
  copenssl()->PKCS8_PRIV_KEY_INFO_free(info);
  return count < 0 ? 0 : count;
}

int copenssl_key_number(const EVP_PKEY *key, const char *name, unsigned char *output, size_t count) {
  BIGNUM *number = NULL;
  if (copenssl()->EVP_PKEY_get_bn_param(key, name, &number) != 1) return 0;
  int size = count ? (int)count : (copenssl()->BN_num_bits(number) + 7) / 8;
  int written = output ? copenssl()->BN_bn2binpad(number, output, size) : size;
  copenssl()->BN_clear_free(number);
  return written < 0 ? 0 : written;
}

int copenssl_ecdsa_pair(const unsigned char *der, size_t count, unsigned char *pair, size_t half) {
  ECDSA_SIG *signature = copenssl()->d2i_ECDSA_SIG(NULL, &der, (long)count);
  int done = signature && copenssl()->BN_bn2binpad(copenssl()->ECDSA_SIG_get0_r(signature), pair, (int)half) == (int)half &&
             copenssl()->BN_bn2binpad(copenssl()->ECDSA_SIG_get0_s(signature), pair + half, (int)half) == (int)half;
  copenssl()->ECDSA_SIG_free(signature);
  return done;
}
