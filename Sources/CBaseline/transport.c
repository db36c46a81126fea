#include "sockets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct buffers {
    char *header, *body;
};

struct baseline_link {
    int ends[2];
    size_t header_bytes, body_bytes;
    struct buffers sent, received;
    // Of the run under way.
    int frames;
    int64_t interval;
};

static struct buffers make_buffers(size_t header_bytes, size_t body_bytes) {
    struct buffers buffers = {malloc(header_bytes), malloc(body_bytes)};
    memset(buffers.header, 1, header_bytes);
    memset(buffers.body, 1, body_bytes);
    return buffers;
}

static void free_buffers(struct buffers buffers) {
    free(buffers.header);
    free(buffers.body);
}

struct baseline_link *baseline_link_create(size_t header_bytes, size_t body_bytes) {
    struct baseline_link *link = calloc(1, sizeof *link);
    if (baseline_make_pair(link->ends, header_bytes + body_bytes) < 0) {
        free(link);
        return NULL;
    }
    link->header_bytes = header_bytes;
    link->body_bytes = body_bytes;
    link->sent = make_buffers(header_bytes, body_bytes);
    link->received = make_buffers(header_bytes, body_bytes);
    return link;
}

void baseline_link_destroy(struct baseline_link *link) {
    close(link->ends[0]);
    close(link->ends[1]);
    free_buffers(link->sent);
    free_buffers(link->received);
    free(link);
}

static void *send_frames(void *argument) {
    struct baseline_link *link = argument;
    int64_t start = baseline_now();
    for (int i = 0; i < link->frames; i++) {
        if (link->interval > 0) {
            baseline_sleep_until(start + i * link->interval);
            int64_t now = baseline_now();
            memcpy(link->sent.header, &now, sizeof now);
        }
        if (baseline_send_all(link->ends[0], link->sent.header, link->header_bytes, link->sent.body, link->body_bytes) < 0) {
            break;
        }
    }
    return NULL;
}

int baseline_link_run(struct baseline_link *link, int frames, int64_t interval, int64_t *latencies) {
    link->frames = frames;
    link->interval = interval;
    pthread_t thread;
    if (pthread_create(&thread, NULL, send_frames, link) != 0) return -1;
    int failed = 0;
    for (int i = 0; i < frames && !failed; i++) {
        failed = baseline_receive_all(link->ends[1], link->received.header, link->header_bytes) < 0
            || baseline_receive_all(link->ends[1], link->received.body, link->body_bytes) < 0;
        if (latencies == NULL) continue;
        int64_t sent;
        memcpy(&sent, link->received.header, sizeof sent);
        latencies[i] = baseline_now() - sent;
    }
    pthread_join(thread, NULL);
    return failed ? -1 : 0;
}
