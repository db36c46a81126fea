// What the same work costs in plain C, to be measured in the same run.
//
// Functions that return an int return 0, or -1 for a failure; those that return a pointer return NULL for one.

#ifndef CBASELINE_H
#define CBASELINE_H

#include <stddef.h>
#include <stdint.h>

// Sockets.

/// Waits for a time of the monotonic clock, in nanoseconds.
void baseline_sleep_until(int64_t time);

/// Makes a socket pair, the first end with room to send two messages.
int baseline_make_pair(int ends[2], size_t message_bytes);

/// Listens at a path. Returns the descriptor, or -1.
int baseline_listen(const char *path);

// Messages from one thread to another.

/// A socket pair, and buffers that are used again.
struct baseline_link;

struct baseline_link *baseline_link_create(size_t header_bytes, size_t body_bytes);
void baseline_link_destroy(struct baseline_link *link);

/// Sends `frames` messages from a thread to the calling one: one sendmsg with two vectors each, one per `interval`
/// nanoseconds, or as fast as possible if that is 0. Stores the age of each on arrival, in nanoseconds, unless `latencies`
/// is NULL.
int baseline_link_run(struct baseline_link *link, int frames, int64_t interval, int64_t *latencies);

// Many senders in other processes, and one receiver.

/// Connected sockets, all served by the calling thread, which waits with poll.
struct baseline_ends;

/// Connects to a path `count` times, to send messages of this size.
struct baseline_ends *baseline_ends_connect(const char *path, int count, size_t message_bytes);

/// Accepts `count` connections, to receive messages of this size.
struct baseline_ends *baseline_ends_accept(int listener, int count, size_t message_bytes);

void baseline_ends_destroy(struct baseline_ends *ends);

/// Sends `messages` over each connection.
int baseline_ends_send(struct baseline_ends *ends, int messages);

/// Receives `messages` over each connection. Returns the share that the slowest had received when the fastest was done, or
/// -1.
double baseline_ends_receive(struct baseline_ends *ends, int messages);

// Plain calls of libturbojpeg.

/// A codec for images of one size, with handles and buffers that are used again.
struct baseline_codec;

struct baseline_codec *baseline_codec_create(int width, int height);
void baseline_codec_destroy(struct baseline_codec *codec);

/// Compresses BGRA pixels at 4:2:0 and quality 80; the JPEG stays in the codec. Returns its bytes, or -1.
int64_t baseline_encode(struct baseline_codec *codec, const uint8_t *pixels);

/// Decompresses a JPEG to BGRA in the codec's buffer.
int baseline_decode(struct baseline_codec *codec, const uint8_t *jpeg, size_t bytes);

/// The version of libjpeg-turbo that this was compiled against, or NULL if its headers do not tell.
const char *baseline_codec_version(void);

/// Compresses and sends `frames` of `count` images, repeatedly, one per `interval` nanoseconds, or as fast as possible if
/// that is 0. Returns when the first one began, on the monotonic clock, or -1.
int64_t baseline_send_images(int socket, struct baseline_codec *codec, const uint8_t *const *images, int count, int frames,
                             int64_t interval);

/// Receives and decompresses `frames` images, and stores the nanoseconds since the compression of each began.
int baseline_receive_images(int socket, struct baseline_codec *codec, int frames, int64_t *latencies);

// Frames in shared memory on Linux: three buffers, a header for each frame, and a release back.

/// Writes the frame's number to the start of each row.
void baseline_lane_mark(uint8_t *frame, int stride, int rows, uint64_t number);

/// Reads the start of each row, which has to be the number.
int baseline_lane_read(const uint8_t *frame, int stride, int rows, uint64_t number);

/// Makes the memory of a lane for frames with `rows` rows, `stride` bytes apart. Returns a descriptor, or -1.
int baseline_lane_make_memory(int stride, int rows);

/// One end of a lane.
struct baseline_lane;

struct baseline_lane *baseline_lane_create_sender(int socket, int memory, int stride, int rows);
struct baseline_lane *baseline_lane_create_receiver(int socket, int memory, int stride, int rows);
void baseline_lane_destroy(struct baseline_lane *lane);

/// Marks all rows of an image of its own, copies it into a buffer and sends that, one per `interval` nanoseconds. A frame
/// is submitted after it has been marked, and before it is copied.
int baseline_lane_send(struct baseline_lane *lane, int frames, int64_t interval);

/// Receives `frames` frames, reads and releases them. Stores the nanoseconds from when each was submitted to when it had
/// been read.
int baseline_lane_receive(struct baseline_lane *lane, int frames, int64_t *latencies);

#endif
