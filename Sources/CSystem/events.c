#define _GNU_SOURCE
#include "CSystemEvents.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int or_errno(int result) { return result < 0 ? -errno : result; }

int csystem_event_open(void) { return or_errno(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void csystem_event_ring(int descriptor) { eventfd_write(descriptor, 1); }

void csystem_event_clear(int descriptor) {
  eventfd_t count;
  eventfd_read(descriptor, &count);
}

int csystem_timer_open(void) {
  return or_errno(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

int csystem_timer_set(int descriptor, long long milliseconds) {
  struct itimerspec timer = {
      .it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000}};
  return timerfd_settime(descriptor, 0, &timer, NULL) == 0 ? 0 : errno;
}

int csystem_process_open(int process) {
#ifdef SYS_pidfd_open
  return or_errno((int)syscall(SYS_pidfd_open, process, 0));
#else
  return -ENOSYS;
#endif
}

int csystem_signals_open(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  int result = pthread_sigmask(SIG_BLOCK, &signals, NULL);
  if (result != 0) return -result;
  return or_errno(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

int csystem_signals_take(int descriptor) {
  struct signalfd_siginfo information;
  ssize_t count;
  do count = read(descriptor, &information, sizeof information);
  while (count < 0 && errno == EINTR);
  return count == sizeof information ? (int)information.ssi_signo : 0;
}

int csystem_signal_record_size(void) { return sizeof(struct signalfd_siginfo); }

int csystem_watch_open(void) { return or_errno(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)); }

int csystem_watch_file(int descriptor, const char *path) {
  return or_errno(inotify_add_watch(
      descriptor, path, IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVE_SELF | IN_DELETE_SELF | IN_DONT_FOLLOW));
}

int csystem_watch_directory(int descriptor, const char *path) {
  return or_errno(inotify_add_watch(
      descriptor, path, IN_CREATE | IN_MOVED_TO | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR));
}

void csystem_watch_end(int descriptor, int number) { inotify_rm_watch(descriptor, number); }

void csystem_watch_clear(int descriptor) {
  _Alignas(struct inotify_event) char events[16 * 1024];
  ssize_t count;
  do count = read(descriptor, events, sizeof events);
  while (count > 0 || (count < 0 && errno == EINTR));
}

int csystem_duplicate(int descriptor) { return or_errno(fcntl(descriptor, F_DUPFD_CLOEXEC, 3)); }

int csystem_memory_open(void) { return or_errno(memfd_create("einlass", MFD_CLOEXEC)); }

int csystem_room_for_writing(int descriptor, long wanted) {
  struct pollfd entry = {.fd = descriptor, .events = POLLOUT};
  if (poll(&entry, 1, 0) <= 0) return 0;
  if (wanted <= PIPE_BUF) return PIPE_BUF;
  int waiting;
  // Only a pipe has a size. An empty pipe takes that much.
  int size = fcntl(descriptor, F_GETPIPE_SZ);
  return size > 0 && ioctl(descriptor, FIONREAD, &waiting) == 0 && waiting == 0 ? size : PIPE_BUF;
}

struct work {
  void (*body)(void *);
  void *argument;
};

static void *run(void *argument) {
  struct work work = *(struct work *)argument;
  free(argument);
  work.body(work.argument);
  return NULL;
}

int csystem_thread_start(const char *name, void (*body)(void *), void *argument) {
  struct work *work = malloc(sizeof *work);
  if (work == NULL) return ENOMEM;
  *work = (struct work){body, argument};
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) {
    free(work);
    return result;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 512 * 1024);
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);  // the kernel ends a process that blocks it in the failing thread, in spite of a handler
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
  pthread_t thread;
  result = pthread_create(&thread, &attributes, run, work);
  if (result == 0) pthread_setname_np(thread, name);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (result != 0) free(work);
  return result;
}

int csystem_pipe_open(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno; }

extern char **environ;

int csystem_spawn(const char *path, char *const arguments[], int input, int output, const int *kept, int count,
                  int is_quiet) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  pid_t process = -1;
  int result = posix_spawn_file_actions_init(&actions);
  if (result != 0) return -result;
  result = posix_spawnattr_init(&attributes);
  if (result == 0) {
    result = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (result == 0) result = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (result == 0 && is_quiet)
      result = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // posix_spawn clears close-on-exec if a descriptor is duplicated to its own number.
    for (int index = 0; index < count && result == 0; index++)
      result = posix_spawn_file_actions_adddup2(&actions, kept[index], kept[index]);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (result == 0) result = posix_spawn(&process, path, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return result == 0 ? process : -result;
}

int csystem_reap(int process) {
  int status;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return -errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int csystem_terminal_columns(int descriptor, int *rows) {
  struct winsize size;
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
  *rows = size.ws_row;
  return size.ws_col;
}

int csystem_socket_open(int family, int type, int protocol) {
  return or_errno(socket(family, type | SOCK_CLOEXEC, protocol));
}

int csystem_accept(int descriptor) { return or_errno(accept4(descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)); }
