#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// How far one connection is: bytes of the message under way, and messages that are done.
struct position {
    size_t bytes;
    int messages;
};

struct baseline_ends {
    int count;
    size_t message_bytes;
    struct pollfd *sockets;
    struct position *positions;
    // The message that all send, or one for each, as several are received at a time.
    char **messages;
    int message_count;
};

/// Ends without connections yet.
static struct baseline_ends *create(int count, size_t message_bytes, int message_count) {
    struct baseline_ends *ends = calloc(1, sizeof *ends);
    ends->message_bytes = message_bytes;
    ends->sockets = calloc((size_t)count, sizeof *ends->sockets);
    ends->positions = calloc((size_t)count, sizeof *ends->positions);
    ends->messages = calloc((size_t)message_count, sizeof *ends->messages);
    for (; ends->message_count < message_count; ends->message_count++) {
        ends->messages[ends->message_count] = malloc(message_bytes);
        memset(ends->messages[ends->message_count], 1, message_bytes);
    }
    return ends;
}

struct baseline_ends *baseline_ends_connect(const char *path, int count, size_t message_bytes) {
    struct baseline_ends *ends = create(count, message_bytes, 1);
    for (; ends->count < count; ends->count++) {
        int descriptor = baseline_connect(path);
        if (descriptor < 0) {
            baseline_ends_destroy(ends);
            return NULL;
        }
        baseline_make_room(descriptor, message_bytes);
        ends->sockets[ends->count].fd = descriptor;
    }
    return ends;
}

struct baseline_ends *baseline_ends_accept(int listener, int count, size_t message_bytes) {
    struct baseline_ends *ends = create(count, message_bytes, count);
    for (; ends->count < count; ends->count++) {
        int descriptor = accept(listener, NULL, NULL);
        if (descriptor < 0) {
            baseline_ends_destroy(ends);
            return NULL;
        }
        ends->sockets[ends->count].fd = descriptor;
    }
    return ends;
}

void baseline_ends_destroy(struct baseline_ends *ends) {
    for (int i = 0; i < ends->count; i++) close(ends->sockets[i].fd);
    for (int i = 0; i < ends->message_count; i++) free(ends->messages[i]);
    free(ends->sockets);
    free(ends->positions);
    free(ends->messages);
    free(ends);
}

/// The share that the slowest has received.
static double share_of_slowest(const struct baseline_ends *ends, int messages) {
    int least = messages;
    for (int i = 0; i < ends->count; i++) {
        if (ends->positions[i].messages < least) least = ends->positions[i].messages;
    }
    return (double)least / messages;
}

static double run(struct baseline_ends *ends, int messages, short event) {
    for (int i = 0; i < ends->count; i++) {
        ends->positions[i] = (struct position){0, 0};
        ends->sockets[i].events = event;
    }
    double share = -1;
    for (int left = ends->count; left > 0;) {
        if (poll(ends->sockets, (nfds_t)ends->count, -1) < 0) return -1;
        for (int i = 0; i < ends->count; i++) {
            if (ends->sockets[i].revents == 0) continue;
            struct position *position = &ends->positions[i];
            char *rest = ends->messages[i % ends->message_count] + position->bytes;
            size_t missing = ends->message_bytes - position->bytes;
            ssize_t bytes = event == POLLOUT
                ? send(ends->sockets[i].fd, rest, missing, MSG_NOSIGNAL | MSG_DONTWAIT)
                : recv(ends->sockets[i].fd, rest, missing, MSG_DONTWAIT);
            if (bytes < 0 && errno == EAGAIN) continue;
            if (bytes <= 0) return -1;
            position->bytes += (size_t)bytes;
            if (position->bytes < ends->message_bytes) continue;
            position->bytes = 0;
            if (++position->messages < messages) continue;
            ends->sockets[i].events = 0;
            if (share < 0) share = share_of_slowest(ends, messages);
            left--;
        }
    }
    return share;
}

int baseline_ends_send(struct baseline_ends *ends, int messages) {
    return run(ends, messages, POLLOUT) < 0 ? -1 : 0;
}

double baseline_ends_receive(struct baseline_ends *ends, int messages) {
    return run(ends, messages, POLLIN);
}
