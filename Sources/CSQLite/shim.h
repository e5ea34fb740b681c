#pragma once
#include <sqlite3.h>

// Functions and macros that Swift cannot call: a variadic function, SQLITE_TRANSIENT (-1 cast to a
// function pointer), and result codes computed by macros.

/// sqlite3_db_config for the options that take a switch.
static inline int csqlite_switch(sqlite3 *connection, int option, int is_on) {
  return sqlite3_db_config(connection, option, is_on, (int *)0);
}

/// Binds a copy of UTF-8 text.
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

/// Binds a copy of the bytes. No bytes are an empty blob, not NULL.
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                    : sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static const int csqlite_ioerr_write = SQLITE_IOERR_WRITE;
static const int csqlite_ioerr_fsync = SQLITE_IOERR_FSYNC;
static const int csqlite_ioerr_truncate = SQLITE_IOERR_TRUNCATE;
static const int csqlite_ioerr_shmsize = SQLITE_IOERR_SHMSIZE;
static const int csqlite_ioerr_lock = SQLITE_IOERR_LOCK;
static const int csqlite_ioerr_shmlock = SQLITE_IOERR_SHMLOCK;
static const int csqlite_ioerr_shmmap = SQLITE_IOERR_SHMMAP;
static const int csqlite_ioerr_shmopen = SQLITE_IOERR_SHMOPEN;
