#pragma once
// Event descriptors, threads and child processes, through functions that Swift cannot call.
// Functions that open a descriptor return it, close-on-exec, or minus an errno.

/// eventfd(2), non-blocking.
int csystem_event_open(void);

/// Makes an eventfd readable.
void csystem_event_ring(int descriptor);

/// Makes an eventfd unreadable again.
void csystem_event_clear(int descriptor);

/// timerfd_create(2) on the monotonic clock, non-blocking.
int csystem_timer_open(void);

/// Sets the timer to fire once after this many milliseconds; 0 disarms it. Returns 0 or an errno.
int csystem_timer_set(int descriptor, long long milliseconds);

/// pidfd_open(2): readable after the process has ended.
int csystem_process_open(int process);

/// Blocks SIGTERM, SIGINT and SIGHUP in this thread and threads started by it, and opens a
/// signalfd(2).
int csystem_signals_open(void);

/// Returns the number of the next signal from a signalfd, or from a pipe of `signalfd_siginfo`
/// records; 0 without one.
int csystem_signals_take(int descriptor);

/// The size of one such record in bytes.
int csystem_signal_record_size(void);

/// inotify_init1(2), non-blocking.
int csystem_watch_open(void);

/// Watches this file, not the target of a link, for writes, replacement and removal. Returns the
/// watch's number or minus an errno.
int csystem_watch_file(int descriptor, const char *path);

/// Watches this directory for new entries and for its removal. Returns as csystem_watch_file.
int csystem_watch_directory(int descriptor, const char *path);

/// Ends the watch with this number.
void csystem_watch_end(int descriptor, int number);

/// Discards all events so far.
void csystem_watch_clear(int descriptor);

/// Duplicates to a number of at least 3, close-on-exec.
int csystem_duplicate(int descriptor);

/// memfd_create(2).
int csystem_memory_open(void);

/// Returns the number of bytes that one write takes without waiting: 0, PIPE_BUF if poll(2) reports
/// writable, or the capacity of an empty pipe. Nonzero if a write would fail, so that the caller
/// tries it.
int csystem_room_for_writing(int descriptor, long wanted);

/// Starts a detached thread with a stack of 512 KiB and all signals blocked. Returns 0 or an errno.
int csystem_thread_start(const char *name, void (*body)(void *), void *argument);

/// pipe2(2), close-on-exec: the read end, then the write end. Returns 0 or an errno.
int csystem_pipe_open(int ends[2]);

/// Starts the program at this path. The arguments end in NULL. The descriptors `input` and `output`
/// become its standard input and output. It inherits standard error, or with `is_quiet` gets the
/// null device. The descriptors in `kept` stay open under their numbers; close-on-exec ones are
/// closed. Signals have their default actions. Returns the process id, or minus an errno, also for
/// a failed exec.
int csystem_spawn(const char *path, char *const arguments[], int input, int output, const int *kept, int count,
                  int is_quiet);

/// Waits for a child to end and reaps it. Returns its exit code, 128 plus the number of the signal
/// that ended it, or minus an errno.
int csystem_reap(int process);

/// Returns the number of columns of a terminal and stores its rows. Returns 0 if the size is
/// unknown.
int csystem_terminal_columns(int descriptor, int *rows);

/// socket(2), close-on-exec.
int csystem_socket_open(int family, int type, int protocol);

/// accept4(2), non-blocking and close-on-exec.
int csystem_accept(int descriptor);
