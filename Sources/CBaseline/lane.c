#include "baseline_lane.h"

#include "baseline_transport.h"
#include "lane_pool.h"
#include "sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/// Images of the sender's own, drawn into in turns, as a screen with two buffers is.
enum { IMAGES = 2 };

struct baseline_lane_sender {
    int socket;
    struct baseline_lane_shape shape;
    struct lane_pool pool;
    bool is_free[LANE_BUFFERS];
    uint8_t *images[IMAGES];
    uint64_t number;
    // Releases that have come, the last one perhaps in part.
    char releases[LANE_BUFFERS * sizeof(struct lane_release)];
    size_t release_bytes;
};

struct baseline_lane_receiver {
    int socket;
    struct baseline_lane_shape shape;
    struct lane_pool pool;
};

// MARK: Rows

static int changed_rows(int rows, int permille, int *first) {
    int count = rows * permille / 1000;
    if (count < 1) count = 1;
    *first = (rows - count) / 2;
    return count;
}

void baseline_lane_mark(uint8_t *plane, int stride, int rows, int permille, uint64_t number) {
    int first, count = changed_rows(rows, permille, &first);
    for (int i = first; i < first + count; i++) memcpy(plane + (size_t)i * (size_t)stride, &number, sizeof number);
}

int baseline_lane_read(const uint8_t *plane, int stride, int rows, int bytes, int permille, uint64_t number) {
    if (bytes > stride) bytes = stride;
    if (bytes <= 0) return 0;
    for (int i = 0; i < rows; i++) {
        // Volatile: what is loaded is not used.
        const volatile uint8_t *row = plane + (size_t)i * (size_t)stride;
        for (int j = 0; j < bytes; j += 64) (void)row[j];
    }
    int first, count = changed_rows(rows, permille, &first), status = 0;
    for (int i = first; i < first + count; i++) {
        if (memcmp(plane + (size_t)i * (size_t)stride, &number, sizeof number) != 0) status = -1;
    }
    return status;
}

static void mark_frame(uint8_t *frame, struct baseline_lane_shape shape, int permille, uint64_t number) {
    for (int i = 0; i < shape.planes; i++) {
        baseline_lane_mark(frame, shape.strides[i], shape.rows[i], permille, number);
        frame += (size_t)shape.strides[i] * (size_t)shape.rows[i];
    }
}

static int read_frame(const uint8_t *frame, struct baseline_lane_shape shape, int bytes, int permille,
                      uint64_t number) {
    for (int i = 0; i < shape.planes; i++) {
        if (baseline_lane_read(frame, shape.strides[i], shape.rows[i], bytes, permille, number) < 0) return -1;
        frame += (size_t)shape.strides[i] * (size_t)shape.rows[i];
    }
    return 0;
}

// MARK: Sending

struct baseline_lane_sender *baseline_lane_sender_create(int socket, struct baseline_lane_shape shape) {
    struct baseline_lane_sender *sender = calloc(1, sizeof *sender);
    sender->socket = socket;
    sender->shape = shape;
    size_t bytes = lane_bytes(shape);
    for (int i = 0; i < IMAGES; i++) {
        // Filled: pages that nobody has written are all the same one.
        if (posix_memalign((void **)&sender->images[i], 4096, bytes) == 0) memset(sender->images[i], 1, bytes);
    }
    if (sender->images[0] == NULL || sender->images[1] == NULL || lane_pool_pass(&sender->pool, bytes, socket) < 0) {
        baseline_lane_sender_destroy(sender);
        return NULL;
    }
    for (int i = 0; i < LANE_BUFFERS; i++) sender->is_free[i] = true;
    return sender;
}

void baseline_lane_sender_destroy(struct baseline_lane_sender *sender) {
    lane_pool_unmap(&sender->pool);
    for (int i = 0; i < IMAGES; i++) free(sender->images[i]);
    free(sender);
}

/// Reads the releases that have come. Returns 0 also if there are none and `flags` say not to wait, or -1.
static int take_releases(struct baseline_lane_sender *sender, int flags) {
    ssize_t count = recv(sender->socket, sender->releases + sender->release_bytes,
                         sizeof sender->releases - sender->release_bytes, flags);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (count <= 0) return -1;
    sender->release_bytes += (size_t)count;
    size_t used = 0;
    for (; sender->release_bytes - used >= sizeof(struct lane_release); used += sizeof(struct lane_release)) {
        struct lane_release release;
        memcpy(&release, sender->releases + used, sizeof release);
        if (release.buffer >= LANE_BUFFERS) return -1;
        sender->is_free[release.buffer] = true;
    }
    sender->release_bytes -= used;
    memmove(sender->releases, sender->releases + used, sender->release_bytes);
    return 0;
}

/// Waits for a free buffer. Returns its index, or -1.
static int take_buffer(struct baseline_lane_sender *sender) {
    if (take_releases(sender, MSG_DONTWAIT) < 0) return -1;
    for (;;) {
        for (int i = 0; i < LANE_BUFFERS; i++) {
            if (!sender->is_free[i]) continue;
            sender->is_free[i] = false;
            return i;
        }
        if (take_releases(sender, 0) < 0) return -1;
    }
}

int64_t baseline_lane_send(struct baseline_lane_sender *sender, enum baseline_lane_mode mode, int permille, int frames,
                           int64_t interval) {
    int64_t start = baseline_now();
    for (int i = 0; i < frames; i++) {
        if (interval > 0) baseline_sleep_until(start + i * interval);
        struct lane_header header = {.number = ++sender->number};
        uint8_t *image = sender->images[header.number % IMAGES];
        // What a program draws into memory of its own it has drawn before it asks for a buffer.
        if (mode == BASELINE_LANE_COPIED) {
            mark_frame(image, sender->shape, permille, header.number);
            header.submitted = baseline_now();
        }
        int index = take_buffer(sender);
        if (index < 0) return -1;
        uint8_t *buffer = sender->pool.buffers[index];
        if (mode == BASELINE_LANE_COPIED) {
            memcpy(buffer, image, sender->pool.bytes);
        } else {
            if (mode == BASELINE_LANE_DRAWN) memset(buffer, (int)(header.number & 0xff), sender->pool.bytes);
            mark_frame(buffer, sender->shape, permille, header.number);
            header.submitted = baseline_now();
        }
        header.buffer = (uint32_t)index;
        if (baseline_send_all(sender->socket, &header, sizeof header, NULL, 0) < 0) return -1;
    }
    return start;
}

// MARK: Receiving

struct baseline_lane_receiver *baseline_lane_receiver_create(int socket, struct baseline_lane_shape shape) {
    struct baseline_lane_receiver *receiver = calloc(1, sizeof *receiver);
    receiver->socket = socket;
    receiver->shape = shape;
    if (lane_pool_receive(&receiver->pool, lane_bytes(shape), socket) == 0) return receiver;
    baseline_lane_receiver_destroy(receiver);
    return NULL;
}

void baseline_lane_receiver_destroy(struct baseline_lane_receiver *receiver) {
    lane_pool_unmap(&receiver->pool);
    free(receiver);
}

int baseline_lane_receive(struct baseline_lane_receiver *receiver, int bytes, int permille, int frames,
                          int64_t *latencies) {
    for (int i = 0; i < frames; i++) {
        struct lane_header header;
        if (baseline_receive_all(receiver->socket, &header, sizeof header) < 0) return -1;
        if (header.buffer >= LANE_BUFFERS) return -1;
        const uint8_t *buffer = receiver->pool.buffers[header.buffer];
        if (read_frame(buffer, receiver->shape, bytes, permille, header.number) < 0) return -1;
        latencies[i] = baseline_now() - header.submitted;
        struct lane_release release = {.buffer = header.buffer};
        if (baseline_send_all(receiver->socket, &release, sizeof release, NULL, 0) < 0) return -1;
    }
    return 0;
}
