#include "CMicroHTTPD.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

// The names under which systems keep the version of the library that the header belongs to.
static const char *const names[] = {
#ifdef __APPLE__
    "libmicrohttpd.12.dylib", "/opt/homebrew/lib/libmicrohttpd.12.dylib", "/usr/local/lib/libmicrohttpd.12.dylib",
#else
    "libmicrohttpd.so.12",
#endif
};

struct microhttpd_library microhttpd_library;

const char *microhttpd_load(void)
{
    if (microhttpd_library.start_daemon)
        return NULL;
    void *handle = NULL;
    for (size_t index = 0; !handle && index < sizeof names / sizeof *names; index++)
        handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return dlerror();
#define RESOLVE(name) \
    if (!(microhttpd_library.name = (__typeof__(MHD_##name) *)dlsym(handle, "MHD_" #name))) \
        goto incomplete;
    MICROHTTPD_FUNCTIONS(RESOLVE)
    return NULL;
incomplete:
    microhttpd_library.start_daemon = NULL;
    return dlerror();
}

// Decodes the escapes of a path or an argument. An escaped NUL would end the text, so that a path that is not served would be
// taken for the one in front of it: it becomes a byte that is in no UTF-8.
static size_t unescape(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    for (char *escape = text; (escape = strstr(escape, "%00")); escape += 3)
        escape[1] = escape[2] = 'F';
    return microhttpd_library.http_unescape(text);
}

int microhttpd_listen(const char *host, uint16_t *port)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    char service[8];
    snprintf(service, sizeof service, "%u", *port);
    if (getaddrinfo(host, service, &hints, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    // Connections that ended a moment ago do not keep the port. Accepted sockets inherit the size of the buffer: more would
    // only let a slow client see older frames.
    int yes = 1, buffer = 256 << 10;
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int descriptor = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    bool listens = descriptor >= 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) == 0 &&
        bind(descriptor, found->ai_addr, found->ai_addrlen) == 0 && listen(descriptor, 512) == 0 &&
        fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 &&
        getsockname(descriptor, (struct sockaddr *)&address, &size) == 0;
    int error = errno;
    freeaddrinfo(found);
    if (!listens) {
        if (descriptor >= 0)
            close(descriptor);
        errno = error;
        return -1;
    }
    *port = ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
                                               : ((struct sockaddr_in6 *)&address)->sin6_port);
    return descriptor;
}

struct MHD_Daemon *microhttpd_start(
    int listener, unsigned connections, MHD_AccessHandlerCallback handler, MHD_NotifyConnectionCallback changed,
    MHD_RequestCompletedCallback completed, void *context)
{
    return microhttpd_library.start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC, 0, NULL, NULL, handler, context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)64 << 10,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)1 << 20,
        MHD_OPTION_NOTIFY_CONNECTION, changed, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_END);
}

struct field {
    const char *name, *value;
    int count;
};

static enum MHD_Result find_field(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct field *field = context;
    if (strcasecmp(name, field->name) == 0) {
        field->value = value;
        field->count++;
    }
    return MHD_YES;
}

const char *microhttpd_field(struct MHD_Connection *connection, const char *name)
{
    struct field field = {name, NULL, 0};
    microhttpd_library.get_connection_values(connection, MHD_HEADER_KIND, find_field, &field);
    return field.count == 1 ? field.value : NULL;
}
