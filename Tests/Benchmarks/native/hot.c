// Measurements without an interpreter in between; the driver calls these functions through ctypes.
// Times are nanoseconds of the monotonic clock; -1 means that the other end has closed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char chunk[1 << 18];

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// Reads until this many LFs have arrived. The bytes behind the last LF are lost, so the count must
// cover all pending answers.
static int read_lines(int fd, long count) {
  while (count > 0) {
    ssize_t got = read(fd, chunk, sizeof chunk);
    if (got <= 0) return -1;
    for (char *at = chunk; (at = memchr(at, '\n', chunk + got - at)); at++) count--;
  }
  return 0;
}

// Spawns a program, sends one request, times its first answer (a line, or any bytes with `any`),
// then closes its input and times its exit. The times are stored in `answered` and `ended`. With
// `eof_first` the input is closed first, and the exit of a silent program counts as its answer.
int start(char *const argv[], char *const envp[], const char *request, long length, int any,
          int eof_first, int64_t *answered, int64_t *ended) {
  int in[2], out[2];
  pid_t pid;
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  int64_t from = now();
  int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, envp);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  if (!error && write(in[1], request, length) != length) error = -1;
  if (eof_first) {
    close(in[1]);
    read_lines(out[0], 1);
  } else if (!error) error = any ? (read(out[0], chunk, sizeof chunk) > 0 ? 0 : -1) : read_lines(out[0], 1);
  *answered = now() - from;
  from = now();
  if (!eof_first) close(in[1]);
  if (any) kill(pid, 9);
  while (read(out[0], chunk, sizeof chunk) > 0) {}
  waitpid(pid, NULL, 0);
  *ended = now() - from;
  close(out[0]);
  return error;
}

// Sends `count` requests, one in flight at a time.
int round_trips(int to, int from, const char *request, long length, long count, int64_t *times) {
  for (long i = 0; i < count; i++) {
    int64_t begin = now();
    if (write(to, request, length) != length || read_lines(from, 1)) return -1;
    times[i] = now() - begin;
  }
  return 0;
}

// Sends `bytes` as fast as they are accepted while it reads the output, until `lines` answers have
// arrived.
int64_t pipelined(int to, int from, const char *bytes, long length, long lines) {
  int flags = fcntl(to, F_GETFL);
  fcntl(to, F_SETFL, flags | O_NONBLOCK);
  int64_t begin = now();
  while (lines > 0) {
    struct pollfd fds[2] = {{from, POLLIN, 0}, {length > 0 ? to : -1, POLLOUT, 0}};
    if (poll(fds, 2, 60000) <= 0) { lines = -1; break; }
    if (fds[1].revents & POLLERR) { lines = -1; break; }
    if (fds[1].revents & POLLOUT) {
      ssize_t put = write(to, bytes, length < 65536 ? length : 65536);
      if (put > 0) bytes += put, length -= put;
    }
    if (fds[0].revents & (POLLIN | POLLHUP)) {
      ssize_t got = read(from, chunk, sizeof chunk);
      if (got <= 0) { lines = -1; break; }
      for (char *at = chunk; (at = memchr(at, '\n', chunk + got - at)); at++) lines--;
    }
  }
  int64_t time = now() - begin;
  fcntl(to, F_SETFL, flags);
  return lines < 0 ? -1 : time;
}

// Writes without reading until nothing is accepted for `patience` ms. Returns the number of
// accepted bytes.
int64_t pour(int to, const char *bytes, long length, long limit, int patience) {
  int flags = fcntl(to, F_GETFL);
  fcntl(to, F_SETFL, flags | O_NONBLOCK);
  int64_t taken = 0;
  while (taken < limit) {
    struct pollfd fd = {to, POLLOUT, 0};
    if (poll(&fd, 1, patience) <= 0 || fd.revents & POLLERR) break;
    ssize_t put = write(to, bytes, length);
    if (put < 0 && errno != EAGAIN) break;
    if (put > 0) taken += put;
  }
  fcntl(to, F_SETFL, flags);
  return taken;
}

// Sends `prefix` + number + `suffix` as requests with the ids 1, 2, 3 …, at most `window` of them
// unanswered, and skips notifications. `errors` is the number of error answers.
int64_t windowed(int to, int from, const char *prefix, const char *suffix, long count, long window,
                 long *errors) {
  static char line[1 << 17];
  char request[8192];
  size_t filled = 0;
  long sent = 0, answered = 0;
  *errors = 0;
  int64_t begin = now();
  while (answered < count) {
    while (sent < count && sent - answered < window) {
      int length = snprintf(request, sizeof request, "%s%ld%s", prefix, ++sent, suffix);
      if (write(to, request, length) != length) return -1;
    }
    ssize_t got = read(from, line + filled, sizeof line - filled);
    if (got <= 0) return -1;
    filled += got;
    char *at = line, *end;
    for (; (end = memchr(at, '\n', line + filled - at)); at = end + 1) {
      if (strncmp(at, "{\"jsonrpc\":\"2.0\",\"id\":", 22)) continue;
      answered++;
      if (memmem(at, end - at < 80 ? end - at : 80, "\"error\":", 8)) ++*errors;
    }
    filled = line + filled - at;
    memmove(line, at, filled);
  }
  return now() - begin;
}
