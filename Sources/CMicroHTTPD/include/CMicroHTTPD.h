// libmicrohttpd, loaded by the one command that needs it: linked, it and GnuTLS behind it would cost every process of the
// program, those that send among them, 3 MiB.
#pragma once

#include <stdbool.h>
#include <microhttpd.h>

// Each function that is used, with the type that the header gives it.
#define MICROHTTPD_FUNCTIONS(each) \
    each(start_daemon) each(stop_daemon) each(get_connection_info) each(get_connection_values) \
    each(lookup_connection_value) each(create_response_from_buffer) each(create_response_from_callback) \
    each(add_response_header) each(queue_response) each(destroy_response) each(http_unescape)

#define MICROHTTPD_MEMBER(name) __typeof__(MHD_##name) *name;
extern struct microhttpd_library {
    MICROHTTPD_FUNCTIONS(MICROHTTPD_MEMBER)
} microhttpd_library;

// Loads the library, unless it is loaded; returns NULL on success, or else the system's error message. Every other function
// here needs it. For one thread at a time.
const char *microhttpd_load(void);

// A socket that listens at a numeric address; -1 with errno on failure. `port` becomes the actual one if it is 0.
int microhttpd_listen(const char *host, uint16_t *port);

// A server on `listener`, which it takes over, with a thread for each of at most `connections`, so that callbacks may block;
// NULL on failure. `changed` is called on the listening thread, while the connection's socket is open.
struct MHD_Daemon *microhttpd_start(
    int listener, unsigned connections, MHD_AccessHandlerCallback handler, MHD_NotifyConnectionCallback changed,
    MHD_RequestCompletedCallback completed, void *context);

// A field of a request's header; NULL if it is absent or repeated.
const char *microhttpd_field(struct MHD_Connection *connection, const char *name);

// What Swift cannot call or does not import: functions by their address, and macros with casts.

static inline void microhttpd_stop(struct MHD_Daemon *daemon)
{
    microhttpd_library.stop_daemon(daemon);
}

static inline int microhttpd_socket(struct MHD_Connection *connection)
{
    return microhttpd_library.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static inline const char *microhttpd_argument(struct MHD_Connection *connection, const char *name)
{
    return microhttpd_library.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static inline struct MHD_Response *microhttpd_copy(const void *bytes, size_t count)
{
    return microhttpd_library.create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

static inline struct MHD_Response *microhttpd_stream(
    MHD_ContentReaderCallback read, void *context, MHD_ContentReaderFreeCallback release)
{
    return microhttpd_library.create_response_from_callback(MHD_SIZE_UNKNOWN, 64 << 10, read, context, release);
}

static inline void microhttpd_add_field(struct MHD_Response *response, const char *name, const char *value)
{
    microhttpd_library.add_response_header(response, name, value);
}

static inline enum MHD_Result microhttpd_answer(
    struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    enum MHD_Result result = microhttpd_library.queue_response(connection, status, response);
    microhttpd_library.destroy_response(response);
    return result;
}

static const enum MHD_ConnectionNotificationCode microhttpd_opened = MHD_CONNECTION_NOTIFY_STARTED;
static const ssize_t microhttpd_end = MHD_CONTENT_READER_END_OF_STREAM;
static const enum MHD_Result microhttpd_yes = MHD_YES, microhttpd_no = MHD_NO;
