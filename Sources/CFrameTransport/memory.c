// Shared memory, and passing its descriptors. On systems without sealed memory every function fails with ENOTSUP:
// memory that its owner can truncate would crash its readers.

#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "CFrameTransport.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t frame_socket_send_passing(int socket, struct msghdr *message, int passed) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
    message->msg_control = &control;
    message->msg_controllen = sizeof control.room;
    ssize_t count = sendmsg(socket, message, frame_send_flags);
    message->msg_control = NULL;
    message->msg_controllen = 0;
    return count;
}

#if defined(__linux__)

#include <sys/vfs.h>

#if !defined(SO_PASSPIDFD)
// Of Linux 6.5 and later; an older system answers that there is no such option.
#define SO_PASSPIDFD 76
#endif

const bool frame_memory_is_supported = true;

// All that keep the memory as it is; the owner's mapping, which is made before, stays writable.
static const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

// TMPFS_MAGIC of linux/magic.h, which a memfd of ordinary pages belongs to.
static const long ordinary_memory = 0x01021994;

// Allocates the pages of memory that has none. Pages allocated as they are touched would, if memory is short, raise
// SIGBUS here or in the process that reads them.
static int allocate(int descriptor, size_t byte_count) {
    struct rlimit limit;
    // Beyond this limit the call would raise SIGXFSZ.
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && byte_count > limit.rlim_cur) {
        errno = EFBIG;
        return -1;
    }
    int result;
    do result = fallocate(descriptor, 0, 0, (off_t)byte_count); while (result < 0 && errno == EINTR);
    return result;
}

int frame_memory_create(size_t byte_count, void **memory) {
    int descriptor = memfd_create("framesocket", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    void *mapping = MAP_FAILED;
    if (allocate(descriptor, byte_count) == 0) {
        mapping = mmap(NULL, byte_count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (mapping != MAP_FAILED && fcntl(descriptor, F_ADD_SEALS, seals) == 0) {
        *memory = mapping;
        return descriptor;
    }
    int error = errno;
    if (mapping != MAP_FAILED) munmap(mapping, byte_count);
    close(descriptor);
    errno = error;
    return -1;
}

enum frame_memory_verdict frame_memory_check(int descriptor, size_t byte_count) {
    int found = fcntl(descriptor, F_GET_SEALS);
    if (found < 0 || (found & seals) != seals) return FRAME_MEMORY_UNSEALED;
    struct statfs system;
    struct stat status;
    if (fstatfs(descriptor, &system) < 0 || fstat(descriptor, &status) < 0) return FRAME_MEMORY_FAILED;
    if (system.f_type != ordinary_memory) return FRAME_MEMORY_UNORDINARY;
    if (status.st_size < 0 || (uint64_t)status.st_size != byte_count) return FRAME_MEMORY_MISSIZED;
    // No page goes away afterwards: the seals also forbid punching holes.
    if ((uint64_t)status.st_blocks < ((uint64_t)byte_count + 511) / 512) return FRAME_MEMORY_HOLLOW;
    return FRAME_MEMORY_FIT;
}

int frame_memory_map(int descriptor, size_t byte_count, const void **memory) {
    void *mapping = mmap(NULL, byte_count, PROT_READ, MAP_SHARED, descriptor, 0);
    // EAGAIN: this process locks all of its memory, and may lock no more.
    if (mapping == MAP_FAILED) return errno == ENOMEM || errno == EAGAIN ? 1 : -1;
    *memory = mapping;
    return 0;
}

void frame_socket_expect_descriptors_alone(int socket) {
    int off = 0;
    setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
    setsockopt(socket, SOL_SOCKET, SO_PASSSEC, &off, sizeof off);
    setsockopt(socket, SOL_SOCKET, SO_PASSPIDFD, &off, sizeof off);
}

ssize_t frame_socket_receive_passed(int socket, struct msghdr *message, int *passed, int *count, bool *is_cut) {
    // Room for one more than the protocol allows, to tell a peer that passes too many from a full descriptor table.
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int) * 2)];
    } control;
    message->msg_control = &control;
    message->msg_controllen = sizeof control.room;
    *count = 0;
    *is_cut = false;
    ssize_t bytes = recvmsg(socket, message, MSG_CMSG_CLOEXEC);
    if (bytes >= 0) {
        *is_cut = (message->msg_flags & MSG_CTRUNC) != 0;
        for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
            if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
            size_t length = header->cmsg_len - CMSG_LEN(0);
            for (size_t offset = 0; offset + sizeof(int) <= length; offset += sizeof(int)) {
                int descriptor;
                memcpy(&descriptor, CMSG_DATA(header) + offset, sizeof descriptor);
                *count += 1;
                // The first is kept for the caller.
                if (*count == 1) *passed = descriptor; else close(descriptor);
            }
        }
    }
    message->msg_control = NULL;
    message->msg_controllen = 0;
    return bytes;
}

#else

const bool frame_memory_is_supported = false;

void frame_socket_expect_descriptors_alone(int socket) {}

int frame_memory_create(size_t byte_count, void **memory) {
    errno = ENOTSUP;
    return -1;
}

enum frame_memory_verdict frame_memory_check(int descriptor, size_t byte_count) {
    errno = ENOTSUP;
    return FRAME_MEMORY_FAILED;
}

int frame_memory_map(int descriptor, size_t byte_count, const void **memory) {
    errno = ENOTSUP;
    return -1;
}

ssize_t frame_socket_receive_passed(int socket, struct msghdr *message, int *passed, int *count, bool *is_cut) {
    errno = ENOTSUP;
    return -1;
}

#endif
