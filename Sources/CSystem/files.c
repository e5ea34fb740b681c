#define _GNU_SOURCE
#include "CSystemFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

int csystem_set_dumpable(int is_dumpable) {
  return prctl(PR_SET_DUMPABLE, is_dumpable, 0, 0, 0) == 0 ? 0 : errno;
}

int csystem_forbid_new_privileges(void) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
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

unsigned int csystem_file_system_type(int descriptor) {
  struct statfs information;
  return fstatfs(descriptor, &information) == 0 ? (unsigned int)information.f_type : 0;
}

long long csystem_monotonic_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

long long csystem_boot_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec;
}

void csystem_pause(int milliseconds) {
  struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
  }
}

int csystem_mutex_lock_by(pthread_mutex_t *mutex, long long deadline) {
  struct timespec moment = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};
  return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &moment);
}

// The real-time signal that interrupts a waiting system call: the highest one without a handler.
static int interruption;

static void interrupt(int signal) { (void)signal; }

static void choose_interruption(void) {
  struct sigaction action;
  for (interruption = SIGRTMAX; interruption > SIGRTMIN; interruption--)
    if (sigaction(interruption, NULL, &action) == 0 && action.sa_handler == SIG_DFL) break;
  action = (struct sigaction){.sa_handler = interrupt};  // without SA_RESTART
  sigaction(interruption, &action, NULL);
}

int csystem_flock_by(int descriptor, int operation, long long deadline) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, choose_interruption);
  long long left = deadline - csystem_monotonic_milliseconds();
  if (left <= 0) return EWOULDBLOCK;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = interruption};
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return errno;
  sigset_t own, before;
  sigemptyset(&own);
  sigaddset(&own, interruption);
  pthread_sigmask(SIG_UNBLOCK, &own, &before);
  // Fires repeatedly, because the first signal may arrive just before flock begins to wait.
  struct itimerspec times = {
      .it_value = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000},
      .it_interval = {.tv_nsec = 10 * 1000000},
  };
  timer_settime(timer, 0, &times, NULL);
  int result;
  do {
    result = flock(descriptor, operation) == 0 ? 0 : errno;
  } while (result == EINTR && csystem_monotonic_milliseconds() < deadline);
  timer_delete(timer);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return result == EINTR ? EWOULDBLOCK : result;
}
