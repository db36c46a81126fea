"""Receives frames as the deployed Jitsi and react-native-webrtc receivers do, their fault included.

They read up to 10,240 bytes at a time into one message, and never more than the message still lacks once its head is
there. A message is complete only when exactly Content-Length bytes of body are in it. The read that completes the head
may take in bytes of the next message: then this one is never complete, no frame comes any more, and all that follows is
piled up in memory. Here that is the error `wedged`, told at the end of the stream.
"""

import functools
import re
import sys

import receiving

MAXIMUM_READ = 10_240


def parse_head(data):
    """The fields and the offset of the body; None if the header is not complete."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    lines = data[:end].decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}, end + 4


def content_length(fields):
    """As NSString's integerValue: the digits at the front, 0 if there are none."""
    match = re.match(r"\s*([+-]?\d+)", fields.get("content-length", ""))
    return int(match[1]) if match else 0


def messages(connection, is_greedy=False):
    read = connection.makefile("rb").read if is_greedy else connection.recv
    data, head, is_overrun, read_length = bytearray(), None, False, MAXIMUM_READ
    while piece := read(read_length):
        data += piece
        head = head or parse_head(data)
        if head is None:
            continue
        fields, body_offset = head
        missing = content_length(fields) - (len(data) - body_offset)
        if missing == 0:
            yield fields, bytes(data[body_offset:])
            data, head, read_length = bytearray(), None, MAXIMUM_READ
        else:
            is_overrun = is_overrun or missing < 0
            read_length = missing if 0 < missing < MAXIMUM_READ else MAXIMUM_READ
    if is_overrun:
        raise receiving.StreamError("wedged", f"a read ran over the end of a message, {len(data)} bytes piled up")
    if data:
        raise receiving.StreamError("truncated", f"the stream ends in a message, after {len(data)} bytes")


if __name__ == "__main__":
    parser = receiving.argument_parser(__doc__)
    parser.add_argument(
        "--greedy",
        action="store_true",
        help="let each read return as much as it asks for, as if the sender were always ahead: the worst case",
    )
    options = parser.parse_args()
    sys.exit(receiving.receive(functools.partial(messages, is_greedy=options.greedy), options))
