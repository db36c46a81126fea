// libmicrohttpd, and what Swift cannot use of it: functions with a variable number of arguments, macros with casts, and
// members of enums, whose names in Swift follow from the annotations that a version of the header has.
#include <microhttpd.h>

// A server on `listener`, a socket that listens already and belongs to the server from here on; NULL where it cannot be.
// One thread of its own polls, and connections may be suspended.
static inline struct MHD_Daemon *microhttpd_start(
    int listener, unsigned connections, size_t memory, unsigned timeout, MHD_AccessHandlerCallback handler, void *context)
{
    return MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_SUSPEND_RESUME, 0, NULL, NULL, handler, context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_CONNECTION_TIMEOUT, timeout,
        MHD_OPTION_END);
}

// The socket of a connection; -1 where the library does not tell.
static inline int microhttpd_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// A response whose length nobody knows beforehand.
static inline struct MHD_Response *microhttpd_endless_response(
    size_t block, MHD_ContentReaderCallback read, void *context, MHD_ContentReaderFreeCallback release)
{
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block, read, context, release);
}

// A response of one piece, which the library copies.
static inline struct MHD_Response *microhttpd_response(const void *bytes, size_t count)
{
    return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

// A field of the request's head; NULL where it is not there.
static inline const char *microhttpd_field(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

// What a handler returns.
static const enum MHD_Result microhttpd_yes = MHD_YES;
static const enum MHD_Result microhttpd_no = MHD_NO;

// What a reader returns for the end of the body, and for the end of the connection.
static const ssize_t microhttpd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t microhttpd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;
