"""Writes raw I420 of limited range to standard output, a frame at a time: a page on which a bar moves, and above it the
time at which the frame was begun.

The time is three rows of 32 squares: 64 bits of microseconds since 1970 by the system's clock, and their CRC-32. White
is 1, and the highest bit comes first. `timecode.js` reads it in a browser.
"""

import argparse
import sys
import time
import zlib

COLUMNS = 32
ROWS = 3
BLACK, WHITE = b"\x10", b"\xeb"


def code():
    now = (time.time_ns() // 1_000).to_bytes(8, "big")
    return now + zlib.crc32(now).to_bytes(4, "big")


def squares(data, width):
    """The rows of pixels that show these bytes."""
    side = width // COLUMNS
    bits = [byte >> shift & 1 for byte in data for shift in range(7, -1, -1)]
    pixels = b""
    for first in range(0, len(bits), COLUMNS):
        row = b"".join((WHITE if bit else BLACK) * side for bit in bits[first:first + COLUMNS])
        pixels += row.ljust(width, BLACK) * side
    return pixels


def pages(width, height):
    """Luma of the frames: what is like lines of text to a codec, and a bar that goes over it."""
    line = bytes(64 if (x * x >> 6) % 3 else 200 for x in range(width))
    page = b"".join(line[y:] + line[:y] if y % 16 < 10 else b"\xc8" * width for y in range(height))
    for step in range(32):
        top = height // 4 + height // 2 * step // 32
        yield page[:top * width] + b"\x60" * (16 * width) + page[(top + 16) * width:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="640x360", metavar="WxH")
    parser.add_argument("--rate", type=float, default=30, metavar="N", help="frames a second (30)")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    lumas = list(pages(width, height))
    chroma = b"\x78" * (width // 2 * (height // 2)) + b"\x88" * (width // 2 * (height // 2))
    number = 0
    due = time.monotonic()
    try:
        while True:
            luma = lumas[number % len(lumas)]
            top = squares(code(), width)
            sys.stdout.buffer.write(top + luma[len(top):] + chroma)
            sys.stdout.buffer.flush()
            number += 1
            # What a stall has cost is not made up for.
            due = max(due + 1 / options.rate, time.monotonic())
            time.sleep(due - time.monotonic() if due > time.monotonic() else 0)
    except BrokenPipeError:
        sys.stderr.close()


if __name__ == "__main__":
    main()
