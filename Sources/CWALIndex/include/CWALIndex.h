#pragma once

// The index of SQLite's write-ahead log (the -shm file), kept so that a full disk is an error code and never SIGBUS.
//
// The file, its layout and its locks are those of SQLite's own "unix" VFS, so that other programs can share it.

/// File control of a main database: until when its locks may be asked for again, an `int` of milliseconds from now.
/// After that, SQLite is told SQLITE_BUSY_TIMEOUT, which it does not retry.
#define CWALINDEX_PATIENCE 4711

/// File control of a main database: gives its file room for so many bytes, a `long long`, and no more. Or changes
/// nothing and answers SQLITE_FULL.
#define CWALINDEX_ALLOCATE 4712

/// File control of a main database: SQLITE_FULL when something written to the index did not reach the others, since this
/// was last asked or, where the argument, a `long long`, is not 0, in the last write. The rows that a
/// transaction has read or committed then do not count.
#define CWALINDEX_CHECK 4713

/// File control of a main database: the state of the log as it is now, CWALINDEX_STATE_SIZE bytes that change with every
/// commit. SQLITE_NOTFOUND without an index. A later read sees this state
/// or a newer one.
#define CWALINDEX_STATE 4714
#define CWALINDEX_STATE_SIZE 48

/// Registers the VFS, which is nobody's default, and answers its name. Not for several threads at once.
///
/// A main database that is opened read-only gets an index of its own in memory: nobody may write meanwhile.
const char *cwalindex_register(void);
