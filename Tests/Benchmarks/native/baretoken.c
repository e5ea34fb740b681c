// The signature check of an id_token with libcrypto alone, without any parsing. `baretoken COUNT
// PEM TEXT SIGNATURE` takes the signature in hexadecimal (DER for an elliptic curve) and prints the
// seconds.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv) {
  if (argc != 5) return 64;
  BIO *pem = BIO_new_mem_buf(argv[2], -1);
  EVP_PKEY *key = PEM_read_bio_PUBKEY(pem, NULL, NULL, NULL);
  long size;
  unsigned char *signature = OPENSSL_hexstr2buf(argv[4], &size);
  if (!key || !signature) return 65;
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (long i = atol(argv[1]); i > 0; i--) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (EVP_DigestVerifyInit_ex(context, NULL, "SHA256", NULL, NULL, key, NULL) != 1) return 1;
    if (EVP_DigestVerify(context, signature, size, (unsigned char *)argv[3], strlen(argv[3])) != 1) return 1;
    EVP_MD_CTX_free(context);
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("%.9f\n", to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9);
  return 0;
}
