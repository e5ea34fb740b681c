// Preloaded into a program: the C library starts it without arguments.
#define _GNU_SOURCE
#include <dlfcn.h>

typedef int Start(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments, void (*begin)(void),
                      void (*end)(void), void (*unload)(void), void *stack) {
  (void)count;
  return ((Start *)dlsym(RTLD_NEXT, "__libc_start_main"))(main, 0, arguments, begin, end, unload, stack);
}
