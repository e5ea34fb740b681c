// The requests of one reverse-auth flow with libcurl alone, one after the other on a kept
// connection: the cost of a flow outside einlass's code. `bareflow PORT COUNT` prints the seconds
// for COUNT flows, `bareflow PORT COUNT token` for COUNT token requests.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static size_t drop(char *bytes, size_t size, size_t count, void *context) {
  (void)bytes, (void)context;
  return size * count;
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) return 64;
  int steps = argc == 4 ? 1 : 3;
  char urls[3][128];
  const char *paths[] = {"oauth/request_token", "oauth/access_token", "1.1/account/verify_credentials.json"};
  const char *forms[] = {"x_auth_mode=reverse_auth",
                         "x_reverse_auth_parameters=OAuth%20oauth_nonce%3D&x_reverse_auth_target=application", NULL};
  if (argc == 4) {
    paths[0] = "token";
    forms[0] = "grant_type=refresh_token&refresh_token=fedcba9876543210fedcba9876543210&client_id=application";
  }
  for (int i = 0; i < 3; i++) snprintf(urls[i], sizeof urls[i], "http://127.0.0.1:%s/%s", argv[1], paths[i]);
  struct curl_slist *headers = curl_slist_append(
      NULL, "Authorization: OAuth oauth_consumer_key=\"application\", oauth_nonce=\"0123456789abcdef\", "
            "oauth_signature=\"c2lnbmF0dXJlc2lnbmF0dXJl\", oauth_signature_method=\"HMAC-SHA1\", "
            "oauth_timestamp=\"1763712345\", oauth_token=\"token\", oauth_version=\"1.0\"");
  CURL *curl = curl_easy_init();
  struct timespec from, to;
  for (long i = -1; i < atol(argv[2]); i++) {
    for (int step = 0; step < steps; step++) {
      curl_easy_reset(curl);
      curl_easy_setopt(curl, CURLOPT_URL, urls[step]);
      curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
      if (forms[step]) curl_easy_setopt(curl, CURLOPT_POSTFIELDS, forms[step]);
      curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
      if (curl_easy_perform(curl)) return 1;
    }
    if (i < 0) clock_gettime(CLOCK_MONOTONIC, &from);
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("%.9f\n", to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9);
  return 0;
}
