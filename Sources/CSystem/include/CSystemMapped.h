#pragma once
#include <sys/types.h>

// Files mapped into memory, and locks on parts of them. The functions return 0 or an errno.

/// fcntl(F_OFD_SETLK): sets a lock of the open file description. Each one has its own, and closing another descriptor of
/// this process releases none. It conflicts with the POSIX locks of other processes.
int csystem_lock_bytes(int descriptor, short type, off_t start, off_t count);

/// fallocate(2): allocates blocks and keeps the size.
int csystem_allocate(int descriptor, off_t start, off_t count);

/// Whether a write to a block of the file goes elsewhere, as on btrfs.
int csystem_copies_on_write(int descriptor);

/// Turns that off. It takes effect only on an empty file.
int csystem_write_in_place(int descriptor);

/// madvise(MADV_POPULATE_WRITE): makes every page writable, or finds that one can't be, without SIGBUS. A kernel before
/// 5.14 returns EINVAL.
int csystem_make_writable(void *memory, size_t count);

/// mremap(2): moves mapped memory to another address, in place of what is there. Async-signal-safe.
int csystem_move_memory(void *memory, size_t count, void *target);
