"""JPEG by libjpeg-turbo's own cjpeg and djpeg, and the few edits to its bytes that the fixtures need."""

import io
import struct
import subprocess

from PIL import Image

# What `cjpeg -sample` calls each subsampling of the chroma planes.
SAMPLING = {"444": "1x1", "422": "2x1", "420": "2x2", "440": "1x2", "411": "4x1"}


def encode(image, quality, subsampling, *options):
    """One JPEG; `subsampling` is a key of SAMPLING or "gray"."""
    source = io.BytesIO()
    image.convert("RGB").save(source, "PPM")
    mode = ["-grayscale"] if subsampling == "gray" else ["-sample", SAMPLING[subsampling]]
    command = ["cjpeg", "-quality", str(quality), "-dct", "int", *mode, *options]
    return subprocess.run(command, input=source.getvalue(), check=True, capture_output=True).stdout


def decode(jpeg):
    """The pixels as djpeg gives them."""
    command = ["djpeg", "-dct", "int", "-ppm"]
    pixels = subprocess.run(command, input=jpeg, check=True, capture_output=True).stdout
    return Image.open(io.BytesIO(pixels)).convert("RGB")


def size(jpeg):
    """Width and height by the frame header (SOF0 to SOF2)."""
    place = 2
    while True:
        marker, length = struct.unpack_from(">HH", jpeg, place)
        if marker in (0xFFC0, 0xFFC1, 0xFFC2):
            height, width = struct.unpack_from(">HH", jpeg, place + 5)
            return width, height
        place += 2 + length


def with_segment(jpeg, marker, payload):
    """The same picture with one more segment behind the JFIF header that cjpeg writes."""
    behind = 4 + struct.unpack_from(">H", jpeg, 4)[0]
    segment = struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload
    return jpeg[:behind] + segment + jpeg[behind:]


def exif(orientation):
    """The payload of an APP1 segment that states an orientation and nothing else."""
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"Exif\0\0MM\0\x2a" + struct.pack(">IH", 8, 1) + entry + struct.pack(">I", 0)
