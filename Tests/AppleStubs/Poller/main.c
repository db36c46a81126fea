// Uses everything of CFrameTransport that is written for Apple's systems. scripts/check-apple-targets compiles and links it for macOS; on
// a Mac it can be run, and exits with 0 if the poller, its wake-up, a connection and its end behave as the header says.

#include "CFrameTransport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void expect(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "poller: %s (errno %d: %s)\n", what, errno, strerror(errno));
    _exit(1);
}

// Waits for one report and returns its flags; it must carry this token.
static uint32_t next_report(int poller, uint64_t token) {
    struct frame_readiness report = {0};
    expect(frame_poller_wait(poller, &report, 1, 5000) == 1, "one report");
    expect(report.token == token, "the report's token");
    return report.flags;
}

static void expect_silence(int poller, const char *what) {
    struct frame_readiness report;
    expect(frame_poller_wait(poller, &report, 1, 0) == 0, what);
}

static void check_wakeup(int poller) {
    int wakeup = frame_wakeup_create(poller);
    expect(wakeup >= 0, "a wake-up");
    expect(fcntl(wakeup, F_GETFD) == FD_CLOEXEC, "a wake-up that is closed on exec");
    expect(frame_wakeup_signal(wakeup) == 0 && frame_wakeup_signal(wakeup) == 0, "two signals");
    next_report(poller, 0);
    expect_silence(poller, "one report of two signals");
    close(wakeup);
}

static int listen_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    unlink(path);
    int listener = frame_socket_create(AF_UNIX);
    expect(listener >= 0, "a socket");
    expect(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0, "a listener");
    return listener;
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int client = frame_socket_create(AF_UNIX);
    expect(client >= 0 && connect(client, (struct sockaddr *)&address, sizeof address) == 0, "a connection");
    expect(frame_socket_error(client) == 0, "a connection without an error");
    return client;
}

static void check_identity(int listener, int client, const char *path) {
    struct frame_listener found = {0};
    char name[sizeof ((struct sockaddr_un *)0)->sun_path + 1];
    expect(frame_listener_inspect(listener, &found, name, sizeof name) == 0, "the properties of a listener");
    expect(found.is_stream && found.is_listening && strcmp(name, path) == 0, "a listener at its path");
    expect(frame_listener_adopt(listener) == 0 && frame_socket_is_local(client), "a local socket");
    pid_t pid = 0;
    uid_t user = (uid_t)-1;
    gid_t group = (gid_t)-1;
    expect(frame_socket_peer(client, &pid, &user, &group) == 0 && pid == getpid() && user == geteuid(), "the peer's identity");
}

static void check_connection(int poller, int listener, int client) {
    enum { LISTENER = 1, SERVER = 2 };
    char bytes[4] = {0};
    expect(frame_poller_add(poller, listener, LISTENER) == 0, "a watched listener");
    expect(next_report(poller, LISTENER) & FRAME_READABLE, "a waiting connection");
    int server = frame_socket_accept(listener);
    expect(server >= 0, "an accepted connection");
    expect((fcntl(server, F_GETFL) & O_NONBLOCK) && fcntl(server, F_GETFD) == FD_CLOEXEC, "its properties");
    expect(frame_poller_add(poller, server, SERVER) == 0, "a watched connection");
    expect_silence(poller, "no report before anything happens");

    expect(send(client, "ab", 2, frame_send_flags) == 2, "a send");
    expect(next_report(poller, SERVER) == FRAME_READABLE, "a report of data alone");
    expect_silence(poller, "each change reported once");
    expect(send(client, "cd", 2, frame_send_flags) == 2, "another send");
    expect(next_report(poller, SERVER) == FRAME_READABLE, "a report of more data");
    expect(read(server, bytes, sizeof bytes) == 4 && memcmp(bytes, "abcd", 4) == 0, "all data");

    expect(frame_poller_watch_room(poller, server, SERVER, true) == 0, "watched room");
    expect(next_report(poller, SERVER) & FRAME_WRITABLE, "a report of room that exists");
    expect(frame_poller_watch_room(poller, server, SERVER, false) == 0, "room no longer watched");
    close(client);
    expect(next_report(poller, SERVER) == (FRAME_READABLE | FRAME_HANGUP), "a report of the end");
    expect(read(server, bytes, sizeof bytes) == 0, "the end");
    expect(send(server, "x", 1, frame_send_flags) < 0 && errno == EPIPE, "an error instead of SIGPIPE");
    expect(frame_poller_remove(poller, server) == 0, "a connection no longer watched");
    close(server);
}

int main(int count, char **arguments) {
    const char *path = count > 1 ? arguments[1] : "/tmp/framesocket-poller";
    frame_thread_set_name("poller");
    frame_thread_block_signals();
    uint64_t start = frame_monotonic_time();
    int poller = frame_poller_create();
    expect(poller >= 0 && fcntl(poller, F_GETFD) == FD_CLOEXEC, "a poller");
    check_wakeup(poller);
    int listener = listen_at(path);
    int client = connect_to(path);
    check_identity(listener, client, path);
    check_connection(poller, listener, client);
    expect(frame_monotonic_time() > start, "time that passes");
    close(listener);
    close(poller);
    unlink(path);
}
