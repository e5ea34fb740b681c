#define _GNU_SOURCE
#include "CSystemKeys.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// View, read, search and link, for a possessor alone (KEY_POS_ of the kernel's key.h): no other user, and nobody may
// change it.
static const unsigned int possessor_reads = 0x1b000000;

// A key is readable to its possessor alone. The user keyring is not linked to every session, such as that of a service of
// systemd, so the thread's own keyring holds the key meanwhile.
static long take(const char *name) {
  return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, KEY_SPEC_THREAD_KEYRING);
}

static void release(long key) { syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_THREAD_KEYRING); }

int csystem_key_allowed(void) {
  return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1) < 0 ? errno : 0;
}

int csystem_key_keep(const char *name, const void *bytes, size_t count, unsigned int seconds) {
  long key = syscall(SYS_add_key, "user", name, bytes, count, KEY_SPEC_THREAD_KEYRING);
  if (key < 0) return errno;
  int error = 0;
  // Linked at the end, so that no other process meets a key without its time limit.
  if (syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds) != 0 ||
      syscall(SYS_keyctl, KEYCTL_SETPERM, key, possessor_reads) != 0 ||
      syscall(SYS_keyctl, KEYCTL_LINK, key, KEY_SPEC_USER_KEYRING) != 0)
    error = errno;
  release(key);
  return error;
}

long csystem_key_read(const char *name, void *bytes, size_t count) {
  long key = take(name);
  if (key < 0) return -errno;
  long result = syscall(SYS_keyctl, KEYCTL_READ, key, bytes, count);
  if (result < 0) result = -errno;
  release(key);
  return result;
}

int csystem_key_forget(const char *name) {
  long key = take(name);
  if (key < 0) return errno;
  int error = syscall(SYS_keyctl, KEYCTL_INVALIDATE, key) == 0 ? 0 : errno;
  release(key);
  return error;
}
