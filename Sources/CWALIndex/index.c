// On a full disk, a write to a mapped page can raise SIGBUS: because the page has no block or, on
// btrfs, because the page was written back and the file system has no room to record another
// change. Therefore
// - every page is allocated before it is mapped;
// - before a write begins and before a commit counts, all pages are made writable;
// - a SIGBUS in between replaces the chunk by a copy in memory (bus.c), and the transaction fails.
#define _GNU_SOURCE
#include "index.h"

#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  region_size = 32768, // the size that SQLite maps at a time
  lock_base = 120,     // offset of the eight lock bytes in the file
  alive_lock = 128,    // held shared while the index is open
  write_lock = 0
};

static sqlite3_vfs vfs;

/// Returns the `walindex` or `log_file` of an open file. It follows the memory of the "unix" VFS.
static void *own(sqlite3_file *file) { return (char *)file + vfs.szOsFile - sizeof(struct walindex); }

static struct walindex *of(sqlite3_file *file) { return own(file); }

static int busy(const struct walindex *index) {
  return csystem_monotonic_milliseconds() < index->deadline ? SQLITE_BUSY : SQLITE_BUSY_TIMEOUT;
}

static int is_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

static int clear_bytes(int descriptor, off_t start, off_t end) {
  static const char zeros[region_size];
  while (start < end) {
    ssize_t count = pwrite(descriptor, zeros, end - start < region_size ? end - start : region_size, start);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0 || is_full(errno) ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    start += count;
  }
  return SQLITE_OK;
}

/// Allocates blocks for a part of the file and fills it with zeros.
static int allocate(int descriptor, off_t start, off_t end) {
  // Blocks first, because btrfs overwrites in place only in an allocated block. Other errors are
  // ignored: without fallocate support, writing zeros must do.
  if (is_full(csystem_allocate(descriptor, start, end - start))) return SQLITE_FULL;
  return clear_bytes(descriptor, start, end);
}

static int write_in_place(int descriptor) {
  if (!csystem_copies_on_write(descriptor)) return SQLITE_OK;
  if (ftruncate(descriptor, 0) != 0) return is_full(errno) ? SQLITE_FULL : SQLITE_IOERR_SHMOPEN;
  // If it is refused for another reason than space, use the index anyway, because the store is
  // unusable without one.
  return is_full(csystem_write_in_place(descriptor)) ? SQLITE_FULL : SQLITE_OK;
}

/// Clears the content that a crash may have left. Keeps the blocks, so that this works on a full
/// disk.
static int clear(int descriptor) {
  int code = write_in_place(descriptor);
  struct stat status;
  if (code != SQLITE_OK) return code;
  if (fstat(descriptor, &status) != 0) return SQLITE_IOERR_SHMOPEN;
  off_t size = status.st_size - status.st_size % chunk_size();
  if (status.st_blocks * 512 < size) size = 0; // the file has holes
  if (size != status.st_size && ftruncate(descriptor, size) != 0)
    return is_full(errno) ? SQLITE_FULL : SQLITE_IOERR_SHMOPEN;
  if (size > 0) return clear_bytes(descriptor, 0, size);
  code = allocate(descriptor, 0, chunk_size());
  if (code != SQLITE_OK) (void)!ftruncate(descriptor, 0);
  return code;
}

/// Opens the index. The first connection of all processes clears it.
static int attach(struct walindex *index) {
  int descriptor = open(index->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return is_full(errno) ? SQLITE_FULL : SQLITE_IOERR_SHMOPEN;
  int code = SQLITE_OK;
  int error = csystem_lock_bytes(descriptor, F_WRLCK, alive_lock, 1);
  if (error == 0) code = clear(descriptor);
  else if (error != EAGAIN && error != EACCES) code = SQLITE_IOERR_SHMLOCK;
  if (code == SQLITE_OK && csystem_lock_bytes(descriptor, F_RDLCK, alive_lock, 1) != 0) code = busy(index);
  if (code != SQLITE_OK) close(descriptor);
  else index->descriptor = descriptor;
  return code;
}

/// Checks that every page of a chunk can be written to. A kernel before 5.14 does not support the
/// check.
static int populate(void *chunk) {
  int error = csystem_make_writable(chunk, chunk_size());
  return error == 0 || error == EINVAL ? SQLITE_OK : SQLITE_FULL;
}

static int populate_all(const struct walindex *index) {
  for (int chunk = 0; chunk < index->count; chunk++) {
    int code = populate(index->chunks[chunk]);
    if (code != SQLITE_OK) return code;
  }
  return index->is_lost ? SQLITE_FULL : SQLITE_OK;
}

/// Maps the file again in place of a copy.
static int map_again(struct walindex *index) {
  for (int chunk = 0; chunk < index->count; chunk++)
    if (mmap(index->chunks[chunk], chunk_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, index->descriptor,
             chunk * chunk_size()) == MAP_FAILED)
      return SQLITE_IOERR_SHMMAP;
  index->is_lost = 0;
  return SQLITE_OK;
}

/// Maps the next chunk. Returns SQLITE_OK without a new chunk at the end of a file not to be
/// extended.
static int map_next(struct walindex *index, int may_extend) {
  off_t start = (off_t)index->count * chunk_size(), end = start + chunk_size();
  struct stat status;
  if (fstat(index->descriptor, &status) != 0) return SQLITE_IOERR_SHMSIZE;
  if (status.st_size < end) {
    if (!may_extend) return SQLITE_OK;
    int code = allocate(index->descriptor, start, end);
    if (code != SQLITE_OK) {
      (void)!ftruncate(index->descriptor, status.st_size);
      return code;
    }
  }
  void **chunks = sqlite3_realloc64(index->chunks, (index->count + 1) * sizeof *chunks);
  if (!chunks) return SQLITE_NOMEM;
  index->chunks = chunks;
  void *chunk = mmap(NULL, chunk_size(), PROT_READ | PROT_WRITE, MAP_SHARED, index->descriptor, start);
  if (chunk == MAP_FAILED) return errno == ENOMEM ? SQLITE_NOMEM : SQLITE_IOERR_SHMMAP;
  int code = populate(chunk);
  if (code == SQLITE_OK && watch_chunk(chunk, start, index) != 0) code = SQLITE_NOMEM;
  if (code == SQLITE_OK) chunks[index->count++] = chunk;
  else munmap(chunk, chunk_size());
  return code;
}

static int shm_map(sqlite3_file *file, int region, int size, int may_extend, void volatile **page) {
  struct walindex *index = of(file);
  *page = NULL;
  if (size != region_size) return SQLITE_IOERR_SHMMAP;
  // SQLite then builds an index in heap memory.
  if (index->is_private) return SQLITE_READONLY_CANTINIT;
  int code = index->descriptor < 0 ? attach(index) : SQLITE_OK;
  long long offset = (long long)region * region_size;
  int chunk = (int)(offset / chunk_size());
  while (code == SQLITE_OK && index->count <= chunk) {
    int count = index->count;
    code = map_next(index, may_extend);
    if (index->count == count) return code;
  }
  if (code == SQLITE_OK) *page = (char *)index->chunks[chunk] + offset % chunk_size();
  return code;
}

static int shm_lock(sqlite3_file *file, int offset, int count, int flags) {
  struct walindex *index = of(file);
  if (index->is_private) return SQLITE_OK;
  int locks = ((1 << count) - 1) << offset, is_shared = flags & SQLITE_SHM_SHARED;
  if (offset == write_lock) {
    index->last_write = -1;
    // Keeps failures of the write apart from those of a checkpoint after the commit, which do not
    // affect it.
    index->has_write_failed = index->has_failed;
    index->has_failed = 0;
  }
  if (flags & SQLITE_SHM_UNLOCK) {
    index->locks &= ~locks;
    int error = csystem_lock_bytes(index->descriptor, F_UNLCK, lock_base + offset, count);
    return error == 0 ? SQLITE_OK : SQLITE_IOERR_SHMLOCK;
  }
  // A reader writes its mark under another lock before this one. SQLite looks for a lost mark for ten seconds.
  if (is_shared && index->has_failed && !index->locks) return index->has_failed = 0, SQLITE_FULL;
  int code = index->is_lost && !index->locks ? map_again(index) : SQLITE_OK;
  // The check is slow on a full disk, and readers seldom write to the index.
  if (code == SQLITE_OK) code = offset == write_lock ? populate_all(index) : index->is_lost ? SQLITE_FULL : SQLITE_OK;
  if (code != SQLITE_OK) return code;
  int error = csystem_lock_bytes(index->descriptor, is_shared ? F_RDLCK : F_WRLCK, lock_base + offset, count);
  if (error == 0) {
    index->locks |= locks;
    return SQLITE_OK;
  }
  if (error != EAGAIN && error != EACCES) return SQLITE_IOERR_SHMLOCK;
  // When another exclusive lock is busy, SQLite just tries the next one.
  return is_shared || offset == write_lock ? busy(index) : SQLITE_BUSY;
}

static void shm_barrier(sqlite3_file *file) {
  (void)file;
  atomic_thread_fence(memory_order_seq_cst);
}

static int shm_unmap(sqlite3_file *file, int removes) {
  struct walindex *index = of(file);
  while (index->count > 0) {
    void *chunk = index->chunks[--index->count];
    unwatch_chunk(chunk);
    munmap(chunk, chunk_size());
  }
  index->is_lost = index->locks = 0;
  if (index->descriptor < 0) return SQLITE_OK;
  if (removes) unlink(index->path);
  close(index->descriptor);
  index->descriptor = -1;
  return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
  struct walindex *index = of(file);
  if (operation == CWALINDEX_PATIENCE) {
    index->deadline = csystem_monotonic_milliseconds() + *(int *)argument;
    return SQLITE_OK;
  }
  if (operation == CWALINDEX_STATE) {
    if (index->count == 0 || index->is_lost) return SQLITE_NOTFOUND;
    memcpy(argument, index->chunks[0], CWALINDEX_STATE_SIZE);
    return SQLITE_OK;
  }
  if (operation == CWALINDEX_CHECK) {
    int has_failed = *(long long *)argument ? index->has_write_failed : index->has_failed;
    index->has_failed = 0;
    return has_failed ? SQLITE_FULL : SQLITE_OK;
  }
  if (operation != CWALINDEX_ALLOCATE) return index->base->xFileControl(file, operation, argument);
  sqlite3_int64 size = 0, wanted = *(long long *)argument;
  int code = index->base->xFileSize(file, &size);
  if (code != SQLITE_OK || size == wanted) return code;
  if (size > wanted) return index->base->xTruncate(file, wanted);
  // Through SQLite's own descriptor, because closing another one would release SQLite's POSIX
  // locks. It allocates only in multiples of a chunk size.
  int unit = 4096;
  index->base->xFileControl(file, SQLITE_FCNTL_CHUNK_SIZE, &unit);
  code = index->base->xFileControl(file, SQLITE_FCNTL_SIZE_HINT, &wanted);
  if (code != SQLITE_OK) index->base->xTruncate(file, size);
  return code == SQLITE_IOERR_WRITE ? SQLITE_FULL : code;
}

static int close_file(sqlite3_file *file) {
  struct walindex *index = of(file);
  shm_unmap(file, 0);
  sqlite3_free(index->chunks);
  sqlite3_free(index->path);
  return index->base->xClose(file);
}

/// The log of an index. It must not be written while the index is lost, because other processes
/// would not learn of the change.
struct log_file {
  sqlite3_io_methods methods;
  const sqlite3_io_methods *base;
  struct walindex *index;
};

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  struct log_file *log = own(file);
  if (log->index->is_lost) return SQLITE_FULL;
  log->index->last_write = offset;
  return log->base->xWrite(file, bytes, count, offset);
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size) {
  struct log_file *log = own(file);
  return log->index->is_lost ? SQLITE_FULL : log->base->xTruncate(file, size);
}

/// A commit counts when it is on the disk and in the index. If the sync fails or the index cannot be
/// written, the commit is cut off the log again, because a recovery of the log would find it.
static int sync_log(sqlite3_file *file, int flags) {
  struct log_file *log = own(file);
  int code = log->base->xSync(file, flags);
  if (log->index->is_private) return code;
  if (code == SQLITE_OK) code = populate_all(log->index);
  if (code != SQLITE_OK && log->index->last_write >= 0) log->base->xTruncate(file, log->index->last_write);
  return code;
}

static int open_log(const char *path, sqlite3_file *file) {
  struct log_file *log = own(file);
  *log = (struct log_file){
      .methods = *file->pMethods, .base = file->pMethods, .index = of(sqlite3_database_file_object(path))};
  log->methods.xWrite = write_log;
  log->methods.xTruncate = truncate_log;
  log->methods.xSync = sync_log;
  file->pMethods = &log->methods;
  return SQLITE_OK;
}

static int open_file(sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags, int *out_flags) {
  sqlite3_vfs *base = self->pAppData;
  int code = base->xOpen(base, path, file, flags, out_flags);
  if (code == SQLITE_OK && flags & SQLITE_OPEN_WAL) return open_log(path, file);
  if (code != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB)) return code;
  struct walindex *index = of(file);
  *index = (struct walindex){.methods = *file->pMethods, .base = file->pMethods, .descriptor = -1, .last_write = -1};
  index->is_private = flags & SQLITE_OPEN_READONLY;
  index->path = sqlite3_mprintf("%s-shm", path);
  index->methods.xClose = close_file;
  index->methods.xFileControl = file_control;
  index->methods.xShmMap = shm_map;
  index->methods.xShmLock = shm_lock;
  index->methods.xShmBarrier = shm_barrier;
  index->methods.xShmUnmap = shm_unmap;
  file->pMethods = &index->methods;
  return index->path ? SQLITE_OK : (close_file(file), file->pMethods = NULL, SQLITE_NOMEM);
}

const char *cwalindex_register(void) {
  sqlite3_vfs *base = sqlite3_vfs_find("unix");
  if (!vfs.zName && base) {
    vfs = *base;
    vfs.pNext = NULL;
    vfs.pAppData = base;
    vfs.szOsFile = (base->szOsFile + 15) / 16 * 16 + (int)sizeof(struct walindex);
    vfs.xOpen = open_file;
    vfs.zName = "einlass";
    watch_bus();
    sqlite3_vfs_register(&vfs, 0);
  }
  return "einlass";
}
