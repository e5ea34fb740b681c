#pragma once

// The index of SQLite's write-ahead log (the -shm file), kept so that a full disk is an error code and never SIGBUS.
//
// The file, its layout and its locks are those of SQLite's own "unix" VFS, so that other programs can share it.

/// File control of a main database: until when its locks may be asked for again, an `int` of milliseconds from now.
/// After that, SQLite is told SQLITE_BUSY_TIMEOUT, which it does not retry.
#define CWALINDEX_PATIENCE 4711

/// File control of a main database: gives its file room for so many bytes, a `long long`, or changes nothing and
/// answers SQLITE_FULL.
#define CWALINDEX_ALLOCATE 4712

/// File control of a main database: SQLITE_FULL when, since it was last asked, something written to the index did not
/// reach the others. What was read or committed then does not count.
#define CWALINDEX_CHECK 4713

/// Registers the VFS, which is nobody's default, and answers its name. Not for several threads at once.
///
/// A main database that is opened read-only gets an index of its own in memory: nobody may write meanwhile.
const char *cwalindex_register(void);
