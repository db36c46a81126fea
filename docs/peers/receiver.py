#!/usr/bin/env python3
"""Receives the frames of one sender into files: receiver.py SOCKET DIRECTORY

Writes each body as frame-000000.jpg and so on, byte for byte, and prints a line for each. Exits with 0 when the sender ends
between two messages, 65 where it sends what is no frame, 69 where somebody else listens at the path.
"""

import os
import pathlib
import re
import socket
import sys

MAXIMUM_HEAD = 8_192
MAXIMUM_FIELDS = 32
# The maximum of each field; Buffer-Orientation and Content-Length may be 0.
REQUIRED = {
    b"content-length": 33_554_432,
    b"buffer-width": 16_384,
    b"buffer-height": 16_384,
    b"buffer-orientation": 8,
}
START_LINE = re.compile(rb"HTTP/1\.[01] 200( [\x21-\x7e][\x20-\x7e]*)?")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
NUMBER = re.compile(rb"0|[1-9][0-9]{0,9}")


class StreamError(Exception):
    """The stream is not a sequence of complete frames; where the next one would begin is unknown."""


def read_line(stream, room):
    """A line without its end; None if the stream has ended."""
    line = stream.readline(room)
    if not line:
        return None
    if not line.endswith(b"\r\n"):
        raise StreamError("a line is too long, cut off, or does not end with CR LF")
    return line[:-2]


def read_head(stream):
    """The numbers of a header; None if the stream has ended before it."""
    line = read_line(stream, MAXIMUM_HEAD)
    if line is None:
        return None
    if not START_LINE.fullmatch(line):
        raise StreamError(f"this begins no frame: {line[:40]!r}")
    numbers, room = {}, MAXIMUM_HEAD - len(line) - 2
    for _ in range(MAXIMUM_FIELDS + 1):
        line = read_line(stream, room)
        if line is None:
            raise StreamError("the stream ended within a head")
        room -= len(line) + 2
        if not line:
            return checked(numbers)
        field = FIELD.fullmatch(line)
        if not field:
            raise StreamError(f"this is no field: {line[:40]!r}")
        name, value = field[1].lower(), field[2]
        # Only a receiver that said hello gets messages of another type.
        if name in (b"transfer-encoding", b"message-type"):
            raise StreamError(f"a frame has no {name.decode()}")
        if name in REQUIRED:
            if name in numbers or not NUMBER.fullmatch(value) or int(value) > REQUIRED[name]:
                raise StreamError(f"this cannot be: {line[:40]!r}")
            numbers[name] = int(value)
    raise StreamError("there are too many fields")


def checked(numbers):
    if missing := REQUIRED.keys() - numbers.keys():
        raise StreamError(f"{min(missing).decode()} is missing")
    length, width, height, orientation = (numbers[name] for name in REQUIRED)
    if width * height == 0 or width * height > 2**25:
        raise StreamError(f"an image of {width} by {height} cannot be")
    return length, width, height, orientation


def frames(stream):
    """The sender's messages as (header, body) pairs."""
    while head := read_head(stream):
        body = stream.read(head[0])
        if len(body) < head[0]:
            raise StreamError("the stream ended within a body")
        yield head, body


def listen(path):
    """A listening socket, replacing one that a dead receiver left behind."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except FileNotFoundError:
            pass
        except ConnectionRefusedError:
            os.unlink(path)
        else:
            return None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The socket's file belongs to this user alone from the start.
    mask = os.umask(0o177)
    listener.bind(path)
    os.umask(mask)
    listener.listen(1)
    return listener


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: receiver.py SOCKET DIRECTORY")
    path, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    listener = listen(path)
    if not listener:
        print(f"{path}: somebody else listens here", file=sys.stderr)
        return 69
    with listener:
        connection, _ = listener.accept()
        os.unlink(path)
    with connection, connection.makefile("rb") as stream:
        try:
            for index, ((length, width, height, orientation), body) in enumerate(frames(stream)):
                (directory / f"frame-{index:06}.jpg").write_bytes(body)
                print(f"{index} {width}x{height} orientation {orientation} {length} bytes", flush=True)
        except (StreamError, ConnectionResetError) as error:
            print(error, file=sys.stderr)
            return 65
    return 0


if __name__ == "__main__":
    sys.exit(main())
