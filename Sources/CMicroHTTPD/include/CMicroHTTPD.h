// libmicrohttpd, loaded by the one command that needs it: linked, it and GnuTLS behind it would cost every process of the
// program, those that send among them, 3 MiB.
#pragma once

#include <stdbool.h>
#include <microhttpd.h>

// Loads the library, unless it is loaded; returns NULL on success, or else the system's error message. Every other function here
// needs it. For one thread at a time.
const char *microhttpd_load(void);

// A server on `listener`, a listening socket that the server takes over; NULL on failure.
// One thread of its own polls, and connections may be suspended. `changed` is told when a connection starts, before anything
// is read from it, and when it is about to be closed; `completed` when a request has been answered, or never will be.
struct MHD_Daemon *microhttpd_start(
    int listener, unsigned connections, size_t memory, unsigned timeout, MHD_AccessHandlerCallback handler,
    MHD_NotifyConnectionCallback changed, MHD_RequestCompletedCallback completed, void *context);

// Closes every connection, none of which may be suspended, and waits for the server's thread.
void microhttpd_stop(struct MHD_Daemon *daemon);

// Lets the server leave a connection alone, from within its own callback, and has it go on, from anywhere.
void microhttpd_suspend(struct MHD_Connection *connection);
void microhttpd_resume(struct MHD_Connection *connection);

// The socket of a connection; -1 if the library does not tell.
int microhttpd_socket(struct MHD_Connection *connection);

// Writes the client's address and this side's as Linux lists them in /proc/net/tcp or, where `version6` becomes true, tcp6;
// false if they are not available.
bool microhttpd_addresses(struct MHD_Connection *connection, char *text, size_t size, bool *version6);

// A field of a request's header; NULL if it is absent.
const char *microhttpd_field(struct MHD_Connection *connection, const char *name);

// How many fields with this name a request's header has.
int microhttpd_field_count(struct MHD_Connection *connection, const char *name);

// An argument of a request's query, behind the question mark; NULL if it is absent.
const char *microhttpd_argument(struct MHD_Connection *connection, const char *name);

// A response of one piece, which is copied, and one that is read in blocks as its client takes it: `size` bytes, or until its
// reader ends it. NULL if there is no memory.
struct MHD_Response *microhttpd_response(const void *bytes, size_t count);
struct MHD_Response *microhttpd_read_response(
    uint64_t size, size_t block, MHD_ContentReaderCallback read, void *context, MHD_ContentReaderFreeCallback release);

// Adds a field to a response; returns false on failure.
bool microhttpd_add_field(struct MHD_Response *response, const char *name, const char *value);

// Answers with a response, which is to be let go of as well.
enum MHD_Result microhttpd_answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);
void microhttpd_release(struct MHD_Response *response);

// What `changed` is told of a connection that starts.
static const enum MHD_ConnectionNotificationCode microhttpd_started = MHD_CONNECTION_NOTIFY_STARTED;

// The size of a response that its reader ends.
static const uint64_t microhttpd_unknown_size = MHD_SIZE_UNKNOWN;

// What a handler returns.
static const enum MHD_Result microhttpd_yes = MHD_YES;
static const enum MHD_Result microhttpd_no = MHD_NO;

// What a reader returns for the end of the body, and for the end of the connection.
static const ssize_t microhttpd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t microhttpd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;
