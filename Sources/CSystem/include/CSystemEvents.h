#pragma once
// Descriptors that wait for events, and threads: what the event loop needs and Swift cannot call.
// Functions that open a descriptor answer it, close-on-exec, or minus an errno.

/// eventfd(2), not blocking.
int csystem_event_open(void);

/// Makes an eventfd readable.
void csystem_event_ring(int descriptor);

/// Makes an eventfd unreadable again.
void csystem_event_clear(int descriptor);

/// timerfd_create(2) on the monotonic clock, not blocking.
int csystem_timer_open(void);

/// Fires once after so many milliseconds; 0 disarms. Answers 0 or an errno.
int csystem_timer_set(int descriptor, long long milliseconds);

/// pidfd_open(2): readable when the process has ended.
int csystem_process_open(int process);

/// Blocks SIGTERM, SIGINT and SIGHUP in this thread and those it starts, and opens a signalfd(2) for them.
int csystem_signals_open(void);

/// The next signal of such a descriptor (also of a pipe of `signalfd_siginfo` records), 0 when there is none.
int csystem_signals_take(int descriptor);

/// The size of one record of `csystem_signals_take`.
int csystem_signal_record_size(void);

/// inotify_init1(2), not blocking.
int csystem_watch_open(void);

/// Rings when this file, not what a link points to, is written to, replaced or removed. Answers the watch's number
/// or minus an errno.
int csystem_watch_file(int descriptor, const char *path);

/// Rings when something appears in this directory, or when it goes. Answers as csystem_watch_file.
int csystem_watch_directory(int descriptor, const char *path);

/// Ends the watch with this number.
void csystem_watch_end(int descriptor, int number);

/// Forgets what has happened until now.
void csystem_watch_clear(int descriptor);

/// Duplicates to a number of at least 3, close-on-exec.
int csystem_duplicate(int descriptor);

/// A file in memory that no directory holds, close-on-exec; -errno when there is none.
int csystem_memory_open(void);

/// How many of so many bytes one write would take without waiting: 0, PIPE_BUF where poll(2) says writable, and all of
/// an empty pipe. At least 1 where writing would fail, so that it is tried.
int csystem_room_for_writing(int descriptor, long wanted);

/// Starts a detached thread with 512 KiB of stack that takes no signals. Answers 0 or an errno.
int csystem_thread_start(const char *name, void (*body)(void *), void *argument);

/// pipe2(2), close-on-exec: the end to read from, the end to write to. Answers 0 or an errno.
int csystem_pipe_open(int ends[2]);

/// Starts the program at this path, the arguments ending in NULL, with these descriptors as its standard input and
/// output and our standard error, or none where it `is_quiet`; `kept` stay open under their numbers, everything close-on-exec is closed. Signals
/// are as a program finds them by default. Answers its id or minus an errno, that of a failing exec included.
int csystem_spawn(const char *path, char *const arguments[], int input, int output, const int *kept, int count,
                  int is_quiet);

/// Waits for a child to end and takes its status away: the exit code, or 128 and the number of its signal; minus an
/// errno.
int csystem_reap(int process);

/// How many columns a terminal has, 0 when it does not say; its rows are stored.
int csystem_terminal_columns(int descriptor, int *rows);

/// accept4(2): the next connection of a listening socket, not blocking.
int csystem_accept(int descriptor);
