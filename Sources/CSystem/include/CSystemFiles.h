#pragma once
#include <pthread.h>

// What hardening, files and file locks need and Swift cannot call: variadic and too new functions.
// Every function answers 0 or an errno, unless it says otherwise.

/// prctl(PR_SET_DUMPABLE): no core dumps, no debugger, a closed procfs entry.
int csystem_set_dumpable(int is_dumpable);

/// prctl(PR_SET_NO_NEW_PRIVS): no program that is started gets more than this one has.
int csystem_forbid_new_privileges(void);

/// prctl(PR_GET_DUMPABLE): 1 when dumpable.
int csystem_is_dumpable(void);

/// getauxval(AT_SECURE): whether exec raised privileges (set-uid, set-gid, file capabilities).
int csystem_has_raised_privileges(void);

/// Closes every descriptor from first to last, both included; works on kernels without close_range too.
int csystem_close_range(unsigned int first, unsigned int last);

/// rename that never replaces: EEXIST when the new name is taken.
int csystem_rename_new(int directory, const char *from, const char *to);

/// Whether the file system behind a descriptor is one that several machines can share.
int csystem_is_network_file_system(int descriptor);

/// Milliseconds of a clock that only runs forward, from nowhere in particular: for deadlines.
long long csystem_monotonic_milliseconds(void);

/// pthread_mutex_lock, at most until that moment. ETIMEDOUT: it could not be had; one that is free always can.
int csystem_mutex_lock_by(pthread_mutex_t *mutex, long long deadline);

/// Waits for flock(descriptor, operation), at most until that moment, in the kernel's queue and not by trying
/// again and again. EWOULDBLOCK: the time is over, and nothing waits any more.
int csystem_flock_by(int descriptor, int operation, long long deadline);
