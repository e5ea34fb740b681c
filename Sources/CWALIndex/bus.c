// A SIGBUS in a mapped index does not end the process: a copy in memory replaces the unwritable
// chunk.
#define _GNU_SOURCE
#include "index.h"

#include "CSystem.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { most_chunks = 1024 };

static struct {
  _Atomic(char *) chunk;
  off_t offset;
  struct walindex *index;
} watched[most_chunks];

static long size;
static struct sigaction former;

long chunk_size(void) { return size; }

/// Async-signal-safe. Reads the file and not its mapping, because the mapping could fail again.
static int replace(char *address) {
  for (int number = 0; number < most_chunks; number++) {
    char *chunk = atomic_load(&watched[number].chunk);
    if (!chunk || address < chunk || address >= chunk + size) continue;
    struct walindex *index = watched[number].index;
    void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED || pread(index->descriptor, copy, size, watched[number].offset) < 0) return -1;
    if (csystem_move_memory(copy, size, chunk) != 0) return -1;
    index->is_lost = index->has_failed = 1;
    return 0;
  }
  return -1;
}

/// Passes a SIGBUS at any other address to the previous handler.
static void on_bus_error(int number, siginfo_t *information, void *context) {
  if (replace(information->si_addr) == 0) return;
  if (former.sa_flags & SA_SIGINFO) former.sa_sigaction(number, information, context);
  else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) former.sa_handler(number);
  else sigaction(SIGBUS, &former, NULL); // the instruction then raises it again
}

void watch_bus(void) {
  long page = sysconf(_SC_PAGESIZE);
  size = page > 32768 ? page : 32768;
  struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &former);
}

int watch_chunk(void *chunk, off_t offset, struct walindex *index) {
  for (int number = 0; number < most_chunks; number++) {
    char *none = NULL, *reserved = (char *)-1L - size;
    if (!atomic_compare_exchange_strong(&watched[number].chunk, &none, reserved)) continue;
    watched[number].offset = offset;
    watched[number].index = index;
    atomic_store(&watched[number].chunk, chunk);
    return 0;
  }
  return -1;
}

void unwatch_chunk(void *chunk) {
  for (int number = 0; number < most_chunks; number++) {
    char *same = chunk;
    if (atomic_compare_exchange_strong(&watched[number].chunk, &same, NULL)) return;
  }
}
