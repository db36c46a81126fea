"""JPEG files: one photograph in every subsampling, and the kinds that need care."""

from PIL import Image

import jpegtools


def half(screen):
    """Half size and up to one pixel more: 563 x 1219 of 1125 x 2436, as from an image of fractional extent."""
    width, height = screen.width // 2 + 1, screen.height // 2 + 1
    padded = Image.new("RGB", (2 * width, 2 * height))
    # From the far corner to the origin, so that the outermost pixels repeat beyond the edges.
    for y in (2, 1, 0):
        for x in (2, 1, 0):
            padded.paste(screen, (x, y))
    return padded.reduce(2)


def files(fixtures):
    """File name, bytes and what is to be known of them."""
    photo = Image.open(fixtures / "photos/chelsea-451x300.png")
    screen = Image.open(fixtures / "screens/phone-scroll/000.png")

    def entry(name, jpeg, subsampling, **more):
        width, height = jpegtools.size(jpeg)
        return name, jpeg, {"width": width, "height": height, "subsampling": subsampling, **more}

    for subsampling in [*jpegtools.SAMPLING, "gray"]:
        yield entry(f"chelsea-{subsampling}.jpg", jpegtools.encode(photo, 90, subsampling), subsampling)
    progressive = jpegtools.encode(photo, 90, "420", "-progressive")
    yield entry("chelsea-progressive.jpg", progressive, "420", progressive=True)
    turned = jpegtools.encode(photo.transpose(Image.Transpose.ROTATE_90), 90, "420")
    turned = jpegtools.with_segment(turned, 0xE1, jpegtools.exif(6))
    yield entry("chelsea-exif-6.jpg", turned, "420", exifOrientation=6)
    yield entry("phone-563x1219.jpg", jpegtools.encode(half(screen), 90, "420"), "420")
