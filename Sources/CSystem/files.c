#define _GNU_SOURCE
#include "CSystemFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

int csystem_set_dumpable(int is_dumpable) {
  return prctl(PR_SET_DUMPABLE, is_dumpable, 0, 0, 0) == 0 ? 0 : errno;
}

int csystem_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1; }

int csystem_has_raised_privileges(void) { return getauxval(AT_SECURE) != 0; }

int csystem_close_range(unsigned int first, unsigned int last) {
  if (first > last) return 0;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, last, 0) == 0) return 0;
#endif
  long limit = sysconf(_SC_OPEN_MAX);
  if (limit < 0 || limit > 1 << 20) limit = 1 << 20;
  for (unsigned int descriptor = first; descriptor <= last && descriptor < limit; descriptor++)
    close((int)descriptor);
  return 0;
}

int csystem_rename_new(int directory, const char *from, const char *to) {
#ifdef SYS_renameat2
  const unsigned int no_replace = 1;
  if (syscall(SYS_renameat2, directory, from, directory, to, no_replace) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
  if (linkat(directory, from, directory, to, 0) != 0) return errno;
  return unlinkat(directory, from, 0) == 0 ? 0 : errno;
}

int csystem_is_network_file_system(int descriptor) {
  struct statfs information;
  if (fstatfs(descriptor, &information) != 0) return 0;
  switch ((unsigned int)information.f_type) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFE534D42:  // SMB 2
    case 0xFF534D42:  // CIFS
    case 0x5346414F:  // AFS
    case 0x00C36400:  // Ceph
    case 0x0BD00BD0:  // Lustre
    case 0x73757245:  // Coda
    case 0x564C:      // NCP
      return 1;
    default:
      return 0;
  }
}

// One waiting flock. The caller and the thread each hold one reference; the last one frees.
struct waiter {
  int descriptor;
  int operation;
  int event;
  int result;
  atomic_int is_settled;  // whoever sets it first decides: acquired, or given up
  atomic_int references;
};

static void release(struct waiter *waiter) {
  if (atomic_fetch_sub(&waiter->references, 1) != 1) return;
  close(waiter->event);
  free(waiter);
}

static void *wait_in_queue(void *argument) {
  struct waiter *waiter = argument;
  int result;
  do {
    result = flock(waiter->descriptor, waiter->operation) == 0 ? 0 : errno;
  } while (result == EINTR);
  waiter->result = result;
  if (atomic_exchange(&waiter->is_settled, 1) == 0) {
    eventfd_write(waiter->event, 1);
  } else {
    flock(waiter->descriptor, LOCK_UN);  // given up meanwhile
    close(waiter->descriptor);
  }
  release(waiter);
  return NULL;
}

static int start_detached(void *(*body)(void *), void *argument) {
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) return result;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits it: signals are for others
  pthread_t thread;
  result = pthread_create(&thread, &attributes, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return result;
}

// Milliseconds on a clock that only runs forward; used to resume an interrupted wait, for nothing else.
static long long monotonic_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int csystem_flock_within(int descriptor, int operation, int milliseconds) {
  struct waiter *waiter = calloc(1, sizeof *waiter);
  if (waiter == NULL) return ENOMEM;
  waiter->descriptor = descriptor;
  waiter->operation = operation;
  waiter->event = eventfd(0, EFD_CLOEXEC);
  atomic_init(&waiter->references, 2);
  if (waiter->event < 0) {
    int result = errno;
    free(waiter);
    return result;
  }
  int result = start_detached(wait_in_queue, waiter);
  if (result != 0) {
    release(waiter);
    release(waiter);
    return result;
  }
  struct pollfd event = {.fd = waiter->event, .events = POLLIN};
  long long deadline = monotonic_milliseconds() + milliseconds;
  for (long long left = milliseconds; left > 0; left = deadline - monotonic_milliseconds())
    if (poll(&event, 1, (int)left) >= 0 || errno != EINTR) break;
  // Whoever settles it first decides; a lock that came in this very moment is taken.
  result = atomic_exchange(&waiter->is_settled, 1) == 0 ? EWOULDBLOCK : waiter->result;
  release(waiter);
  return result;
}
