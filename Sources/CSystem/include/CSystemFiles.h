#pragma once
// What hardening, files and file locks need and Swift cannot call: variadic and too new functions.
// Every function answers 0 or an errno, unless it says otherwise.

/// prctl(PR_SET_DUMPABLE): no core dumps, no debugger, a closed procfs entry.
int csystem_set_dumpable(int is_dumpable);

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

/// Waits at most so many milliseconds for flock(descriptor, operation), in the kernel's queue and not by
/// trying again and again. EWOULDBLOCK: the time is over, and the descriptor now belongs to this function,
/// which closes it; the caller opens the file anew for its next attempt.
int csystem_flock_within(int descriptor, int operation, int milliseconds);
