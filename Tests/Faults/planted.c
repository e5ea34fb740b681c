// A library in the place of another: says that it was loaded.
#include <fcntl.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void) {
  const char *path = getenv("PLANTED");
  if (path) open(path, O_CREAT | O_WRONLY, 0600);
}
