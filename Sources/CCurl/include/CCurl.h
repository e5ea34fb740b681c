// libcurl without linking it: a table of its functions, filled by dlopen and dlsym on first use.
//
// Merely linking libcurl's 31 libraries costs 4 ms and 6 MB at every start. <curl/curl.h> is here for its
// types and constants alone. Call nothing but ccurl_open before ccurl_open has said CCURL_READY.
#pragma once

#include <curl/curl.h>
#include <stddef.h>

typedef enum {
  CCURL_READY,
  /// libcurl.so.4 is not installed.
  CCURL_MISSING,
  /// It lacks a function that einlass needs: older than 7.87.
  CCURL_TOO_OLD,
  /// It is there, but would not start.
  CCURL_BROKEN,
  /// The process may open no more files.
  CCURL_NO_DESCRIPTOR,
} ccurl_state;

/// Opens libcurl.so.4 once in the life of the process and says how that went; again after CCURL_NO_DESCRIPTOR. From any
/// thread.
ccurl_state ccurl_open(void);
/// CCURL_NO_DESCRIPTOR where the process may open no more files, else CCURL_BROKEN: why libcurl failed just now.
ccurl_state ccurl_shortage(void);

CURL *ccurl_easy_init(void);
void ccurl_easy_cleanup(CURL *easy);
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
/// libcurl copies the text.
CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value);
/// The pointer must outlive the transfer.
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value);
CURLcode ccurl_set_callback(CURL *easy, CURLoption option, curl_write_callback value);
/// 0 when libcurl can't tell.
long ccurl_get_long(CURL *easy, CURLINFO info);
/// 0 when libcurl can't tell.
curl_off_t ccurl_get_size(CURL *easy, CURLINFO info);

struct curl_slist *ccurl_list_append(struct curl_slist *list, const char *text);
void ccurl_list_free(struct curl_slist *list);

CURLM *ccurl_multi_init(void);
void ccurl_multi_cleanup(CURLM *multi);
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_add(CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_remove(CURLM *multi, CURL *easy);
/// Does what can be done without waiting.
CURLMcode ccurl_multi_perform(CURLM *multi);
/// The next transfer that ended and how, or NULL.
CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result);
/// Waits for sockets, libcurl's own timers, a wake-up or the time given.
CURLMcode ccurl_multi_poll(CURLM *multi, int milliseconds);
/// The one function of a multi handle that other threads may call.
CURLMcode ccurl_multi_wakeup(CURLM *multi);

CURLU *ccurl_url_init(void);
void ccurl_url_cleanup(CURLU *url);
CURLUcode ccurl_url_set(CURLU *url, CURLUPart part, const char *value, unsigned int flags);
/// NULL for a part that is not there; free with ccurl_free.
char *ccurl_url_get(CURLU *url, CURLUPart part);
void ccurl_free(void *memory);
