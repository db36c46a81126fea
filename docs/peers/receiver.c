/* Receives the frames of one sender into files: receiver SOCKET DIRECTORY
 *
 *     cc -std=c11 -Wall -Wextra -o receiver receiver.c
 *
 * Writes each body as frame-000000.jpg and so on, byte for byte, and prints a line for each. Exits with 0 when the sender ends
 * between two messages, 65 if it sends anything but frames, 69 if somebody else listens at the path.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAXIMUM_HEAD = 8192, MAXIMUM_FIELDS = 32 };

enum field { LENGTH, WIDTH, HEIGHT, ORIENTATION, FIELD_COUNT };

static const struct {
    const char *name;
    long minimum, maximum;
} fields[FIELD_COUNT] = {
    {"Content-Length", 0, 33554432},
    {"Buffer-Width", 1, 16384},
    {"Buffer-Height", 1, 16384},
    {"Buffer-Orientation", 0, 8},
};

/* One header after another. */
struct head {
    long values[FIELD_COUNT];
    const char *fault; /* why this is not a frame; NULL if it is one */
};

/* Reads a line into MAXIMUM_HEAD bytes, without its end. -1 at the end of the stream, -2 for a line that is cut off, longer
 * than `room`, not ended by CR LF, or contains a NUL. */
static int read_line(FILE *stream, char *line, int room)
{
    /* fgets needs room for its NUL. */
    if (!fgets(line, room + 1, stream))
        return -1;
    size_t length = strlen(line);
    if (length < 2 || line[length - 1] != '\n' || line[length - 2] != '\r')
        return -2;
    line[length - 2] = 0;
    return (int)length - 2;
}

static int is_start_line(const char *line)
{
    if (strncmp(line, "HTTP/1.1 200", 12) != 0 && strncmp(line, "HTTP/1.0 200", 12) != 0)
        return 0;
    if (line[12] == 0)
        return 1;
    if (line[12] != ' ' || line[13] == ' ')
        return 0;
    for (const char *c = line + 13; *c; c++)
        if (*c < 0x20 || *c > 0x7E)
            return 0;
    return 1;
}

/* A number of at most 10 digits without a leading zero, or -1. */
static long read_number(const char *text, size_t length)
{
    if (length == 0 || length > 10 || (text[0] == '0' && length > 1))
        return -1;
    long long value = 0;
    for (size_t index = 0; index < length; index++) {
        if (text[index] < '0' || text[index] > '9')
            return -1;
        value = value * 10 + (text[index] - '0');
    }
    return value > 2147483647 ? 2147483647 : (long)value;
}

/* Parses one line of a header; returns NULL, or why it is invalid. */
static const char *read_field(const char *line, struct head *head)
{
    size_t name = strspn(line, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    if (name == 0 || line[name] != ':')
        return "a line is no field";
    const char *value = line + name + 1;
    for (const char *c = value; *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7F)
            return "a field has a control character in it";
    value += strspn(value, " \t");
    size_t length = strlen(value);
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    /* Only a receiver that said hello gets messages of another type. */
    if ((name == 17 && strncasecmp(line, "Transfer-Encoding", name) == 0) ||
        (name == 12 && strncasecmp(line, "Message-Type", name) == 0))
        return "a frame has no such field";
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (strlen(fields[field].name) != name || strncasecmp(line, fields[field].name, name) != 0)
            continue;
        long number = read_number(value, length);
        if (head->values[field] >= 0)
            return "a field stands twice";
        if (number < fields[field].minimum || number > fields[field].maximum)
            return "a number cannot be";
        head->values[field] = number;
    }
    return NULL;
}

/* Reads a header; returns 0 if the stream has ended before it. */
static int read_head(FILE *stream, struct head *head)
{
    char line[MAXIMUM_HEAD + 1];
    int length = read_line(stream, line, MAXIMUM_HEAD);
    *head = (struct head){{-1, -1, -1, -1}, NULL};
    if (length == -1)
        return 0;
    if (length < 0 || !is_start_line(line))
        head->fault = "this begins no frame";
    for (int room = MAXIMUM_HEAD - length - 2, count = 0; !head->fault; room -= length + 2, count++) {
        length = read_line(stream, line, room);
        if (length < 0)
            head->fault = "a head is cut off, too long, or has a line that does not end with CR LF";
        else if (length == 0)
            break;
        else if (count == MAXIMUM_FIELDS)
            head->fault = "there are too many fields";
        else
            head->fault = read_field(line, head);
    }
    for (int field = 0; field < FIELD_COUNT && !head->fault; field++)
        if (head->values[field] < 0)
            head->fault = "a field is missing";
    if (!head->fault && head->values[WIDTH] * head->values[HEIGHT] > 33554432)
        head->fault = "an image has too many pixels";
    return 1;
}

/* A listening socket, replacing one that a dead receiver left behind; -1 with errno. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int probe = socket(AF_UNIX, SOCK_STREAM, 0);
    if (probe < 0)
        return -1;
    int result = connect(probe, (struct sockaddr *)&address, sizeof address);
    int error = result == 0 ? EADDRINUSE : errno;
    close(probe);
    if (error == ECONNREFUSED)
        unlink(path);
    else if (error != ENOENT) {
        errno = error;
        return -1;
    }
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    /* The socket's file belongs to this user alone from the start. */
    mode_t mask = umask(0177);
    result = bind(listener, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    return result == 0 && listen(listener, 1) == 0 ? listener : -1;
}

/* Writes a body to its file; returns 0 on failure. */
static int write_body(const char *directory, long index, const char *body, size_t length)
{
    char name[4096];
    if (snprintf(name, sizeof name, "%s/frame-%06ld.jpg", directory, index) >= (int)sizeof name)
        return 0;
    FILE *file = fopen(name, "wb");
    if (!file)
        return 0;
    int written = fwrite(body, 1, length, file) == length;
    return (fclose(file) == 0) & written;
}

/* Receives to the end of the stream; returns the program's exit code. */
static int receive(FILE *stream, const char *directory)
{
    struct head head;
    for (long index = 0; read_head(stream, &head); index++) {
        if (head.fault) {
            fprintf(stderr, "%s\n", head.fault);
            return 65;
        }
        size_t length = (size_t)head.values[LENGTH];
        char *body = malloc(length + 1);
        if (!body || fread(body, 1, length, stream) < length) {
            fprintf(stderr, "the stream ended within a body\n");
            free(body);
            return 65;
        }
        int written = write_body(directory, index, body, length);
        free(body);
        if (!written) {
            perror(directory);
            return 73;
        }
        printf("%ld %ldx%ld orientation %ld %zu bytes\n", index, head.values[WIDTH], head.values[HEIGHT],
               head.values[ORIENTATION], length);
        fflush(stdout);
    }
    return ferror(stream) ? 65 : 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: receiver SOCKET DIRECTORY\n");
        return 64;
    }
    if (mkdir(argv[2], 0777) != 0 && errno != EEXIST) {
        perror(argv[2]);
        return 73;
    }
    int listener = listen_at(argv[1]);
    if (listener < 0) {
        perror(argv[1]);
        return 69;
    }
    int connection = accept(listener, NULL, NULL);
    unlink(argv[1]);
    close(listener);
    FILE *stream = connection < 0 ? NULL : fdopen(connection, "rb");
    if (!stream) {
        perror(argv[1]);
        return 69;
    }
    int code = receive(stream, argv[2]);
    fclose(stream);
    return code;
}
