// For LD_PRELOAD: refuses the allocation with the number in EINLASS_FAIL_AT. Writes the number of
// all allocations to the file EINLASS_COUNT_TO at exit.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

static long count, fails_at;

__attribute__((constructor)) static void start(void) {
  const char *text = getenv("EINLASS_FAIL_AT");
  fails_at = text ? atol(text) : 0;
  __atomic_store_n(&count, 0, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("EINLASS_COUNT_TO");
  int file = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file >= 0) dprintf(file, "%ld", __atomic_load_n(&count, __ATOMIC_RELAXED));
}

static int fails(void) {
  if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) != fails_at || !fails_at) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
