#define _GNU_SOURCE
#include "CPostgres.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The declarations of libpq that are used here, as in its documentation.
typedef struct {
  char *keyword, *environment, *compiled, *value, *label, *dispchar;
  int dispsize;
} option;
typedef struct {
  char *name;
  int process;
  char *extra;
} notification;

enum { CONNECTION_OK = 0 };
enum { RESULT_COMMAND_OK = 1, RESULT_TUPLES_OK = 2 };
enum { FIELD_STATE = 'C', FIELD_MESSAGE = 'M' };

#define FUNCTIONS(X)                                                                              \
  X(option *, conninfoParse, (const char *, char **))                                             \
  X(option *, conninfo, (cpostgres_connection *))                                                 \
  X(void, conninfoFree, (option *))                                                               \
  X(void, freemem, (void *))                                                                      \
  X(int, libVersion, (void))                                                                      \
  X(cpostgres_connection *, connectdbParams, (const char *const *, const char *const *, int))     \
  X(int, status, (const cpostgres_connection *))                                                  \
  X(char *, errorMessage, (const cpostgres_connection *))                                         \
  X(int, sslInUse, (cpostgres_connection *))                                                      \
  X(int, backendPID, (const cpostgres_connection *))                                              \
  X(void, finish, (cpostgres_connection *))                                                       \
  X(int, socket, (const cpostgres_connection *))                                                  \
  X(void *, setNoticeProcessor, (cpostgres_connection *, void (*)(void *, const char *), void *))   \
  X(int, setnonblocking, (cpostgres_connection *, int))                                           \
  X(int, sendQuery, (cpostgres_connection *, const char *))                                       \
  X(int, sendQueryParams,                                                                         \
    (cpostgres_connection *, const char *, int, const uint32_t *, const char *const *, const int *, \
     const int *, int))                                                                           \
  X(int, flush, (cpostgres_connection *))                                                         \
  X(int, consumeInput, (cpostgres_connection *))                                                  \
  X(int, isBusy, (cpostgres_connection *))                                                        \
  X(cpostgres_result *, getResult, (cpostgres_connection *))                                      \
  X(notification *, notifies, (cpostgres_connection *))                                           \
  X(int, resultStatus, (const cpostgres_result *))                                                \
  X(char *, resultErrorField, (const cpostgres_result *, int))                                    \
  X(int, ntuples, (const cpostgres_result *))                                                     \
  X(int, nfields, (const cpostgres_result *))                                                     \
  X(char *, cmdTuples, (cpostgres_result *))                                                      \
  X(uint32_t, ftype, (const cpostgres_result *, int))                                             \
  X(int, fformat, (const cpostgres_result *, int))                                                \
  X(int, getisnull, (const cpostgres_result *, int, int))                                         \
  X(char *, getvalue, (const cpostgres_result *, int, int))                                       \
  X(int, getlength, (const cpostgres_result *, int, int))                                         \
  X(void, clear, (cpostgres_result *))

static struct {
#define MEMBER(result, name, parameters) result(*name) parameters;
  FUNCTIONS(MEMBER)
} table;

static cpostgres_state open_library(void) {
  // A fixed name, so that no external input reaches dlopen.
  void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return CPOSTGRES_MISSING;
#define LOAD(result, name, parameters)                                                            \
  *(void **)&table.name = dlsym(library, "PQ" #name);                                             \
  if (table.name == NULL) return CPOSTGRES_TOO_OLD;
  FUNCTIONS(LOAD)
  return table.libVersion() < 120000 ? CPOSTGRES_TOO_OLD : CPOSTGRES_READY;
}

cpostgres_state cpostgres_open(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static cpostgres_state state = CPOSTGRES_MISSING;
  pthread_mutex_lock(&mutex);
  // A library that is missing may be installed while the process runs.
  if (state == CPOSTGRES_MISSING) state = open_library();
  cpostgres_state found = state;
  pthread_mutex_unlock(&mutex);
  return found;
}

char *cpostgres_parse(const char *address, void *context,
                      void (*found)(void *, const char *, const char *)) {
  char *reason = NULL;
  option *options = table.conninfoParse(address, &reason);
  if (options == NULL) return reason != NULL ? reason : strdup("out of memory");
  for (option *each = options; each->keyword != NULL; each++)
    if (each->value != NULL) found(context, each->keyword, each->value);
  table.conninfoFree(options);
  return NULL;
}

void cpostgres_free(void *memory) { table.freemem(memory); }

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// Returns whether one of the events has happened before the end of the time.
static int wait_for(int socket, short events, int64_t end) {
  struct pollfd polled = {socket, events, 0};
  for (;;) {
    int64_t left = end < 0 ? -1 : end - now();
    if (end >= 0 && left < 0) left = 0;
    int count = poll(&polled, 1, (int)left);
    if (count > 0) return 1;
    if (count == 0 || errno != EINTR) return 0;
  }
}

static void ignore(void *context, const char *notice) {
  (void)context;
  (void)notice;
}

cpostgres_connection *cpostgres_connect(const char *const *keywords, const char *const *values) {
  cpostgres_connection *connection = table.connectdbParams(keywords, values, 1);
  if (connection == NULL) return NULL;
  // libpq would write notices of the server to standard error.
  table.setNoticeProcessor(connection, ignore, NULL);
  if (table.status(connection) == CONNECTION_OK) table.setnonblocking(connection, 1);
  return connection;
}

int cpostgres_is_open(const cpostgres_connection *connection) {
  return table.status(connection) == CONNECTION_OK;
}

const char *cpostgres_message(const cpostgres_connection *connection) {
  return table.errorMessage(connection);
}

int cpostgres_count_hosts(cpostgres_connection *connection) {
  option *options = table.conninfo(connection);
  int count = 1;
  for (option *each = options; each != NULL && each->keyword != NULL; each++) {
    if (strcmp(each->keyword, "host") != 0 && strcmp(each->keyword, "hostaddr") != 0) continue;
    int found = 1;
    for (const char *byte = each->value; byte != NULL && *byte != 0; byte++) found += *byte == ',';
    if (found > count) count = found;
  }
  table.conninfoFree(options);
  return count;
}

cpostgres_refusal_kind cpostgres_refusal(const char *message) {
  static const struct {
    const char *first, *second;
    cpostgres_refusal_kind kind;
  } known[] = {
      {"session is read-only", "", CPOSTGRES_READ_ONLY},
      {"hot standby mode", "", CPOSTGRES_READ_ONLY},
      {"database \"", "does not exist", CPOSTGRES_NO_DATABASE},
      {"role \"", "does not exist", CPOSTGRES_NOT_ALLOWED},
      {"authentication failed", "", CPOSTGRES_NOT_ALLOWED},
      {"no password supplied", "", CPOSTGRES_NOT_ALLOWED},
      {"permission denied", "", CPOSTGRES_NOT_ALLOWED},
      {"no pg_hba.conf entry", "", CPOSTGRES_NOT_ALLOWED},
      {"pg_hba.conf rejects", "", CPOSTGRES_NOT_ALLOWED},
      {"not permitted to log in", "", CPOSTGRES_NOT_ALLOWED},
      {"valid client certificate", "", CPOSTGRES_NOT_ALLOWED},
  };
  for (size_t index = 0; index < sizeof known / sizeof known[0]; index++)
    if (strstr(message, known[index].first) != NULL && strstr(message, known[index].second) != NULL)
      return known[index].kind;
  return CPOSTGRES_UNREACHABLE;
}

int cpostgres_uses_tls(cpostgres_connection *connection) { return table.sslInUse(connection); }

int cpostgres_backend_number(const cpostgres_connection *connection) {
  return table.backendPID(connection);
}

void cpostgres_close(cpostgres_connection *connection) { table.finish(connection); }

/// Writes everything. Returns 0 if the connection is lost or the time is over.
static int written(cpostgres_connection *connection, int64_t end) {
  for (;;) {
    int left = table.flush(connection);
    if (left <= 0) return left == 0;
    // The server may wait until its answer is read.
    if (!wait_for(table.socket(connection), POLLIN | POLLOUT, end)) return 0;
    if (!table.consumeInput(connection)) return 0;
  }
}

/// Reads every result of a query, and returns the last one with columns, or the first error.
static cpostgres_result *result(cpostgres_connection *connection, int64_t end) {
  if (!written(connection, end)) return NULL;
  cpostgres_result *kept = NULL;
  for (;;) {
    while (table.isBusy(connection)) {
      if (!wait_for(table.socket(connection), POLLIN, end) || !table.consumeInput(connection)) {
        table.clear(kept);
        return NULL;
      }
    }
    cpostgres_result *next = table.getResult(connection);
    if (next == NULL) break;
    if (kept == NULL || (cpostgres_is_success(kept) &&
                         (!cpostgres_is_success(next) || table.nfields(next) > 0))) {
      table.clear(kept);
      kept = next;
    } else {
      table.clear(next);
    }
  }
  // After a lost connection libpq makes a result of its own.
  if (table.status(connection) == CONNECTION_OK) return kept;
  table.clear(kept);
  return NULL;
}

/// Waits for the end of a statement that was sent without waiting.
static int drained(cpostgres_connection *connection, int64_t end) {
  table.clear(result(connection, end));
  return table.status(connection) == CONNECTION_OK && !table.isBusy(connection);
}

int cpostgres_send(cpostgres_connection *connection, const char *sql, int milliseconds) {
  return drained(connection, now() + milliseconds) && table.sendQuery(connection, sql) &&
         table.flush(connection) >= 0;
}

cpostgres_result *cpostgres_run(cpostgres_connection *connection, const char *sql, int milliseconds) {
  int64_t end = now() + milliseconds;
  if (!drained(connection, end) || !table.sendQuery(connection, sql)) return NULL;
  return result(connection, end);
}

cpostgres_result *cpostgres_query(cpostgres_connection *connection, const char *sql, int count,
                                  const uint32_t *types, const uint8_t *bytes, const int *lengths,
                                  int milliseconds) {
  int64_t end = now() + milliseconds;
  if (!drained(connection, end)) return NULL;
  const char *values[count + 1];
  int formats[count + 1], sizes[count + 1];
  for (int index = 0; index < count; index++) {
    values[index] = lengths[index] < 0 ? NULL : (const char *)bytes;
    formats[index] = 1;
    sizes[index] = lengths[index] < 0 ? 0 : lengths[index];
    bytes += sizes[index];
  }
  if (!table.sendQueryParams(connection, sql, count, types, values, sizes, formats, 1)) return NULL;
  return result(connection, end);
}

int cpostgres_is_success(const cpostgres_result *result) {
  int status = table.resultStatus(result);
  return status == RESULT_COMMAND_OK || status == RESULT_TUPLES_OK;
}

const char *cpostgres_error_state(const cpostgres_result *result) {
  return table.resultErrorField(result, FIELD_STATE);
}

const char *cpostgres_error_text(const cpostgres_result *result) {
  return table.resultErrorField(result, FIELD_MESSAGE);
}

int cpostgres_count_rows(const cpostgres_result *result) { return table.ntuples(result); }

int cpostgres_count_columns(const cpostgres_result *result) { return table.nfields(result); }

int64_t cpostgres_count_changes(cpostgres_result *result) { return atoll(table.cmdTuples(result)); }

uint32_t cpostgres_type(const cpostgres_result *result, int column) {
  return table.ftype(result, column);
}

int cpostgres_is_binary(const cpostgres_result *result, int column) {
  return table.fformat(result, column);
}

int cpostgres_is_null(const cpostgres_result *result, int row, int column) {
  return table.getisnull(result, row, column);
}

const char *cpostgres_value(const cpostgres_result *result, int row, int column) {
  return table.getvalue(result, row, column);
}

int cpostgres_length(const cpostgres_result *result, int row, int column) {
  return table.getlength(result, row, column);
}

void cpostgres_clear(cpostgres_result *result) { table.clear(result); }

int cpostgres_wait(cpostgres_connection *connection, int milliseconds) {
  int64_t end = milliseconds < 0 ? -1 : now() + milliseconds;
  if (!wait_for(table.socket(connection), POLLIN, end)) return 0;
  // The end of the connection may follow the server's last message.
  do {
    if (!table.consumeInput(connection) || table.status(connection) != CONNECTION_OK) return -1;
  } while (wait_for(table.socket(connection), POLLIN, now()));
  return 1;
}

char *cpostgres_notification(cpostgres_connection *connection) {
  notification *found = table.notifies(connection);
  if (found == NULL) return NULL;
  char *extra = strdup(found->extra);
  table.freemem(found);
  return extra;
}
