#if defined(__linux__)

#define _GNU_SOURCE

#include "sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// The buffers of a pool, and the images of the sender's own, drawn into in turns, as a screen with two buffers is.
enum { BUFFERS = 3, IMAGES = 2 };

/// What goes ahead of each frame: as long as the text of a protocol.
struct header {
    uint64_t number;
    int64_t submitted;
    uint32_t buffer;
    char rest[280];
};

/// What comes back when a frame has been read.
struct release {
    uint32_t buffer;
    char rest[60];
};

struct baseline_lane {
    int socket, stride, rows;
    size_t bytes;
    uint8_t *buffers;
    // Of the sender.
    bool is_free[BUFFERS];
    uint8_t *images[IMAGES];
    uint64_t number;
};

// MARK: Rows

void baseline_lane_mark(uint8_t *frame, int stride, int rows, uint64_t number) {
    for (int i = 0; i < rows; i++) memcpy(frame + (size_t)i * (size_t)stride, &number, sizeof number);
}

int baseline_lane_read(const uint8_t *frame, int stride, int rows, uint64_t number) {
    int status = 0;
    for (int i = 0; i < rows; i++) {
        if (memcmp(frame + (size_t)i * (size_t)stride, &number, sizeof number) != 0) status = -1;
    }
    return status;
}

// MARK: The pool

int baseline_lane_make_memory(int stride, int rows) {
    int memory = memfd_create("lane", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, BUFFERS * (off_t)stride * rows) == 0) return memory;
    close(memory);
    return -1;
}

static struct baseline_lane *create(int socket, int memory, int protection, int stride, int rows) {
    struct baseline_lane *lane = calloc(1, sizeof *lane);
    lane->socket = socket;
    lane->stride = stride;
    lane->rows = rows;
    lane->bytes = (size_t)stride * (size_t)rows;
    lane->buffers = mmap(NULL, BUFFERS * lane->bytes, protection, MAP_SHARED, memory, 0);
    if (lane->buffers != MAP_FAILED) return lane;
    free(lane);
    return NULL;
}

void baseline_lane_destroy(struct baseline_lane *lane) {
    munmap(lane->buffers, BUFFERS * lane->bytes);
    for (int i = 0; i < IMAGES; i++) free(lane->images[i]);
    free(lane);
}

// MARK: Sending

struct baseline_lane *baseline_lane_create_sender(int socket, int memory, int stride, int rows) {
    struct baseline_lane *lane = create(socket, memory, PROT_READ | PROT_WRITE, stride, rows);
    if (lane == NULL) return NULL;
    for (int i = 0; i < IMAGES; i++) {
        // Filled: pages that nobody has written are all the same one.
        if (posix_memalign((void **)&lane->images[i], 4096, lane->bytes) == 0) memset(lane->images[i], 1, lane->bytes);
    }
    for (int i = 0; i < BUFFERS; i++) lane->is_free[i] = true;
    return lane;
}

/// Reads the releases that have come: each is read whole, as it was sent. Does not fail if there are none and `flags` say
/// not to wait.
static int take_releases(struct baseline_lane *lane, int flags) {
    struct release releases[BUFFERS];
    ssize_t count = recv(lane->socket, releases, sizeof releases, flags);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (count <= 0 || (size_t)count % sizeof *releases != 0) return -1;
    for (size_t i = 0; i < (size_t)count / sizeof *releases; i++) {
        if (releases[i].buffer >= BUFFERS) return -1;
        lane->is_free[releases[i].buffer] = true;
    }
    return 0;
}

/// Waits for a free buffer. Returns its index, or -1.
static int take_buffer(struct baseline_lane *lane) {
    for (int flags = MSG_DONTWAIT;; flags = 0) {
        if (take_releases(lane, flags) < 0) return -1;
        for (int i = 0; i < BUFFERS; i++) {
            if (!lane->is_free[i]) continue;
            lane->is_free[i] = false;
            return i;
        }
    }
}

int baseline_lane_send(struct baseline_lane *lane, int frames, int64_t interval) {
    int64_t start = baseline_now();
    for (int i = 0; i < frames; i++) {
        baseline_sleep_until(start + i * interval);
        struct header header = {.number = ++lane->number};
        uint8_t *image = lane->images[header.number % IMAGES];
        baseline_lane_mark(image, lane->stride, lane->rows, header.number);
        header.submitted = baseline_now();
        int index = take_buffer(lane);
        if (index < 0) return -1;
        memcpy(lane->buffers + (size_t)index * lane->bytes, image, lane->bytes);
        header.buffer = (uint32_t)index;
        if (baseline_send_all(lane->socket, &header, sizeof header, NULL, 0) < 0) return -1;
    }
    return 0;
}

// MARK: Receiving

struct baseline_lane *baseline_lane_create_receiver(int socket, int memory, int stride, int rows) {
    return create(socket, memory, PROT_READ, stride, rows);
}

int baseline_lane_receive(struct baseline_lane *lane, int frames, int64_t *latencies) {
    for (int i = 0; i < frames; i++) {
        struct header header;
        if (baseline_receive_all(lane->socket, &header, sizeof header) < 0 || header.buffer >= BUFFERS) return -1;
        const uint8_t *buffer = lane->buffers + header.buffer * lane->bytes;
        if (baseline_lane_read(buffer, lane->stride, lane->rows, header.number) < 0) return -1;
        latencies[i] = baseline_now() - header.submitted;
        struct release release = {.buffer = header.buffer};
        if (baseline_send_all(lane->socket, &release, sizeof release, NULL, 0) < 0) return -1;
    }
    return 0;
}

#endif
