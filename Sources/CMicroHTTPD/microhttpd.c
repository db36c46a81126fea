#include "CMicroHTTPD.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

// The names under which systems keep the version of the library that the header belongs to.
static const char *const names[] = {
#ifdef __APPLE__
    "libmicrohttpd.12.dylib", "/opt/homebrew/lib/libmicrohttpd.12.dylib", "/usr/local/lib/libmicrohttpd.12.dylib",
#else
    "libmicrohttpd.so.12",
#endif
};

static struct microhttpd library;

const struct microhttpd *microhttpd_load(void)
{
    static void *handle;
    for (size_t index = 0; !handle && index < sizeof names / sizeof *names; index++)
        handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return NULL;
#define RESOLVE(name) \
    if (!(library.name = (__typeof__(MHD_##name) *)dlsym(handle, "MHD_" #name))) \
        return NULL;
    MICROHTTPD_FUNCTIONS(RESOLVE)
    return &library;
}

// Decodes the escapes of a path or an argument. An escaped NUL would end the text, so that a path that is not served would be
// taken for the one in front of it: it becomes a byte that is in no UTF-8.
static size_t unescape(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    for (char *escape = text; (escape = strstr(escape, "%00")); escape += 3)
        escape[1] = escape[2] = 'F';
    return library.http_unescape(text);
}

struct MHD_Daemon *microhttpd_start(
    const char *host, uint16_t *port, unsigned connections, MHD_AccessHandlerCallback handler,
    MHD_NotifyConnectionCallback changed, MHD_RequestCompletedCallback completed, void *context)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *address;
    char service[8];
    snprintf(service, sizeof service, "%u", *port);
    if (getaddrinfo(host, service, &hints, &address) != 0) {
        errno = EADDRNOTAVAIL;
        return NULL;
    }
    unsigned family = address->ai_family == AF_INET6 ? MHD_USE_DUAL_STACK : 0;
    struct MHD_Daemon *daemon = library.start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC | family, 0, NULL, NULL, handler, context,
        MHD_OPTION_SOCK_ADDR, address->ai_addr,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)64 << 10,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)1 << 20,
        MHD_OPTION_NOTIFY_CONNECTION, changed, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_END);
    int error = errno;
    freeaddrinfo(address);
    if (daemon) {
        *port = library.get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
        // Accepted sockets inherit the size of the buffer: more would only let a slow client see older frames.
        int listener = library.get_daemon_info(daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd, buffer = 256 << 10;
        setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    }
    errno = error;
    return daemon;
}

int microhttpd_socket(struct MHD_Connection *connection)
{
    return library.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}
