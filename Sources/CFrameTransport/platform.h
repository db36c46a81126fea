// What the files of this module need of each other.

#ifndef PLATFORM_H
#define PLATFORM_H

/// The address family of a socket; AF_UNSPEC if it is none.
int frame_socket_family(int descriptor);

/// Sends what is written to a TCP socket at once.
void frame_socket_send_without_delay(int descriptor, int family);

/// Allows a TCP socket to bind to a port that still has connections in TIME_WAIT.
void frame_socket_reuse_address(int descriptor, int family);

#endif
