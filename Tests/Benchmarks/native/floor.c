// The floor: answers every line with one canned answer and does not parse it. No program with a
// parser can be faster, and ratios to it hold on any machine.
#include <string.h>
#include <unistd.h>

static const char answer[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"revision\":6,\"accounts\":["
#define ACCOUNT(n)                                                                                    \
  "{\"account\":\"a_0123456789abcdefghijk" n "\",\"provider\":\"twitter\",\"username\":\"person" n "\"," \
  "\"displayName\":\"Person " n "\",\"subject\":\"100" n "\",\"health\":\"ok\",\"signedIn\":true,"    \
  "\"preferred\":false,\"addedAt\":1763712345}"
    ACCOUNT("1") "," ACCOUNT("2") "," ACCOUNT("3") "]}}\n";

static char in[1 << 16], out[1 << 18];

static int put(const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t n = write(1, bytes, count);
    if (n <= 0) return -1;
    bytes += n, count -= n;
  }
  return 0;
}

int main(void) {
  ssize_t got;
  size_t filled = 0;
  while ((got = read(0, in, sizeof in)) > 0) {
    for (char *at = in; (at = memchr(at, '\n', in + got - at)); at++) {
      if (filled + sizeof answer > sizeof out) {
        if (put(out, filled)) return 1;
        filled = 0;
      }
      memcpy(out + filled, answer, sizeof answer - 1);
      filled += sizeof answer - 1;
    }
    if (put(out, filled)) return 1;
    filled = 0;
  }
  return 0;
}
