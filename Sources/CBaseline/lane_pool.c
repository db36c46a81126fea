#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "lane_pool.h"

size_t lane_bytes(struct baseline_lane_shape shape) {
    size_t bytes = 0;
    for (int i = 0; i < shape.planes; i++) bytes += (size_t)shape.strides[i] * (size_t)shape.rows[i];
    return bytes;
}

#if defined(__linux__)

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL };

static void close_all(const int *descriptors) {
    for (int i = 0; i < LANE_BUFFERS; i++) {
        if (descriptors[i] >= 0) close(descriptors[i]);
    }
}

static int make_buffer(size_t bytes, uint8_t **memory) {
    int descriptor = memfd_create("lane", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    if (ftruncate(descriptor, (off_t)bytes) == 0) {
        void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        // Sealed after it has been mapped: the seal on future writes spares this mapping alone.
        if (mapped != MAP_FAILED) {
            *memory = mapped;
            if (fcntl(descriptor, F_ADD_SEALS, SEALS) == 0) return descriptor;
        }
    }
    close(descriptor);
    return -1;
}

/// Room for the descriptors of a pool, aligned as its header must be.
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(LANE_BUFFERS * sizeof(int))];
};

static int pass(int socket, const int *descriptors) {
    union control control = {0};
    char byte = 0;
    struct iovec vector = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(LANE_BUFFERS * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, LANE_BUFFERS * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int lane_pool_pass(struct lane_pool *pool, size_t bytes, int socket) {
    int descriptors[LANE_BUFFERS], status = 0;
    *pool = (struct lane_pool){.bytes = bytes};
    for (int i = 0; i < LANE_BUFFERS; i++) {
        descriptors[i] = make_buffer(bytes, &pool->buffers[i]);
        if (descriptors[i] < 0) status = -1;
    }
    if (status == 0) status = pass(socket, descriptors);
    close_all(descriptors);
    return status;
}

int lane_pool_receive(struct lane_pool *pool, size_t bytes, int socket) {
    union control control = {0};
    char byte;
    struct iovec vector = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *pool = (struct lane_pool){.bytes = bytes};
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS
        || header->cmsg_len != CMSG_LEN(LANE_BUFFERS * sizeof(int))) return -1;
    int descriptors[LANE_BUFFERS], status = 0;
    memcpy(descriptors, CMSG_DATA(header), sizeof descriptors);
    for (int i = 0; i < LANE_BUFFERS && status == 0; i++) {
        struct stat file;
        int seals = fcntl(descriptors[i], F_GET_SEALS);
        bool is_sealed = seals >= 0 && (seals & SEALS) == SEALS;
        void *mapped = MAP_FAILED;
        if (is_sealed && fstat(descriptors[i], &file) == 0 && file.st_size == (off_t)bytes) {
            mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, descriptors[i], 0);
        }
        if (mapped == MAP_FAILED) status = -1;
        else pool->buffers[i] = mapped;
    }
    close_all(descriptors);
    return status;
}

void lane_pool_unmap(struct lane_pool *pool) {
    for (int i = 0; i < LANE_BUFFERS; i++) {
        if (pool->buffers[i] != NULL) munmap(pool->buffers[i], pool->bytes);
    }
}

#else

// No memfd_create, no seals: there is no such lane.

int lane_pool_pass(struct lane_pool *pool, size_t bytes, int socket) {
    (void)pool, (void)bytes, (void)socket;
    return -1;
}

int lane_pool_receive(struct lane_pool *pool, size_t bytes, int socket) {
    (void)pool, (void)bytes, (void)socket;
    return -1;
}

void lane_pool_unmap(struct lane_pool *pool) {
    (void)pool;
}

#endif
