#include "CMicroHTTPD.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

// The names under which systems keep the version of the library that the header belongs to.
static const char *const names[] = {
#ifdef __APPLE__
    "libmicrohttpd.12.dylib", "/opt/homebrew/lib/libmicrohttpd.12.dylib", "/usr/local/lib/libmicrohttpd.12.dylib",
#else
    "libmicrohttpd.so.12",
#endif
};

// Each function that is used, with the type that the header gives it.
#define FUNCTIONS(each) \
    each(start_daemon) each(stop_daemon) each(suspend_connection) each(resume_connection) each(get_connection_info) \
    each(lookup_connection_value) each(create_response_from_buffer) each(create_response_from_callback) \
    each(add_response_header) each(queue_response) each(destroy_response) each(get_connection_values) each(http_unescape)

static struct {
#define MEMBER(name) __typeof__(MHD_##name) *name;
    FUNCTIONS(MEMBER)
} library;

const char *microhttpd_load(void)
{
    if (library.start_daemon)
        return NULL;
    void *handle = NULL;
    for (size_t index = 0; !handle && index < sizeof names / sizeof *names; index++)
        handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return dlerror();
#define RESOLVE(name) \
    if (!(library.name = (__typeof__(MHD_##name) *)dlsym(handle, "MHD_" #name))) \
        goto incomplete;
    FUNCTIONS(RESOLVE)
    return NULL;
incomplete:
    library.start_daemon = NULL;
    return dlerror();
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
    int listener, unsigned connections, size_t memory, unsigned timeout, MHD_AccessHandlerCallback handler,
    MHD_NotifyConnectionCallback changed, MHD_RequestCompletedCallback completed, void *context)
{
    return library.start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_SUSPEND_RESUME, 0, NULL, NULL, handler, context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_CONNECTION_TIMEOUT, timeout,
        MHD_OPTION_NOTIFY_CONNECTION, changed, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_END);
}

void microhttpd_stop(struct MHD_Daemon *daemon)
{
    library.stop_daemon(daemon);
}

void microhttpd_suspend(struct MHD_Connection *connection)
{
    library.suspend_connection(connection);
}

void microhttpd_resume(struct MHD_Connection *connection)
{
    library.resume_connection(connection);
}

int microhttpd_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        library.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// As Linux prints an address: words of 32 bits as they lie in memory, and the port.
static int print_address(const struct sockaddr_storage *address, char *text, size_t size)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        return snprintf(text, size, "%08X:%04X", (unsigned)in->sin_addr.s_addr, (unsigned)ntohs(in->sin_port));
    }
    if (address->ss_family != AF_INET6)
        return -1;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
    uint32_t words[4];
    memcpy(words, &in6->sin6_addr, sizeof words);
    return snprintf(
        text, size, "%08X%08X%08X%08X:%04X", (unsigned)words[0], (unsigned)words[1], (unsigned)words[2],
        (unsigned)words[3], (unsigned)ntohs(in6->sin6_port));
}

bool microhttpd_addresses(struct MHD_Connection *connection, char *text, size_t size, bool *version6)
{
    struct sockaddr_storage peer = {0}, own = {0};
    socklen_t peer_size = sizeof peer, own_size = sizeof own;
    int descriptor = microhttpd_socket(connection);
    char peer_text[48], own_text[48];
    if (getpeername(descriptor, (struct sockaddr *)&peer, &peer_size) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&own, &own_size) != 0 ||
        print_address(&peer, peer_text, sizeof peer_text) < 0 || print_address(&own, own_text, sizeof own_text) < 0)
        return false;
    *version6 = peer.ss_family == AF_INET6;
    int count = snprintf(text, size, "%s %s", peer_text, own_text);
    return count > 0 && (size_t)count < size;
}

const char *microhttpd_field(struct MHD_Connection *connection, const char *name)
{
    return library.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

struct field_count {
    const char *name;
    int count;
};

static enum MHD_Result count_field(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind, (void)value;
    struct field_count *fields = context;
    if (strcasecmp(name, fields->name) == 0)
        fields->count++;
    return MHD_YES;
}

int microhttpd_field_count(struct MHD_Connection *connection, const char *name)
{
    struct field_count fields = {name, 0};
    library.get_connection_values(connection, MHD_HEADER_KIND, count_field, &fields);
    return fields.count;
}

const char *microhttpd_argument(struct MHD_Connection *connection, const char *name)
{
    return library.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

struct MHD_Response *microhttpd_response(const void *bytes, size_t count)
{
    return library.create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

struct MHD_Response *microhttpd_read_response(
    uint64_t size, size_t block, MHD_ContentReaderCallback read, void *context, MHD_ContentReaderFreeCallback release)
{
    return library.create_response_from_callback(size, block, read, context, release);
}

bool microhttpd_add_field(struct MHD_Response *response, const char *name, const char *value)
{
    return library.add_response_header(response, name, value) == MHD_YES;
}

enum MHD_Result microhttpd_answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    return library.queue_response(connection, status, response);
}

void microhttpd_release(struct MHD_Response *response)
{
    library.destroy_response(response);
}
