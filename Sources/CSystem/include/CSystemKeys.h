#pragma once
#include <stddef.h>

// Secrets that the kernel keeps for a user, in the user keyring (keyrings(7), user-keyring(7)). They return 0 or an
// errno unless stated otherwise.

/// Returns whether this process may use the user keyring.
int csystem_key_allowed(void);

/// Keeps the bytes under a name for this many seconds, in place of earlier ones.
int csystem_key_keep(const char *name, const void *bytes, size_t count, unsigned int seconds);

/// Copies the bytes of that name, if they fit, and returns their number, or minus an errno.
long csystem_key_read(const char *name, void *bytes, size_t count);

/// Makes the kernel forget the bytes of that name.
int csystem_key_forget(const char *name);
