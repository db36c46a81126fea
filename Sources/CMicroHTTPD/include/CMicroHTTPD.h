// libmicrohttpd, loaded by the one command that needs it: linked, it and GnuTLS behind it would cost every process of the
// program, those that send among them, 3 MiB.
#pragma once

#include <microhttpd.h>

// The functions that are used, by their names without `MHD_`.
#define MICROHTTPD_FUNCTIONS(each) \
    each(start_daemon) each(stop_daemon) each(get_daemon_info) each(get_connection_info) each(get_connection_values) \
    each(create_response_from_callback) each(add_response_header) each(queue_response) each(destroy_response) \
    each(http_unescape)
#define MICROHTTPD_MEMBER(name) __typeof__(MHD_##name) *_Nonnull name;

struct microhttpd {
    MICROHTTPD_FUNCTIONS(MICROHTTPD_MEMBER)
};

// Loads the library, unless it is loaded; returns NULL on failure, and then `dlerror` says why. For one thread at a time.
const struct microhttpd *_Nullable microhttpd_load(void);

// Starts a server at a numeric address, with a thread for each of at most `connections`, so that callbacks may block; returns
// NULL with errno on failure. `port` becomes the actual one if it is 0. `changed` is called while the connection's socket is
// open.
struct MHD_Daemon *_Nullable microhttpd_start(
    const char *_Nonnull host, uint16_t *_Nonnull port, unsigned connections, MHD_AccessHandlerCallback _Nonnull handler,
    MHD_NotifyConnectionCallback _Nonnull changed, MHD_RequestCompletedCallback _Nonnull completed, void *_Nonnull context);

// The socket of a connection.
int microhttpd_socket(struct MHD_Connection *_Nonnull connection);
