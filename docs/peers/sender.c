/* Sends JPEG files as frames, in turn: sender SOCKET FILE...
 *
 *     cc -std=c11 -Wall -Wextra -o sender sender.c
 *
 * Waits for a receiver for as long as it takes. Exits with 0 when the receiver has read everything and closed, 1 if it
 * closed before, 66 if a file is not a JPEG.
 */
#define _DEFAULT_SOURCE /* MSG_DONTWAIT */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A shorter body stops existing Jitsi receivers for good: their reads of 10,240 bytes would include the next message. */
enum { MINIMUM_BODY = 10240, MAXIMUM_BODY = 33554432 };

/* The file's bytes, followed by zeroes up to MINIMUM_BODY; NULL if it cannot be read or is too large. */
static unsigned char *read_body(const char *name, size_t *length)
{
    FILE *file = fopen(name, "rb");
    if (!file)
        return NULL;
    unsigned char *bytes = calloc(1, MAXIMUM_BODY + 1);
    *length = bytes ? fread(bytes, 1, MAXIMUM_BODY + 1, file) : 0;
    int failed = ferror(file);
    fclose(file);
    if (failed || *length == 0 || *length > MAXIMUM_BODY) {
        free(bytes);
        return NULL;
    }
    if (*length < MINIMUM_BODY)
        *length = MINIMUM_BODY;
    return bytes;
}

static unsigned big_endian(const unsigned char *bytes)
{
    return (unsigned)bytes[0] << 8 | bytes[1];
}

/* The size of a JPEG, from its frame header (SOFn); 0 if there is none. */
static int find_size(const unsigned char *jpeg, size_t length, unsigned *width, unsigned *height)
{
    if (jpeg[0] != 0xFF || jpeg[1] != 0xD8)
        return 0;
    for (size_t at = 2; at + 9 <= length && jpeg[at] == 0xFF;) {
        unsigned char marker = jpeg[at + 1];
        if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC) {
            *height = big_endian(jpeg + at + 5);
            *width = big_endian(jpeg + at + 7);
            return 1;
        }
        /* A fill byte stands alone; every other segment states its length. */
        at += marker == 0xFF ? 1 : 2 + big_endian(jpeg + at + 2);
    }
    return 0;
}

/* A connection, tried every 100 ms until somebody listens at the path; -1 for errors that waiting does not fix. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    for (;;) {
        int connection = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) == 0)
            return connection;
        int error = errno;
        close(connection);
        errno = error;
        /* No file yet, or one that a receiver left behind. */
        if (error != ENOENT && error != ECONNREFUSED)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

/* Writes everything; returns 0 if the connection has ended. */
static int write_all(int connection, const void *bytes, size_t length)
{
    const char *next = bytes;
    while (length > 0) {
        ssize_t count = write(connection, next, length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return 0;
        next += count;
        length -= (size_t)count;
    }
    return 1;
}

/* Drops what the receiver has said so far, and returns whether that was its end. */
static int has_closed(int connection)
{
    char dropped[4096];
    ssize_t count;
    do
        count = recv(connection, dropped, sizeof dropped, MSG_DONTWAIT);
    while (count > 0 || (count < 0 && errno == EINTR));
    return count == 0 || errno != EAGAIN;
}

/* Sends one file as a frame; returns the program's exit code, or 0 to continue. */
static int send_file(int connection, const char *name)
{
    size_t length;
    unsigned width, height;
    unsigned char *body = read_body(name, &length);
    if (!body || !find_size(body, length, &width, &height)) {
        fprintf(stderr, "%s: this is no JPEG\n", name);
        free(body);
        return 66;
    }
    char head[256];
    int count = snprintf(head, sizeof head,
                         "HTTP/1.1 200 OK\r\n"
                         "Content-Length: %zu\r\n"
                         "Buffer-Width: %u\r\n"
                         "Buffer-Height: %u\r\n"
                         "Buffer-Orientation: 1\r\n"
                         "\r\n",
                         length, width, height);
    int sent = !has_closed(connection) && write_all(connection, head, (size_t)count) && write_all(connection, body, length);
    free(body);
    return sent ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: sender SOCKET FILE...\n");
        return 64;
    }
    /* A receiver that has left is an error of write, and must not end this process. */
    signal(SIGPIPE, SIG_IGN);
    int connection = connect_to(argv[1]);
    if (connection < 0) {
        perror(argv[1]);
        return 69;
    }
    for (int index = 2; index < argc; index++) {
        int code = send_file(connection, argv[index]);
        if (code == 1)
            fprintf(stderr, "the receiver closed before everything was sent\n");
        if (code != 0)
            return code;
    }
    /* The end of the stream, between two messages. Closing with unread bytes would break the connection, and discard
     * what is still on its way. */
    shutdown(connection, SHUT_WR);
    char dropped[4096];
    ssize_t count;
    do
        count = read(connection, dropped, sizeof dropped);
    while (count > 0 || (count < 0 && errno == EINTR));
    close(connection);
    return count < 0;
}
