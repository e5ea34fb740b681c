#define _GNU_SOURCE
// The older options are those of an older libcurl.
#define CURL_DISABLE_DEPRECATION
#include "CCurl.h"

#include "CSystem.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// curl.h wraps some functions in type-checking macros. The table needs the functions themselves.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define FUNCTIONS(X)                                                                              \
  X(easy_init) X(easy_cleanup) X(easy_setopt) X(easy_getinfo) X(slist_append) X(slist_free_all)   \
  X(multi_init) X(multi_cleanup) X(multi_setopt) X(multi_add_handle) X(multi_remove_handle)       \
  X(multi_perform) X(multi_info_read) X(multi_poll) X(multi_timeout) X(multi_wakeup)              \
  X(url) X(url_cleanup) X(url_set) X(url_get) X(free) X(global_init) X(version_info)

static struct {
#define MEMBER(name) __typeof__(&curl_##name) name;
  FUNCTIONS(MEMBER)
} table;

static ccurl_state state = CCURL_NO_DESCRIPTOR;
static unsigned version;

ccurl_state ccurl_shortage(void) {
  // libcurl first opens a pair of descriptors to wake itself, so check whether a pair can be
  // opened.
  int pair[2];
  int error = csystem_pipe_open(pair);
  if (error != 0) return error == EMFILE || error == ENFILE ? CCURL_NO_DESCRIPTOR : CCURL_BROKEN;
  close(pair[0]);
  close(pair[1]);
  return CCURL_BROKEN;
}

static void open_library(void) {
  // A fixed name, so that no external input reaches dlopen.
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    state = ccurl_shortage() == CCURL_NO_DESCRIPTOR ? CCURL_NO_DESCRIPTOR : CCURL_MISSING;
    return;
  }
#define LOAD(name)                                                                                \
  *(void **)&table.name = dlsym(library, "curl_" #name);                                          \
  if (table.name == NULL) {                                                                       \
    state = CCURL_TOO_OLD;                                                                        \
    return;                                                                                       \
  }
  FUNCTIONS(LOAD)
  version = table.version_info(CURLVERSION_NOW)->version_num;
  if (version < 0x074a00) {
    state = CCURL_TOO_OLD;
    return;
  }
  // libcurl would write the keys of every TLS session to the file that this variable names.
  if (getenv("SSLKEYLOGFILE") != NULL) unsetenv("SSLKEYLOGFILE");
  state = table.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? CCURL_READY : CCURL_BROKEN;
}

ccurl_state ccurl_open(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  if (state == CCURL_NO_DESCRIPTOR) open_library();
  ccurl_state found = state;
  pthread_mutex_unlock(&mutex);
  return found;
}

CURL *ccurl_easy_init(void) {
  CURL *easy = table.easy_init();
  // Before 7.77 a proxy could resume another server's session (CVE-2021-22890, CVE-2021-22901).
  if (easy != NULL && version < 0x074d00) table.easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
  return easy;
}
void ccurl_easy_cleanup(CURL *easy) { table.easy_cleanup(easy); }

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  // An older libcurl waits for the look-up of a name, and keeps a busy connection longer.
  if (option == CURLOPT_QUICK_EXIT && version < 0x075700) return CURLE_OK;
  if (option == CURLOPT_MAXLIFETIME_CONN && version < 0x075000) return CURLE_OK;
  return table.easy_setopt(easy, option, value);
}

CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
  return table.easy_setopt(easy, option, value);
}

CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
  int redirected = option == CURLOPT_REDIR_PROTOCOLS_STR;
  if ((redirected || option == CURLOPT_PROTOCOLS_STR) && version < 0x075500) {
    long protocol = strcmp(value, "https") == 0 ? CURLPROTO_HTTPS : strcmp(value, "http") == 0 ? CURLPROTO_HTTP : 0;
    return table.easy_setopt(easy, redirected ? CURLOPT_REDIR_PROTOCOLS : CURLOPT_PROTOCOLS, protocol);
  }
  return table.easy_setopt(easy, option, value);
}

CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  if (option == CURLOPT_PREREQDATA && version < 0x075000) return CURLE_OK;
  return table.easy_setopt(easy, option, value);
}

CURLcode ccurl_set_bytes(CURL *easy, CURLoption option, const void *bytes, size_t count, int copies) {
  struct curl_blob blob = {(void *)bytes, count, copies ? CURL_BLOB_COPY : CURL_BLOB_NOCOPY};
  return table.easy_setopt(easy, option, &blob);
}

CURLcode ccurl_set_callback(CURL *easy, CURLoption option, curl_write_callback value) {
  return table.easy_setopt(easy, option, value);
}

CURLcode ccurl_set_opening(CURL *easy, curl_opensocket_callback value) {
  return table.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

CURLcode ccurl_set_beginning(CURL *easy, curl_prereq_callback value) {
  // An older libcurl does not ask before it uses a connection again, so it opens a new one, for which it asks.
  if (version < 0x075000) return table.easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  return table.easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

size_t ccurl_address_bytes(const struct curl_sockaddr *address, unsigned char bytes[16]) {
  if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
    memcpy(bytes, &((const struct sockaddr_in *)&address->addr)->sin_addr, 4);
    return 4;
  }
  // The structure of libcurl has room for longer addresses than its member says.
  if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
    memcpy(bytes, (const char *)&address->addr + offsetof(struct sockaddr_in6, sin6_addr), 16);
    return 16;
  }
  return 0;
}

size_t ccurl_text_address(const char *text, unsigned char bytes[16]) {
  return inet_pton(AF_INET, text, bytes) == 1 ? 4 : inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

curl_socket_t ccurl_socket(const struct curl_sockaddr *address) {
  int descriptor = csystem_socket_open(address->family, address->socktype, address->protocol);
  return descriptor < 0 ? CURL_SOCKET_BAD : descriptor;
}

long ccurl_get_long(CURL *easy, CURLINFO info) {
  long value = 0;
  return table.easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

curl_off_t ccurl_get_size(CURL *easy, CURLINFO info) {
  curl_off_t value = 0;
  return table.easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

const char *ccurl_get_text(CURL *easy, CURLINFO info) {
  const char *value = NULL;
  return table.easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

struct curl_slist *ccurl_get_list(CURL *easy, CURLINFO info) {
  struct curl_slist *value = NULL;
  return table.easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

struct curl_slist *ccurl_get_certificate(CURL *easy) {
  struct curl_certinfo *chain = NULL;
  if (table.easy_getinfo(easy, CURLINFO_CERTINFO, &chain) != CURLE_OK || chain == NULL || chain->num_of_certs < 1)
    return NULL;
  return chain->certinfo[0];
}

struct curl_slist *ccurl_list_append(struct curl_slist *list, const char *text) {
  return table.slist_append(list, text);
}

void ccurl_list_free(struct curl_slist *list) { table.slist_free_all(list); }

CURLM *ccurl_multi_init(void) { return table.multi_init(); }
void ccurl_multi_cleanup(CURLM *multi) { table.multi_cleanup(multi); }

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return table.multi_setopt(multi, option, value);
}

CURLMcode ccurl_multi_add(CURLM *multi, CURL *easy) { return table.multi_add_handle(multi, easy); }

CURLMcode ccurl_multi_remove(CURLM *multi, CURL *easy) {
  return table.multi_remove_handle(multi, easy);
}

CURLMcode ccurl_multi_perform(CURLM *multi) {
  int running;
  return table.multi_perform(multi, &running);
}

CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result) {
  int left;
  CURLMsg *message;
  while ((message = table.multi_info_read(multi, &left)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

CURLMcode ccurl_multi_poll(CURLM *multi, int milliseconds) {
  return table.multi_poll(multi, NULL, 0, milliseconds, NULL);
}

long ccurl_multi_timeout(CURLM *multi) {
  long milliseconds = -1;
  return table.multi_timeout(multi, &milliseconds) == CURLM_OK ? milliseconds : -1;
}

CURLMcode ccurl_multi_wakeup(CURLM *multi) { return table.multi_wakeup(multi); }

CURLU *ccurl_url_init(void) { return table.url(); }
void ccurl_url_cleanup(CURLU *url) { table.url_cleanup(url); }

CURLUcode ccurl_url_set(CURLU *url, CURLUPart part, const char *value, unsigned int flags) {
  return table.url_set(url, part, value, flags);
}

char *ccurl_url_get(CURLU *url, CURLUPart part) {
  char *value = NULL;
  return table.url_get(url, part, &value, 0) == CURLUE_OK ? value : NULL;
}

void ccurl_free(void *memory) { table.free(memory); }
