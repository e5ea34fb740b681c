#pragma once
// The start of this program, as the kernel handed it over. Procfs would say the same, but a chroot
// or a sandbox may have none.

/// Stores the arguments of `main` and returns their number. Returns 0 if the C library did not hand
/// them over.
int csystem_arguments(char ***words);

/// getauxval(AT_EXECFN): the path by which exec found the program, or NULL.
const char *csystem_started_path(void);
