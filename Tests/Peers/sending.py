"""What the sending peers share: a connection that is tried until somebody listens."""

import argparse
import errno
import json
import socket
import time

import patience


def say(event, **values):
    print(json.dumps({"event": event, **values}), flush=True)


def argument_parser(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("socket", metavar="SOCKET", help="where a receiver listens, or is going to")
    return parser


def connect(path):
    """Tries every 100 ms with a fresh socket, as existing Jitsi senders do."""
    deadline = time.monotonic() + patience.LENGTH
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
            connection.settimeout(patience.LENGTH)
            return connection
        except OSError as error:
            connection.close()
            if error.errno not in (errno.ENOENT, errno.ECONNREFUSED) or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def finish(connection):
    """Ends the stream, and waits until the receiver has closed its end.

    Closing at once would, where the receiver has said something unread, give it an error in place of the end.
    """
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(4_096):
        pass
