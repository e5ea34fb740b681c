#include <stddef.h>
#include <stdint.h>

/// libFuzzer's own loop; the callback answers 0 for every input.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
