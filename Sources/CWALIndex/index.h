#pragma once
// Shared declarations of index.c and bus.c.

#include "CWALIndex.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/types.h>

/// The index of one connection.
struct walindex {
  sqlite3_io_methods methods; // methods of the "unix" VFS, some of them replaced
  const sqlite3_io_methods *base;
  char *path;
  int is_private;
  int descriptor; // -1: not open
  int locks;      // held locks, one bit each
  long long deadline;
  void **chunks;
  int count;
  sqlite3_int64 last_write;           // offset of the last log write under the write lock; -1: none
  volatile sig_atomic_t is_lost;      // a chunk is a private copy, invisible to other processes
  volatile sig_atomic_t has_failed;   // a chunk was lost since the last check
  int has_write_failed;               // the same, during the last hold of the write lock
};

/// The number of bytes mapped at a time: SQLite's 32 KiB or, if larger, a page.
long chunk_size(void);

/// Installs the SIGBUS handler. It replaces an unwritable chunk by a copy in memory.
void watch_bus(void);

/// Registers a chunk mapped from this offset of the index file. Returns 0, or -1 if there are too
/// many.
int watch_chunk(void *chunk, off_t offset, struct walindex *index);

/// Unregisters a chunk.
void unwatch_chunk(void *chunk);
