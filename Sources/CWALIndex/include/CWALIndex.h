#pragma once

// The index of SQLite's write-ahead log (the -shm file), for which a full disk is an error code and
// not SIGBUS.
//
// The file, its layout and its locks are those of SQLite's "unix" VFS, so that other programs can
// share it.

/// File control of a main database: the time limit for requesting its locks again, an `int` of
/// milliseconds from now. After that SQLite gets SQLITE_BUSY_TIMEOUT and does not retry.
#define CWALINDEX_PATIENCE 4711

/// File control of a main database: allocates or truncates its file to this size, a `long long` of
/// bytes. Returns SQLITE_FULL, with the size unchanged, if there is no room.
#define CWALINDEX_ALLOCATE 4712

/// File control of a main database: returns SQLITE_FULL if a change of the index was lost to other
/// processes since the last check or, for a nonzero argument (a `long long`), during the last
/// write. The rows read or committed in that transaction are then invalid.
#define CWALINDEX_CHECK 4713

/// File control of a main database: copies the current state of the log, CWALINDEX_STATE_SIZE bytes
/// that change with every commit. Returns SQLITE_NOTFOUND without an index. A later read sees this
/// state or a newer one.
#define CWALINDEX_STATE 4714
#define CWALINDEX_STATE_SIZE 48

/// Registers the VFS, without making it the default, and returns its name. Not thread-safe.
///
/// A main database opened read-only gets an index in memory. No process may write meanwhile.
const char *cwalindex_register(void);
