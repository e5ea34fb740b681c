#include "CSystemProgram.h"

#include <sys/auxv.h>

static int count;
static char **arguments;

// glibc passes the arguments of `main` to each constructor.
__attribute__((constructor)) static void keep(int number, char **words) {
  count = number;
  arguments = words;
}

int csystem_arguments(char ***words) {
  *words = arguments;
  return count;
}

const char *csystem_started_path(void) { return (const char *)getauxval(AT_EXECFN); }
