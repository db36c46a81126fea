// What is the same on every system.

#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "CFrameTransport.h"
#include "platform.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int frame_thread_start(void *(*routine)(void *), void *argument, uintptr_t *thread) {
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t handle;
    error = pthread_create(&handle, &attributes, routine, argument);
    pthread_attr_destroy(&attributes);
    if (error == 0) *thread = (uintptr_t)handle;
    return error;
}

uintptr_t frame_thread_current(void) {
    return (uintptr_t)pthread_self();
}

void frame_thread_block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

void frame_socket_send_without_delay(int descriptor, int family) {
    int on = 1;
    if (family == AF_INET) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void frame_socket_reuse_address(int descriptor, int family) {
    int on = 1;
    if (family == AF_INET) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

int frame_socket_family(int descriptor) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    return getsockname(descriptor, (struct sockaddr *)&address, &length) < 0 ? AF_UNSPEC : address.ss_family;
}

bool frame_socket_is_local(int descriptor) {
    return frame_socket_family(descriptor) == AF_UNIX;
}

int frame_socket_port(int descriptor) {
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) < 0) return -1;
    return ntohs(address.sin_port);
}

int frame_socket_is_own_peer(int descriptor) {
    struct sockaddr_in own = {0}, peer = {0};
    socklen_t own_length = sizeof own, peer_length = sizeof peer;
    if (getsockname(descriptor, (struct sockaddr *)&own, &own_length) < 0) return -1;
    if (getpeername(descriptor, (struct sockaddr *)&peer, &peer_length) < 0) return -1;
    return own.sin_family == AF_INET && own.sin_port == peer.sin_port && own.sin_addr.s_addr == peer.sin_addr.s_addr;
}

// The value of an option; -1 if the system does not tell.
static int option(int descriptor, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) < 0 ? -1 : value;
}

int frame_listener_inspect(int descriptor, struct frame_listener *listener, char *path, size_t capacity) {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in internet;
        struct sockaddr_storage storage;
    } address = {0};
    socklen_t length = sizeof address;
    if (getsockname(descriptor, &address.any, &length) < 0) return -1;
    *listener = (struct frame_listener){
        .family = address.any.sa_family,
        .is_stream = option(descriptor, SO_TYPE) == SOCK_STREAM,
        // Apple's systems do not tell: on one that does not, accepting fails.
        .is_listening = option(descriptor, SO_ACCEPTCONN) != 0,
    };
    size_t count = 0;
    if (listener->family == AF_INET) {
        listener->port = ntohs(address.internet.sin_port);
        listener->is_loopback = address.internet.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    } else if (listener->family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path)) {
        const char *name = address.local.sun_path;
        count = length - offsetof(struct sockaddr_un, sun_path);
        if (count > sizeof address.local.sun_path) count = sizeof address.local.sun_path;
        // The length may count the NUL byte that ends a path; one at its start begins an abstract name.
        if (name[0] != 0) count = strnlen(name, count);
        if (count >= capacity) count = capacity - 1;
        memcpy(path, name, count);
        if (count > 0 && path[0] == 0) path[0] = '@';
    }
    path[count] = 0;
    return 0;
}

int frame_socket_error(int descriptor) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}
