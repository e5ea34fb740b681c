#pragma once
#include <pthread.h>

// Hardening, files and file locks, through functions that Swift cannot call: variadic ones and
// recent ones. They return 0 or an errno unless stated otherwise.

/// prctl(PR_SET_DUMPABLE): 0 prevents core dumps and debuggers, and closes the process's procfs
/// entry.
int csystem_set_dumpable(int is_dumpable);

/// prctl(PR_SET_NO_NEW_PRIVS): started programs gain no privileges. einlass alone calls it, because einlassctl opens
/// browsers, and the sandbox of a browser may be set-uid.
int csystem_forbid_new_privileges(void);

/// prctl(PR_GET_DUMPABLE): returns 1 if dumpable.
int csystem_is_dumpable(void);

/// getauxval(AT_SECURE): returns whether exec raised privileges (set-uid, set-gid, file
/// capabilities).
int csystem_has_raised_privileges(void);

/// Closes the descriptors from first to last, inclusive, also on kernels without close_range(2).
int csystem_close_range(unsigned int first, unsigned int last);

/// Renames without replacing. Returns EEXIST if the new name is taken.
int csystem_rename_new(int directory, const char *from, const char *to);

/// Returns the type of the descriptor's file system (f_type of fstatfs(2)), or 0.
unsigned int csystem_file_system_type(int descriptor);

/// CLOCK_MONOTONIC in milliseconds, for deadlines.
long long csystem_monotonic_milliseconds(void);
/// Returns the seconds since the start of the machine, with the time in which it was suspended.
long long csystem_boot_seconds(void);
/// Lets the calling thread rest.
void csystem_pause(int milliseconds);

/// pthread_mutex_lock with a deadline. Returns ETIMEDOUT after it. A free mutex is locked even
/// then.
int csystem_mutex_lock_by(pthread_mutex_t *mutex, long long deadline);

/// flock(2) with a deadline. Waits in the kernel's queue instead of polling. Returns EWOULDBLOCK
/// after the deadline.
int csystem_flock_by(int descriptor, int operation, long long deadline);
