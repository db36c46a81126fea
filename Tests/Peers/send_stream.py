"""Sends the bytes of a file as they are, cut into writes of any size.

Prints `sent` with the number of bytes when the receiver has closed its end too, or `refused` and exits with 1 if it
closed before all bytes were written.
"""

import pathlib
import random
import sys

import sending


def sizes(total, chunk, seed):
    """The sizes of the writes, endlessly."""
    generator = random.Random(seed)
    while True:
        if chunk == "all":
            yield max(total, 1)
        elif chunk == "random":
            # As many of a few bytes as of thousands.
            yield int(2 ** generator.uniform(0, 14))
        else:
            yield int(chunk)


def pieces(data, chunk, seed):
    offset = 0
    for size in sizes(len(data), chunk, seed):
        if offset >= len(data):
            return
        yield data[offset:offset + size]
        offset += size


def chunk(text):
    if text in ("all", "random") or int(text) > 0:
        return text
    raise ValueError


def main():
    parser = sending.argument_parser(__doc__)
    parser.add_argument("file", type=pathlib.Path, metavar="FILE", help="what to send")
    parser.add_argument(
        "--chunk", type=chunk, default="all",
        help="bytes a write: a number, `all` (default), or `random`",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the random sizes (1)")
    options = parser.parse_args()
    data = options.file.read_bytes()
    sent = 0
    with sending.connect(options.socket) as connection:
        try:
            for piece in pieces(data, options.chunk, options.seed):
                connection.sendall(piece)
                sent += len(piece)
            sending.finish(connection)
        except (BrokenPipeError, ConnectionResetError):
            sending.say("refused", bytes=sent)
            sys.exit(1)
    sending.say("sent", bytes=sent)


if __name__ == "__main__":
    main()
