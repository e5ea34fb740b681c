#define _GNU_SOURCE
#include "CSystemMapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int or_errno(int result) { return result == 0 ? 0 : errno; }

int csystem_lock_bytes(int descriptor, short type, off_t start, off_t count) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = count};
  return or_errno(fcntl(descriptor, F_OFD_SETLK, &lock));
}

int csystem_allocate(int descriptor, off_t start, off_t count) {
  return or_errno(fallocate(descriptor, FALLOC_FL_KEEP_SIZE, start, count));
}

int csystem_copies_on_write(int descriptor) {
  struct statfs system;
  int flags = 0;
  return fstatfs(descriptor, &system) == 0 && system.f_type == BTRFS_SUPER_MAGIC &&
         ioctl(descriptor, FS_IOC_GETFLAGS, &flags) == 0 && !(flags & FS_NOCOW_FL);
}

int csystem_write_in_place(int descriptor) {
  int flags = 0;
  if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) != 0) return errno;
  // Files inherit the compression flags of their directory, and btrfs accepts the new flag only
  // without them.
  int others = flags & ~(FS_COMPR_FL | FS_NOCOMP_FL);
  if (others != flags) (void)!ioctl(descriptor, FS_IOC_SETFLAGS, &others);
  flags = others | FS_NOCOW_FL;
  return or_errno(ioctl(descriptor, FS_IOC_SETFLAGS, &flags));
}

int csystem_make_writable(void *memory, size_t count) {
  while (madvise(memory, count, MADV_POPULATE_WRITE) != 0)
    if (errno != EINTR && errno != EAGAIN) return errno;
  return 0;
}

int csystem_move_memory(void *memory, size_t count, void *target) {
  return mremap(memory, count, count, MREMAP_MAYMOVE | MREMAP_FIXED, target) == MAP_FAILED ? errno : 0;
}
