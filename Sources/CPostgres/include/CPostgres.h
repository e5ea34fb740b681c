// libpq without linking it: a table of its functions, filled by dlopen and dlsym on first use, so
// that only a store in PostgreSQL pays for the library. The few types and constants are declared
// here, so that a build needs no header of libpq.
//
// All functions except cpostgres_open require that it has returned CPOSTGRES_READY. A connection is
// used by one thread at a time. Every other wait ends after the given number of
// milliseconds.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum {
  CPOSTGRES_READY,
  /// libpq.so.5 is not installed.
  CPOSTGRES_MISSING,
  /// libpq is older than 12 or lacks a function that einlass needs.
  CPOSTGRES_TOO_OLD,
} cpostgres_state;

typedef struct pg_conn cpostgres_connection;
typedef struct pg_result cpostgres_result;

/// Loads libpq.so.5 once per process and returns the result. Thread-safe.
cpostgres_state cpostgres_open(void);

/// Reads an address and calls `found` with each keyword that it sets. Returns NULL, or the reason
/// for a refusal, which the caller frees with cpostgres_free.
char *cpostgres_parse(const char *address, void *context,
                      void (*found)(void *context, const char *keyword, const char *value));
void cpostgres_free(void *memory);

/// Connects with these keywords and values, each ended by NULL; an earlier address may stand in
/// `dbname`. Waits for each host as long as connect_timeout says. Returns NULL only without memory.
/// cpostgres_is_open tells whether it succeeded.
cpostgres_connection *cpostgres_connect(const char *const *keywords, const char *const *values);
int cpostgres_is_open(const cpostgres_connection *connection);
/// Returns libpq's sentence about the last failure.
const char *cpostgres_message(const cpostgres_connection *connection);
typedef enum {
  CPOSTGRES_UNREACHABLE,
  /// The server accepts no changes.
  CPOSTGRES_READ_ONLY,
  /// The server refuses the user.
  CPOSTGRES_NOT_ALLOWED,
  CPOSTGRES_NO_DATABASE,
} cpostgres_refusal_kind;
/// Returns the reason for a connection that was not made, as far as this line of libpq's sentence
/// tells it in English: there is no SQLSTATE of it.
cpostgres_refusal_kind cpostgres_refusal(const char *line);
/// Returns the number of hosts that the address names.
int cpostgres_count_hosts(cpostgres_connection *connection);
/// Returns whether the connection is encrypted by TLS.
int cpostgres_uses_tls(cpostgres_connection *connection);
/// Returns the process id of the server's end, or the number that a pooler tells in its place.
int cpostgres_backend_number(const cpostgres_connection *connection);
void cpostgres_close(cpostgres_connection *connection);

/// Sends statements without parameters, after the end of those that were sent before, and does not
/// wait for their end. Returns 0 if the connection is lost or the time is over.
int cpostgres_send(cpostgres_connection *connection, const char *sql, int milliseconds);
/// Runs statements without parameters and returns the last result, or the first error; NULL if the
/// connection is lost or the time is over.
cpostgres_result *cpostgres_run(cpostgres_connection *connection, const char *sql, int milliseconds);
/// Runs one statement. Each parameter has a type, 0 for one that the server derives, and a length,
/// -1 for NULL; `bytes` has their binary values one after the other. Returns as cpostgres_run does.
cpostgres_result *cpostgres_query(cpostgres_connection *connection, const char *sql, int count,
                                  const uint32_t *types, const uint8_t *bytes, const int *lengths,
                                  int milliseconds);

/// Returns whether the statement succeeded.
int cpostgres_is_success(const cpostgres_result *result);
/// Returns the five characters of the error's SQLSTATE, or NULL.
const char *cpostgres_error_state(const cpostgres_result *result);
/// Returns the error's sentence, without the details that quote values, or NULL.
const char *cpostgres_error_text(const cpostgres_result *result);
int cpostgres_count_rows(const cpostgres_result *result);
int cpostgres_count_columns(const cpostgres_result *result);
/// Returns the number of rows that an INSERT, UPDATE or DELETE has changed.
int64_t cpostgres_count_changes(cpostgres_result *result);
uint32_t cpostgres_type(const cpostgres_result *result, int column);
int cpostgres_is_binary(const cpostgres_result *result, int column);
int cpostgres_is_null(const cpostgres_result *result, int row, int column);
const char *cpostgres_value(const cpostgres_result *result, int row, int column);
int cpostgres_length(const cpostgres_result *result, int row, int column);
void cpostgres_clear(cpostgres_result *result);

/// Waits until the server has sent something or the time is over; a negative time has no end.
/// Returns 1 if the server has sent something, 0 if not, and -1 if the connection is lost.
int cpostgres_wait(cpostgres_connection *connection, int milliseconds);
/// Returns the content of the next notification, which the caller frees with cpostgres_free, or
/// NULL.
char *cpostgres_notification(cpostgres_connection *connection);
