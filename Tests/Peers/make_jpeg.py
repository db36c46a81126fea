"""Makes a JPEG of an image that holds more than one, with Pillow.

`list` is followed by a smaller image, which it lists (MPO). `stale` lists it too, but it is not there. `thumbnail` carries a
smaller JPEG, whole, in its Exif segment.
"""

import argparse
import io
import pathlib
import struct

from PIL import Image


def listing(image):
    file = io.BytesIO()
    image.convert("RGB").save(file, "MPO", save_all=True, append_images=[image.convert("RGB").resize((90, 60))])
    return file.getvalue()


def stale(image):
    file = listing(image)
    return file[: file.rindex(b"\xff\xd8\xff")]


def thumbnail(image):
    small = io.BytesIO()
    image.resize((96, 64)).save(small, "JPEG")
    data = small.getvalue()
    # Behind the TIFF header and a first directory without entries: the second directory, of three entries, and the JPEG.
    first = 8 + 2 + 4
    compression = (0x0103, 3, 1, 6)
    offset = (0x0201, 4, 1, first + 2 + 3 * 12 + 4)
    length = (0x0202, 4, 1, len(data))
    second = struct.pack("<HHHIIHHIIHHIII", 3, *compression, *offset, *length, 0)
    exif = b"Exif\0\0II*\0" + struct.pack("<IHI", 8, 0, first) + second + data
    file = io.BytesIO()
    image.save(file, "JPEG", exif=exif)
    assert Image.open(io.BytesIO(file.getvalue())).getexif() is not None
    return file.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = {"list": listing, "stale": stale, "thumbnail": thumbnail}
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("image", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    options.output.write_bytes(kinds[options.kind](Image.open(options.image)))


if __name__ == "__main__":
    main()
