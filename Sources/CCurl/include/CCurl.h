// libcurl without linking it: a table of its functions, filled by dlopen and dlsym on first use.
//
// Linking libcurl and its 31 libraries costs 4 ms and 6 MB at every start. <curl/curl.h> is only
// included for its types and constants. All other functions require that ccurl_open has returned
// CCURL_READY, except ccurl_shortage.
#pragma once

#include <curl/curl.h>
#include <stddef.h>

typedef enum {
  CCURL_READY,
  /// libcurl.so.4 is not installed.
  CCURL_MISSING,
  /// libcurl is older than 7.74 or lacks a function that einlass needs.
  CCURL_TOO_OLD,
  /// libcurl is installed but failed to initialize.
  CCURL_BROKEN,
  /// The process or the system has reached its limit on open files.
  CCURL_NO_DESCRIPTOR,
} ccurl_state;

/// Loads libcurl.so.4 once per process and returns the result. Tries again after
/// CCURL_NO_DESCRIPTOR. Thread-safe.
ccurl_state ccurl_open(void);
/// Returns CCURL_NO_DESCRIPTOR if no more files can be opened, else CCURL_BROKEN. Called after
/// libcurl failed.
ccurl_state ccurl_shortage(void);

CURL *ccurl_easy_init(void);
void ccurl_easy_cleanup(CURL *easy);
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
/// libcurl copies the text.
CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value);
/// The pointer must outlive the transfer.
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value);
/// Without `copies`, the bytes must outlive the transfer.
CURLcode ccurl_set_bytes(CURL *easy, CURLoption option, const void *bytes, size_t count, int copies);
CURLcode ccurl_set_callback(CURL *easy, CURLoption option, curl_write_callback value);
/// The callback gets the pointer of CURLOPT_OPENSOCKETDATA.
CURLcode ccurl_set_opening(CURL *easy, curl_opensocket_callback value);
/// The callback gets the pointer of CURLOPT_PREREQDATA, and the address of the connection as text. A
/// libcurl older than 7.80 opens a connection of its own instead.
CURLcode ccurl_set_beginning(CURL *easy, curl_prereq_callback value);
/// Returns the number of bytes of an IPv4 or IPv6 address, and writes them in network order; 0 for
/// any other address.
size_t ccurl_address_bytes(const struct curl_sockaddr *address, unsigned char bytes[16]);
/// The same for an address as text.
size_t ccurl_text_address(const char *text, unsigned char bytes[16]);
/// Returns a socket for the address as libcurl itself opens it, or CURL_SOCKET_BAD.
curl_socket_t ccurl_socket(const struct curl_sockaddr *address);
/// Returns 0 if libcurl does not know the value.
long ccurl_get_long(CURL *easy, CURLINFO info);
/// Returns 0 if libcurl does not know the value.
curl_off_t ccurl_get_size(CURL *easy, CURLINFO info);
/// Returns NULL if libcurl does not know the value. The text lives as long as the handle.
const char *ccurl_get_text(CURL *easy, CURLINFO info);

// A list that the caller frees; NULL for an empty one.
struct curl_slist *ccurl_get_list(CURL *easy, CURLINFO info);
/// Returns the lines about the server's own certificate, which libcurl keeps; NULL for none.
struct curl_slist *ccurl_get_certificate(CURL *easy);
struct curl_slist *ccurl_list_append(struct curl_slist *list, const char *text);
void ccurl_list_free(struct curl_slist *list);

CURLM *ccurl_multi_init(void);
void ccurl_multi_cleanup(CURLM *multi);
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_add(CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_remove(CURLM *multi, CURL *easy);
/// Does all work that does not wait.
CURLMcode ccurl_multi_perform(CURLM *multi);
/// Returns the next finished transfer and its result, or NULL.
CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result);
/// Waits for sockets, libcurl's own timers, a wake-up or this time limit.
CURLMcode ccurl_multi_poll(CURLM *multi, int milliseconds);
/// The only function of a multi handle that other threads may call.
// The milliseconds until the next timer of a transfer; -1 without one.
long ccurl_multi_timeout(CURLM *multi);
CURLMcode ccurl_multi_wakeup(CURLM *multi);

CURLU *ccurl_url_init(void);
void ccurl_url_cleanup(CURLU *url);
CURLUcode ccurl_url_set(CURLU *url, CURLUPart part, const char *value, unsigned int flags);
/// Returns NULL for a missing part. The caller frees the text with ccurl_free.
char *ccurl_url_get(CURLU *url, CURLUPart part);
void ccurl_free(void *memory);
