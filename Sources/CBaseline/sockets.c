#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t baseline_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void baseline_sleep_until(int64_t time) {
#if defined(__linux__)
    struct timespec until = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
#else
    for (int64_t left; (left = time - baseline_now()) > 0;) {
        struct timespec duration = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        nanosleep(&duration, NULL);
    }
#endif
}

int baseline_make_pair(int ends[2], size_t message_bytes) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return -1;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    baseline_make_room(ends[0], message_bytes);
    return 0;
}

void baseline_make_room(int socket, size_t message_bytes) {
    int buffer = (int)(2 * message_bytes);
    int usual = 0;
    socklen_t length = sizeof usual;
    getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &usual, &length);
    if (buffer > usual / 2) setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
}

/// A new socket, and the address of a path. Returns the descriptor, or -1.
static int make_socket(const char *path, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path) return -1;
    strcpy(address->sun_path, path);
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

int baseline_connect(const char *path) {
    struct sockaddr_un address;
    int descriptor = make_socket(path, &address);
    if (descriptor < 0) return -1;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

int baseline_listen(const char *path) {
    struct sockaddr_un address;
    int descriptor = make_socket(path, &address);
    if (descriptor < 0) return -1;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    unlink(path);
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0 && listen(descriptor, SOMAXCONN) == 0) {
        return descriptor;
    }
    close(descriptor);
    return -1;
}

int baseline_send_all(int socket, const void *header, size_t header_bytes, const void *body, size_t body_bytes) {
    struct iovec vectors[2] = {{(void *)header, header_bytes}, {(void *)body, body_bytes}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    size_t left = header_bytes + body_bytes;
    while (left > 0) {
        ssize_t count = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (count <= 0) return -1;
        left -= (size_t)count;
        for (int i = 0; i < 2; i++) {
            size_t taken = (size_t)count < vectors[i].iov_len ? (size_t)count : vectors[i].iov_len;
            vectors[i].iov_base = (char *)vectors[i].iov_base + taken;
            vectors[i].iov_len -= taken;
            count -= (ssize_t)taken;
        }
    }
    return 0;
}

int baseline_receive_all(int socket, void *bytes, size_t count) {
    for (size_t got = 0; got < count;) {
        ssize_t now_got = recv(socket, (char *)bytes + got, count - got, 0);
        if (now_got <= 0) return -1;
        got += (size_t)now_got;
    }
    return 0;
}
