// Takes the place of another library and creates the file PLANTED when it is loaded.
#include <fcntl.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void) {
  const char *path = getenv("PLANTED");
  if (path) open(path, O_CREAT | O_WRONLY, 0600);
}
