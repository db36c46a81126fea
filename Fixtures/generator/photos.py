"""Photographs: the freely licensed ones among the images that the scikit-image wheel carries."""

import importlib.util
import pathlib

from PIL import Image

# The wheel's image files are read as they are; the package itself is not imported.
SOURCE = pathlib.Path(importlib.util.find_spec("skimage").origin).parent / "data"


def original(name):
    return Image.open(SOURCE / name).convert("RGB")


def photographs():
    """File name and picture, each in 8-bit RGB."""
    yield "astronaut-512x512.png", original("astronaut.png")
    yield "camera-511x509.png", original("camera.png").crop((0, 0, 511, 509))
    yield "chelsea-451x300.png", original("chelsea.png")
    # 16:9 out of 640 x 427, enlarged three times.
    rocket = original("rocket.jpg").crop((0, 33, 640, 393))
    yield "rocket-1920x1080.png", rocket.resize((1920, 1080), Image.Resampling.BICUBIC)
