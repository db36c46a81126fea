"""Writes the pixels of JPEGs, turned as their Exif data say by Pillow: red, green and blue, one image after another."""

import pathlib
import sys

from PIL import Image, ImageOps

for file in sys.argv[1:]:
    image = ImageOps.exif_transpose(Image.open(pathlib.Path(file)))
    sys.stdout.buffer.write(image.convert("RGB").tobytes())
