// For LD_PRELOAD: appends a line to the file EINLASS_NAMES for each folder that the process makes
// and for each file or folder that it syncs. A sync of the file EINLASS_UNSYNCED fails with EIO.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(const char *what, const char *path) {
  int file = open(getenv("EINLASS_NAMES"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dprintf(file, "%s %s\n", what, path);
  close(file);
}

int mkdir(const char *path, mode_t mode) {
  int (*real)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
  int result = real(path, mode);
  if (result == 0) note("made", path);
  return result;
}

static int sync_and_note(const char *function, int descriptor) {
  int (*real)(int) = dlsym(RTLD_NEXT, function);
  char link[32], path[PATH_MAX] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  if (readlink(link, path, sizeof path - 1) <= 0) return real(descriptor);
  const char *unsynced = getenv("EINLASS_UNSYNCED");
  if (unsynced && strcmp(path, unsynced) == 0) {
    errno = EIO;
    return -1;
  }
  note("synced", path);
  return real(descriptor);
}

int fsync(int descriptor) { return sync_and_note("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_and_note("fdatasync", descriptor); }
