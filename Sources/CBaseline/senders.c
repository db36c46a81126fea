#include "baseline_senders.h"

#include "baseline_transport.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

/// How far one end of a pair is: bytes of the message under way, and messages that are done.
struct position {
    size_t bytes;
    int messages;
};

struct baseline_senders {
    int count, frames;
    size_t head_bytes, body_bytes;
    struct pollfd *writers, *readers;
    struct position *sent, *received;
    char *head, *body;
    // One for each pair, as several are received at a time.
    char **heads, **bodies;
};

static char *filled(size_t bytes) {
    char *memory = malloc(bytes);
    memset(memory, 1, bytes);
    return memory;
}

struct baseline_senders *baseline_senders_create(int count, size_t head_bytes, size_t body_bytes) {
    struct baseline_senders *senders = calloc(1, sizeof *senders);
    senders->head_bytes = head_bytes;
    senders->body_bytes = body_bytes;
    senders->writers = calloc((size_t)count, sizeof *senders->writers);
    senders->readers = calloc((size_t)count, sizeof *senders->readers);
    senders->sent = calloc((size_t)count, sizeof *senders->sent);
    senders->received = calloc((size_t)count, sizeof *senders->received);
    senders->heads = calloc((size_t)count, sizeof *senders->heads);
    senders->bodies = calloc((size_t)count, sizeof *senders->bodies);
    senders->head = filled(head_bytes);
    senders->body = filled(body_bytes);
    for (; senders->count < count; senders->count++) {
        int i = senders->count, ends[2];
        if (baseline_make_pair(ends, head_bytes + body_bytes) < 0) {
            baseline_senders_destroy(senders);
            return NULL;
        }
        senders->writers[i].fd = ends[0];
        senders->readers[i].fd = ends[1];
        senders->heads[i] = filled(head_bytes);
        senders->bodies[i] = filled(body_bytes);
    }
    return senders;
}

void baseline_senders_destroy(struct baseline_senders *senders) {
    for (int i = 0; i < senders->count; i++) {
        close(senders->writers[i].fd);
        close(senders->readers[i].fd);
        free(senders->heads[i]);
        free(senders->bodies[i]);
    }
    free(senders->writers);
    free(senders->readers);
    free(senders->sent);
    free(senders->received);
    free(senders->heads);
    free(senders->bodies);
    free(senders->head);
    free(senders->body);
    free(senders);
}

/// The rest of a message.
static struct msghdr rest(const struct baseline_senders *senders, size_t done, char *head, char *body,
                          struct iovec vectors[2]) {
    size_t of_head = done < senders->head_bytes ? done : senders->head_bytes;
    size_t of_body = done - of_head;
    vectors[0] = (struct iovec){head + of_head, senders->head_bytes - of_head};
    vectors[1] = (struct iovec){body + of_body, senders->body_bytes - of_body};
    return (struct msghdr){.msg_iov = vectors, .msg_iovlen = 2};
}

/// Counts transferred bytes; returns true if a message is complete.
static int advance(const struct baseline_senders *senders, struct position *position, ssize_t bytes) {
    position->bytes += (size_t)bytes;
    if (position->bytes < senders->head_bytes + senders->body_bytes) return 0;
    position->bytes = 0;
    position->messages++;
    return 1;
}

static void *send_to_all(void *argument) {
    struct baseline_senders *senders = argument;
    for (int left = senders->count; left > 0;) {
        if (poll(senders->writers, (nfds_t)senders->count, -1) < 0) return NULL;
        for (int i = 0; i < senders->count; i++) {
            if (senders->writers[i].revents == 0) continue;
            struct iovec vectors[2];
            struct msghdr message = rest(senders, senders->sent[i].bytes, senders->head, senders->body, vectors);
            ssize_t bytes = sendmsg(senders->writers[i].fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (bytes <= 0 || !advance(senders, &senders->sent[i], bytes)) continue;
            if (senders->sent[i].messages < senders->frames) continue;
            senders->writers[i].events = 0;
            left--;
        }
    }
    return NULL;
}

/// The share that the slowest has received.
static double share_of_slowest(const struct baseline_senders *senders) {
    int least = senders->frames;
    for (int i = 0; i < senders->count; i++) {
        if (senders->received[i].messages < least) least = senders->received[i].messages;
    }
    return (double)least / senders->frames;
}

double baseline_senders_run(struct baseline_senders *senders, int frames) {
    senders->frames = frames;
    for (int i = 0; i < senders->count; i++) {
        senders->sent[i] = senders->received[i] = (struct position){0, 0};
        senders->writers[i].events = POLLOUT;
        senders->readers[i].events = POLLIN;
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, send_to_all, senders) != 0) return -1;
    double share = -1;
    for (int left = senders->count; left > 0;) {
        if (poll(senders->readers, (nfds_t)senders->count, -1) < 0) break;
        for (int i = 0; i < senders->count; i++) {
            if (senders->readers[i].revents == 0) continue;
            struct iovec vectors[2];
            struct msghdr message =
                rest(senders, senders->received[i].bytes, senders->heads[i], senders->bodies[i], vectors);
            ssize_t bytes = recvmsg(senders->readers[i].fd, &message, MSG_DONTWAIT);
            if (bytes <= 0 || !advance(senders, &senders->received[i], bytes)) continue;
            if (senders->received[i].messages < frames) continue;
            if (share < 0) share = share_of_slowest(senders);
            left--;
        }
    }
    pthread_join(thread, NULL);
    return share;
}
