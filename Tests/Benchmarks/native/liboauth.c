// Signatures with liboauth: `liboauth COUNT` prints the seconds for COUNT signed requests.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <oauth.h>

int main(int argc, char **argv) {
  if (argc != 2) return 64;
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (long i = 0; i < atol(argv[1]); i++) {
    char *signed_url = oauth_sign_url2("https://api.example.org/1.1/statuses/update.json?status=hello%20world", NULL,
                                       OA_HMAC, "POST", "application", "applicationsecret", "1001-token", "tokensecret");
    free(signed_url);
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("%.9f\n", to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9);
  return 0;
}
