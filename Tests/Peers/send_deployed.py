"""Sends JPEG files as the deployed Jitsi client does.

Four header fields in one of two orders and nothing else, writes of at most 10,240 bytes, no hello, no padding. What the
server says is read one byte at a time and dropped. Prints `sent` with the number of frames, or `closed` and exits with 1
if the server closed before all were sent.
"""

import io
import itertools
import pathlib
import select
import sys

from PIL import Image

import sending

MAXIMUM_WRITE = 10_240
ORDERS = {
    # Older systems write the fields as they were set, current ones by hash bucket.
    "older": ["Content-Length", "Buffer-Width", "Buffer-Height", "Buffer-Orientation"],
    "current": ["Buffer-Orientation", "Buffer-Height", "Content-Length", "Buffer-Width"],
}


class ServerClosed(Exception):
    """The server closed its end while there was something to send."""


def message(jpeg, order, orientation, size=None):
    """A frame on the wire; the size in its header is the JPEG's unless given."""
    with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as image:
        width, height = size or image.size
    values = {
        "Content-Length": len(jpeg),
        "Buffer-Width": width,
        "Buffer-Height": height,
        "Buffer-Orientation": orientation,
    }
    fields = [f"{name}: {values[name]}" for name in ORDERS[order]]
    return "\r\n".join(["HTTP/1.1 200 OK", *fields, "", ""]).encode("ascii") + jpeg


def send(connection, data):
    """Writes whenever there is room, and drops what the server says meanwhile."""
    offset = 0
    while offset < len(data):
        readable, writable, _ = select.select([connection], [connection], [], connection.gettimeout())
        if not readable and not writable:
            raise TimeoutError("the server neither reads nor speaks")
        if readable and not connection.recv(1):
            raise ServerClosed
        if writable:
            offset += connection.send(data[offset:offset + MAXIMUM_WRITE])


def size(text):
    width, _, height = text.partition("x")
    return int(width), int(height)


def main():
    parser = sending.argument_parser(__doc__)
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="JPEG", help="what to send, in this order")
    parser.add_argument("--order", choices=[*ORDERS, "both"], default="current", help="of the fields; `both` in turn")
    parser.add_argument("--orientation", type=int, default=1, help="0 to 8 (1)")
    parser.add_argument("--size", type=size, metavar="WxH", help="what the heads say; default: the size of each JPEG")
    parser.add_argument("--loop", type=int, default=1, metavar="N", help="send all files N times (1)")
    options = parser.parse_args()
    files = [path.read_bytes() for path in options.files]
    orders = itertools.cycle(ORDERS if options.order == "both" else [options.order])
    sent = 0
    with sending.connect(options.socket) as connection:
        try:
            for jpeg in files * options.loop:
                send(connection, message(jpeg, next(orders), options.orientation, options.size))
                sent += 1
            sending.finish(connection)
        except (ServerClosed, BrokenPipeError, ConnectionResetError):
            sending.say("closed", frames=sent)
            sys.exit(1)
    sending.say("sent", frames=sent)


if __name__ == "__main__":
    main()
