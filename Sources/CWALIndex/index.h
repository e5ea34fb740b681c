#pragma once
// Declarations that index.c and bus.c share.

#include "CWALIndex.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/types.h>

/// The index as one connection has it.
struct walindex {
  sqlite3_io_methods methods; // those of "unix", but for ours
  const sqlite3_io_methods *base;
  char *path;
  int is_private;
  int descriptor; // -1: not open
  int locks;      // that are held, a bit each
  long long deadline;
  void **chunks;
  int count;
  sqlite3_int64 last_write;           // to the log, since the write lock was taken; -1: none
  volatile sig_atomic_t is_lost;      // a chunk is a copy that nobody else sees
  volatile sig_atomic_t has_failed;   // it was lost since this was last asked
  int has_write_failed;               // the same while the write lock was held the last time
};

/// Mapped at a time: SQLite's 32 KiB, or a page where that is larger.
long chunk_size(void);

/// From now on, a chunk that cannot be written to becomes a copy in memory.
void watch_bus(void);

/// Adds a chunk that maps the index's file from this offset. 0, or -1 when there are too many.
int watch_chunk(void *chunk, off_t offset, struct walindex *index);

/// Takes a chunk back.
void unwatch_chunk(void *chunk);
