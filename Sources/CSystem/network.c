#define _GNU_SOURCE
#include "CSystemNetwork.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int csystem_network_links(void) { return RTM_GETLINK; }

int csystem_network_routes(void) { return RTM_GETROUTE; }

static int open_socket(unsigned int groups) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (descriptor < 0) return -errno;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int error = errno;
  close(descriptor);
  return -error;
}

int csystem_network_watch(void) {
  // An interface or address takes routes with it without a report. The interface itself is reported, and so is the
  // local route of the address.
  return open_socket(RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
}

void csystem_network_clear(int descriptor) {
  char byte;
  ssize_t count;
  do count = recv(descriptor, &byte, sizeof byte, MSG_TRUNC);
  while (count >= 0 || errno == EINTR || errno == ENOBUFS);
}

int csystem_network_ask(int type, unsigned int sequence) {
  int descriptor = open_socket(0);
  if (descriptor < 0) return descriptor;
  struct {
    struct nlmsghdr header;
    struct rtgenmsg family;
  } request = {
      .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
                 .nlmsg_type = (unsigned short)type,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                 .nlmsg_seq = sequence},
      .family = {.rtgen_family = AF_UNSPEC},
  };
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  ssize_t count;
  do count = sendto(descriptor, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel);
  while (count < 0 && errno == EINTR);
  if (count >= 0) return descriptor;
  int error = errno;
  close(descriptor);
  return -error;
}

long csystem_network_read(int descriptor, void *bytes, long size) {
  while (1) {
    struct sockaddr_nl sender = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = (size_t)size};
    struct msghdr message = {
        .msg_name = &sender, .msg_namelen = sizeof sender, .msg_iov = &part, .msg_iovlen = 1};
    ssize_t count = recvmsg(descriptor, &message, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    // The kernel has the port 0. The port in a message's header is not the sender's.
    if (message.msg_namelen != sizeof sender || sender.nl_pid != 0) continue;
    return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : count;
  }
}
