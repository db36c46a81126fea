#include "CBaseline.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <turbojpeg.h>
#include <unistd.h>

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// MARK: Sockets

static int make_pair(int ends[2], size_t message_bytes) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return -1;
    int buffer = (int)(2 * message_bytes);
    int usual = 0;
    socklen_t length = sizeof usual;
    getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &usual, &length);
    if (buffer > usual / 2) setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    return 0;
}

static int send_message(int socket, const void *head, size_t head_bytes, const void *body, size_t body_bytes) {
    struct iovec vectors[2] = {{(void *)head, head_bytes}, {(void *)body, body_bytes}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    size_t left = head_bytes + body_bytes;
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

static int receive_all(int socket, void *bytes, size_t count) {
    for (size_t got = 0; got < count;) {
        ssize_t now_got = recv(socket, (char *)bytes + got, count - got, 0);
        if (now_got <= 0) return -1;
        got += (size_t)now_got;
    }
    return 0;
}

struct transport {
    int socket;
    int frames;
    size_t head_bytes, body_bytes;
    char *head, *body;
};

static void *send_frames(void *argument) {
    struct transport *transport = argument;
    for (int i = 0; i < transport->frames; i++) {
        if (send_message(transport->socket, transport->head, transport->head_bytes, transport->body,
                         transport->body_bytes) < 0) break;
    }
    return NULL;
}

int64_t baseline_transport(int frames, size_t head_bytes, size_t body_bytes) {
    int ends[2];
    if (make_pair(ends, head_bytes + body_bytes) < 0) return -1;
    struct transport transport = {ends[0], frames, head_bytes, body_bytes, calloc(1, head_bytes), calloc(1, body_bytes)};
    char *head = malloc(head_bytes), *body = malloc(body_bytes);
    memset(body, 1, body_bytes);
    int64_t start = now();
    pthread_t thread;
    pthread_create(&thread, NULL, send_frames, &transport);
    int failed = 0;
    for (int i = 0; i < frames && !failed; i++) {
        failed = receive_all(ends[1], head, head_bytes) < 0 || receive_all(ends[1], body, body_bytes) < 0;
    }
    pthread_join(thread, NULL);
    int64_t took = now() - start;
    close(ends[0]);
    close(ends[1]);
    free(transport.head);
    free(transport.body);
    free(head);
    free(body);
    return failed ? -1 : took;
}

// MARK: Heads

int64_t baseline_parse_head(const uint8_t *bytes, size_t count) {
    static const char *const names[] = {"Content-Length", "Buffer-Width", "Buffer-Height", "Buffer-Orientation"};
    int64_t values[4] = {-1, -1, -1, -1};
    const char *line = (const char *)bytes, *end = line + count;
    while (line < end) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        if (feed == NULL) return -1;
        if (feed - line == 1) break;
        const char *colon = memchr(line, ':', (size_t)(feed - line));
        for (int i = 0; colon != NULL && i < 4; i++) {
            if ((size_t)(colon - line) == strlen(names[i]) && strncasecmp(line, names[i], (size_t)(colon - line)) == 0) {
                values[i] = strtoll(colon + 1, NULL, 10);
            }
        }
        line = feed + 1;
    }
    for (int i = 0; i < 4; i++) {
        if (values[i] < 0) return -1;
    }
    return values[0];
}

// MARK: Codec

struct baseline_codec {
    int width, height;
    tjhandle compressor, decompressor;
    unsigned char *jpeg;
    unsigned long capacity;
    uint8_t *pixels;
};

struct baseline_codec *baseline_codec_create(int width, int height) {
    struct baseline_codec *codec = calloc(1, sizeof *codec);
    codec->width = width;
    codec->height = height;
    codec->compressor = tjInitCompress();
    codec->decompressor = tjInitDecompress();
    codec->capacity = tjBufSize(width, height, TJSAMP_420);
    codec->jpeg = malloc(codec->capacity);
    codec->pixels = malloc((size_t)width * (size_t)height * 4);
    return codec;
}

void baseline_codec_destroy(struct baseline_codec *codec) {
    tjDestroy(codec->compressor);
    tjDestroy(codec->decompressor);
    free(codec->jpeg);
    free(codec->pixels);
    free(codec);
}

int64_t baseline_encode(struct baseline_codec *codec, const uint8_t *pixels, int stride, int quality) {
    unsigned long bytes = codec->capacity;
    int status = tjCompress2(codec->compressor, pixels, codec->width, stride, codec->height, TJPF_BGRA, &codec->jpeg,
                             &bytes, TJSAMP_420, quality, TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT);
    return status == 0 ? (int64_t)bytes : -1;
}

int baseline_decode(struct baseline_codec *codec, const uint8_t *jpeg, size_t bytes) {
    return tjDecompress2(codec->decompressor, jpeg, bytes, codec->pixels, codec->width, codec->width * 4, codec->height,
                         TJPF_BGRA, TJFLAG_ACCURATEDCT);
}

// MARK: End to end

struct pictures {
    int socket;
    int frames;
    const uint8_t *pixels;
    int stride, quality;
    struct baseline_codec *codec;
};

static void *send_pictures(void *argument) {
    struct pictures *pictures = argument;
    for (int i = 0; i < pictures->frames; i++) {
        int64_t bytes = baseline_encode(pictures->codec, pictures->pixels, pictures->stride, pictures->quality);
        if (bytes < 0) break;
        if (send_message(pictures->socket, &bytes, sizeof bytes, pictures->codec->jpeg, (size_t)bytes) < 0) break;
    }
    shutdown(pictures->socket, SHUT_WR);
    return NULL;
}

int64_t baseline_end_to_end(int frames, const uint8_t *pixels, int width, int height, int stride, int quality) {
    struct baseline_codec *sender = baseline_codec_create(width, height);
    struct baseline_codec *receiver = baseline_codec_create(width, height);
    int ends[2];
    if (make_pair(ends, 1 << 19) < 0) return -1;
    struct pictures pictures = {ends[0], frames, pixels, stride, quality, sender};
    int64_t start = now();
    pthread_t thread;
    pthread_create(&thread, NULL, send_pictures, &pictures);
    int failed = 0;
    for (int i = 0; i < frames && !failed; i++) {
        int64_t bytes;
        failed = receive_all(ends[1], &bytes, sizeof bytes) < 0
            || receive_all(ends[1], receiver->jpeg, (size_t)bytes) < 0
            || baseline_decode(receiver, receiver->jpeg, (size_t)bytes) < 0;
    }
    pthread_join(thread, NULL);
    int64_t took = now() - start;
    close(ends[0]);
    close(ends[1]);
    baseline_codec_destroy(sender);
    baseline_codec_destroy(receiver);
    return failed ? -1 : took;
}
