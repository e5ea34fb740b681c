// A provider on loopback with canned valid bodies for reverse auth and for an authorization code,
// and with a minimum of HTTP, so that nearly all of a flow's cost is einlass's, libcurl's and the
// kernel's. `/count` answers the number of token requests. A refresh token `NUMBER.COUNT` is
// rotated: the next one is `NUMBER.COUNT+1`, each works once, and `/reused` answers the number of
// others. `provider stall` reads and never answers. Prints its port.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const char requestToken[] =
    "OAuth oauth_nonce=\"n0nce\", oauth_signature_method=\"HMAC-SHA1\", oauth_timestamp=\"1763712345\", "
    "oauth_consumer_key=\"application\", oauth_token=\"requesttoken\", oauth_signature=\"c2lnbmF0dXJl\", "
    "oauth_version=\"1.0\"";
static const char accessToken[] =
    "oauth_token=1001-accesstoken&oauth_token_secret=accesstokensecret&user_id=1001&screen_name=ada&"
    "x_auth_expires=0";
static const char identity[] =
    "{\"id\":1001,\"id_str\":\"1001\",\"name\":\"Ada Lovelace\",\"screen_name\":\"ada\","
    "\"email\":\"ada@example.org\",\"profile_image_url_https\":\"https://images.example.org/ada_normal.jpg\"}";

static const char token[] =
    "{\"access_token\":\"0123456789abcdef0123456789abcdef\",\"token_type\":\"Bearer\",\"expires_in\":3600,"
    "\"refresh_token\":\"fedcba9876543210fedcba9876543210\"}";
static long tokens, reused, rotated[1 << 17];

struct connection {
  size_t count;
  char bytes[1 << 15];
};
static struct connection *connections[1 << 12];
static int stalls;

// Returns the answer to a request for a token, in `text` if it rotates a refresh token.
static const char *turn(const char *request, char *text, size_t size) {
  const char *value = strstr(request, "refresh_token=");
  long number, count;
  if (!value || sscanf(value, "refresh_token=%ld.%ld", &number, &count) != 2) return token;
  if (number < 0 || number >= 1 << 17 || count != rotated[number]) {
    reused++;
    return "{\"error\":\"invalid_grant\"}";
  }
  snprintf(text, size,
           "{\"access_token\":\"a%ld.%ld\",\"token_type\":\"Bearer\",\"expires_in\":3600,"
           "\"refresh_token\":\"%ld.%ld\"}",
           number, count + 1, number, count + 1);
  rotated[number]++;
  return text;
}

// Answers the complete requests; returns false if the connection is to be closed.
static int answer(int fd, struct connection *c) {
  char *end;
  while ((end = memmem(c->bytes, c->count, "\r\n\r\n", 4))) {
    size_t whole = end + 4 - c->bytes;
    *end = 0;
    char *length = strcasestr(c->bytes, "\r\ncontent-length:");
    if (length) whole += strtoul(length + 17, NULL, 10);
    if (whole > c->count) {
      *end = '\r';
      return whole < sizeof c->bytes;
    }
    // The body is behind the head, which ends with a zero now.
    char after = c->bytes[whole], text[1024], made[256];
    c->bytes[whole] = 0;
    const char *type = "text/html; charset=utf-8", *body = identity;
    if (strstr(c->bytes, "/oauth/request_token")) body = requestToken;
    else if (strstr(c->bytes, "/oauth/access_token")) body = accessToken;
    else type = "application/json";
    if (strstr(c->bytes, "/token ")) body = turn(end + 4, made, sizeof made), tokens++;
    else if (strstr(c->bytes, "/count ")) snprintf(made, sizeof made, "%ld", tokens), body = made;
    else if (strstr(c->bytes, "/reused ")) snprintf(made, sizeof made, "%ld", reused), body = made;
    c->bytes[whole] = after;
    int n = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                     strstr(body, "\"error\"") ? "400 Bad Request" : "200 OK", type, strlen(body), body);
    if (!stalls && write(fd, text, n) != n) return 0;
    memmove(c->bytes, c->bytes + whole, c->count -= whole);
  }
  return 1;
}

int main(int argc, char **argv) {
  stalls = argc > 1 && !strcmp(argv[1], "stall");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0), poller = epoll_create1(0), one = 1;
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 512)) return 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
  while (epoll_wait(poller, &event, 1, -1) == 1) {
    int fd = event.data.fd;
    if (fd == listener) {
      if ((fd = accept(listener, NULL, NULL)) < 0) continue;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      connections[fd] = calloc(1, sizeof(struct connection));
      event.data.fd = fd;
      epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
      continue;
    }
    struct connection *c = connections[fd];
    ssize_t got = read(fd, c->bytes + c->count, sizeof c->bytes - 1 - c->count);
    if (got > 0) c->count += got;
    if (got <= 0 || !answer(fd, c)) {
      close(fd);
      free(c);
    }
  }
}
