"""Compares a raw image with what Pillow makes of a JPEG in each mode, by the rules of `FrameDecoder.Viewport`.

Prints, for each mode, the mean difference of a sample in thousandths.
"""

import argparse
import pathlib

from PIL import Image, ImageChops, ImageStat

import sending


def near(numerator, denominator):
    """The quotient, rounded, and 1 at least."""
    return max(1, (2 * numerator + denominator) // (2 * denominator))


def letterbox(image, W, H):
    w, h = image.size
    size = (W, near(h * W, w)) if w * H > h * W else (near(w * H, h), H)
    fit = Image.new("RGB", (W, H))
    fit.paste(image.resize(size, Image.BILINEAR), ((W - size[0]) // 4 * 2, (H - size[1]) // 4 * 2))
    return fit


def fill(image, W, H):
    w, h = image.size
    part = (w, max(1, w * H // W)) if w * H <= h * W else (max(1, h * W // H), h)
    x, y = (w - part[0]) // 4 * 2, (h - part[1]) // 4 * 2
    return image.crop((x, y, x + part[0], y + part[1])).resize((W, H), Image.BILINEAR)


def stretch(image, W, H):
    return image.resize((W, H), Image.BILINEAR)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jpeg", type=pathlib.Path)
    parser.add_argument("raw", type=pathlib.Path, help="rows of red, green and blue")
    parser.add_argument("width", type=int)
    parser.add_argument("height", type=int)
    options = parser.parse_args()
    size = (options.width, options.height)
    found = Image.frombytes("RGB", size, options.raw.read_bytes())
    image = Image.open(options.jpeg).convert("RGB")
    for mode in (letterbox, fill, stretch):
        mean = ImageStat.Stat(ImageChops.difference(found, mode(image, *size))).mean
        sending.say(f"--{mode.__name__}", difference=round(sum(mean) / 3 * 1000))


if __name__ == "__main__":
    main()
