#pragma once
// rtnetlink(7): the system's links and routes. The headers of Linux are not open to Swift.

/// The type of a request for all links.
int csystem_network_links(void);

/// The type of a request for all routes.
int csystem_network_routes(void);

/// Opens a socket that becomes readable at each change of a link or a route, non-blocking and
/// close-on-exec. Returns it or minus an errno.
int csystem_network_watch(void);

/// Discards all messages so far, and the error of messages that were lost.
void csystem_network_clear(int descriptor);

/// Opens a socket and asks for all entries of this type. Returns it, non-blocking and
/// close-on-exec, or minus an errno. The answers have this sequence number.
int csystem_network_ask(int type, unsigned int sequence);

/// Reads the next messages of the kernel. Those of other senders are discarded. Returns their size
/// or minus an errno: EAGAIN if there are none, EMSGSIZE if they are longer than the buffer.
long csystem_network_read(int descriptor, void *bytes, long size);
