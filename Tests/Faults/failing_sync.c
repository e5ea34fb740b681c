// For LD_PRELOAD: while the file in EINLASS_SYNC_FAILS exists, no sync of a write-ahead log succeeds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int descriptor) {
  const char *switched_on = getenv("EINLASS_SYNC_FAILS");
  char link[64], path[4096] = "";
  if (!switched_on || access(switched_on, F_OK) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  if (readlink(link, path, sizeof path - 1) < 0 || !strstr(path, ".db-wal")) return 0;
  errno = ENOSPC;
  return 1;
}

int fdatasync(int descriptor) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return fails(descriptor) ? -1 : next(descriptor);
}

int fsync(int descriptor) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return fails(descriptor) ? -1 : next(descriptor);
}
