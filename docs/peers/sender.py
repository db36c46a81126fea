#!/usr/bin/env python3
"""Sends JPEG files as frames, in turn: sender.py SOCKET FILE...

Waits for a receiver for as long as it takes. Exits with 0 when the receiver has read everything and closed, 1 if it
closed before, 66 where a file is no JPEG.
"""

import pathlib
import socket
import sys
import time

# A shorter body stops existing Jitsi receivers for good: their reads of 10,240 bytes would include the next message.
MINIMUM_BODY = 10_240


def size(jpeg):
    """The width and height of a JPEG, from its frame header (SOFn)."""
    at = 2 if jpeg[:2] == b"\xff\xd8" else len(jpeg)
    while at + 9 <= len(jpeg) and jpeg[at] == 0xFF:
        marker = jpeg[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(jpeg[at + 7 : at + 9], "big"), int.from_bytes(jpeg[at + 5 : at + 7], "big")
        # A fill byte stands alone; every other segment states its length.
        at += 1 if marker == 0xFF else 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
    raise ValueError("this is no JPEG")


def message(jpeg, orientation=1):
    """A frame as it crosses the socket; the orientation is that of docs/wire-format.md, 1 for upright."""
    width, height = size(jpeg)
    body = jpeg.ljust(MINIMUM_BODY, b"\0")
    head = (
        "HTTP/1.1 200 OK\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"Buffer-Width: {width}\r\n"
        f"Buffer-Height: {height}\r\n"
        f"Buffer-Orientation: {orientation}\r\n"
        "\r\n"
    )
    return head.encode("ascii") + body


def connect(path):
    """A connection, tried every 100 ms until somebody listens at the path."""
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            # No file yet, or one that a receiver left behind.
            connection.close()
            time.sleep(0.1)


def has_closed(connection):
    """Drops what the receiver has said so far, and returns whether that was its end."""
    try:
        while connection.recv(4096, socket.MSG_DONTWAIT):
            pass
        return True
    except BlockingIOError:
        return False


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: sender.py SOCKET FILE...")
    try:
        messages = [message(pathlib.Path(name).read_bytes()) for name in sys.argv[2:]]
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 66
    with connect(sys.argv[1]) as connection:
        try:
            for data in messages:
                if has_closed(connection):
                    raise BrokenPipeError
                connection.sendall(data)
            # The end of the stream, between two messages. Closing with unread bytes would break the connection, and discard
            # what is still on its way.
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
        except (BrokenPipeError, ConnectionResetError):
            print("the receiver closed before everything was sent", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
