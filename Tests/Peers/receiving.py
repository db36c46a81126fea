"""What the receiving peers share: a socket that listens, and a report on each frame.

A peer is a function `messages(connection)` that yields (fields, body) for each message: the fields as a dictionary with
names in lower case, the body as bytes. It raises StreamError where the stream is not a row of whole messages.

On standard output stands one JSON object a line: `listening`, then `frame` for each frame, then perhaps `error`, then
`closed` with the number of frames. The exit code is 0 if the stream ended cleanly, and 65 after an error.
"""

import argparse
import hashlib
import io
import json
import os
import pathlib
import socket
import sys

from PIL import Image

import patience


class StreamError(Exception):
    """The stream is not what a receiver can read; the code says how."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def say(event, **values):
    print(json.dumps({"event": event, **values}), flush=True)


def describe(fields, body):
    """What a frame is: by its header, and by its JPEG, decoded completely."""
    with Image.open(io.BytesIO(body), formats=["JPEG"]) as image:
        image.load()
        jpeg_width, jpeg_height = image.size
    return {
        "width": int(fields["buffer-width"]),
        "height": int(fields["buffer-height"]),
        "orientation": int(fields["buffer-orientation"]),
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "jpegWidth": jpeg_width,
        "jpegHeight": jpeg_height,
    }


def argument_parser(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("socket", metavar="SOCKET", help="where to listen; nothing may be there")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="write each body as frame-000000.jpg")
    return parser


def accept(options):
    """The first sender that connects."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(options.socket)
        try:
            listener.listen(1)
            say("listening", path=options.socket)
            listener.settimeout(patience.LENGTH)
            connection, _ = listener.accept()
        finally:
            os.unlink(options.socket)
    connection.settimeout(patience.LENGTH)
    return connection


def receive(messages, options):
    """Reports what `messages` yields, and returns the exit code."""
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    count, code = 0, 0
    try:
        with accept(options) as connection:
            for fields, body in messages(connection):
                if options.out:
                    (options.out / f"frame-{count:06}.jpg").write_bytes(body)
                say("frame", index=count, **describe(fields, body))
                count += 1
    except StreamError as error:
        say("error", code=error.code, message=str(error))
        code = 65
    say("closed", frames=count)
    return code


def main(description, messages):
    sys.exit(receive(messages, argument_parser(description).parse_args()))
