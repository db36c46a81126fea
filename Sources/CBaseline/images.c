#include "baseline_images.h"

#include "baseline_transport.h"
#include "codec.h"
#include "sockets.h"

#include <pthread.h>
#include <unistd.h>

struct head {
    int64_t began, bytes;
};

int64_t baseline_send_images(int socket, struct baseline_codec *codec, const struct baseline_images *images,
                               int frames, int64_t interval) {
    int64_t start = baseline_now();
    for (int i = 0; i < frames; i++) {
        if (interval > 0) baseline_sleep_until(start + i * interval);
        struct head head = {.began = baseline_now()};
        head.bytes = baseline_encode(codec, images->pixels[i % images->count], images->stride, images->quality);
        if (head.bytes < 0) return -1;
        if (baseline_send_all(socket, &head, sizeof head, codec->jpeg, (size_t)head.bytes) < 0) return -1;
    }
    return start;
}

int baseline_receive_images(int socket, struct baseline_codec *codec, int frames, int64_t *latencies) {
    for (int i = 0; i < frames; i++) {
        struct head head;
        if (baseline_receive_all(socket, &head, sizeof head) < 0 || head.bytes > (int64_t)codec->capacity
            || baseline_receive_all(socket, codec->jpeg, (size_t)head.bytes) < 0
            || baseline_decode(codec, codec->jpeg, (size_t)head.bytes) < 0) return -1;
        if (latencies != NULL) latencies[i] = baseline_now() - head.began;
    }
    return 0;
}

struct sending {
    int socket, frames;
    struct baseline_codec *codec;
    const struct baseline_images *images;
};

static void *send_images(void *argument) {
    struct sending *sending = argument;
    int64_t start = baseline_send_images(sending->socket, sending->codec, sending->images, sending->frames, 0);
    // The receiver, which waits for more, is told of a failure by the end of the stream.
    if (start < 0) close(sending->socket);
    return start < 0 ? argument : NULL;
}

int baseline_end_to_end(struct baseline_codec *sender, struct baseline_codec *receiver,
                        const struct baseline_images *images, int frames) {
    int ends[2];
    // As much as two images of a screen.
    if (baseline_make_pair(ends, 1 << 19) < 0) return -1;
    struct sending sending = {ends[0], frames, sender, images};
    pthread_t thread;
    void *failure = NULL;
    int status = -1;
    if (pthread_create(&thread, NULL, send_images, &sending) == 0) {
        status = baseline_receive_images(ends[1], receiver, frames, NULL);
        close(ends[1]);
        pthread_join(thread, &failure);
    } else {
        close(ends[1]);
    }
    if (failure == NULL) close(ends[0]);
    return status;
}
