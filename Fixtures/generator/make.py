"""Makes the fixtures again, all or the named parts of them, in the order in which they build on each other."""

import hashlib
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

from PIL import Image, ImageChops

import desktop
import embedding
import jpegs
import jpegtools
import photos
import screens
import streams

FIXTURES = pathlib.Path(__file__).resolve().parent.parent


def fresh(folder):
    shutil.rmtree(FIXTURES / folder, ignore_errors=True)
    (FIXTURES / folder).mkdir(parents=True)
    return FIXTURES / folder


def save(image, path):
    """PNG of colour type 2 (8-bit RGB), not interlaced, nothing but IHDR, IDAT and IEND."""
    image.save(path)
    # -nc -nb -np keep the colour type, so that a simple reader is enough.
    subprocess.run(["optipng", "-quiet", "-o2", "-i0", "-nc", "-nb", "-np", "-strip", "all", str(path)], check=True)
    print(f"{path.relative_to(FIXTURES)}  {path.stat().st_size:,} bytes", flush=True)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def make_photos():
    folder = fresh("photos")
    for name, image in photos.photographs():
        save(image, folder / name)


def make_screens():
    with tempfile.TemporaryDirectory() as scratch, desktop.site(photos.SOURCE) as port:
        for name, sequence in screens.SEQUENCES.items():
            folder = fresh(f"screens/{name}")
            for index, image in enumerate(sequence(pathlib.Path(scratch) / name, port)):
                save(image, folder / f"{index:03}.png")


def make_jpeg():
    folder = fresh("jpeg")
    for name, jpeg, _ in jpegs.files(FIXTURES):
        (folder / name).write_bytes(jpeg)


def make_streams():
    folder = fresh("streams")
    for name, stream in streams.streams(FIXTURES):
        (folder / f"{name}.http").write_bytes(stream.data)
        write_json(folder / f"{name}.json", stream.expectation())
    embedding.write(FIXTURES)


def psnr(image, subsampling):
    """Peak signal-to-noise ratio over R, G and B after quality 90, in dB."""
    decoded = jpegtools.decode(jpegtools.encode(image, 90, subsampling))
    histogram = ImageChops.difference(image, decoded).histogram()
    squares = sum(count * (index % 256) ** 2 for index, count in enumerate(histogram))
    return round(10 * math.log10(255**2 * 3 * image.width * image.height / squares), 2)


def described(path):
    image = Image.open(path)
    return {
        "file": str(path.relative_to(FIXTURES)),
        "width": image.width,
        "height": image.height,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "psnr90": {subsampling: psnr(image, subsampling) for subsampling in ("444", "420")},
    }


def make_manifest():
    pictures = {
        "photos": [described(path) for path in sorted(FIXTURES.glob("photos/*.png"))],
        "screens": {
            folder.name: [described(path) for path in sorted(folder.glob("*.png"))]
            for folder in sorted(FIXTURES.glob("screens/*"))
        },
    }
    known = {name: facts for name, _, facts in jpegs.files(FIXTURES)}
    write_json(FIXTURES / "manifest.json", {
        **pictures,
        "jpeg": [{"file": f"jpeg/{path.name}", **known[path.name]} for path in sorted(FIXTURES.glob("jpeg/*.jpg"))],
        "streams": [f"streams/{path.name}" for path in sorted(FIXTURES.glob("streams/*.http"))],
    })
    every = pictures["photos"] + sum(pictures["screens"].values(), [])
    for entry in every:
        print(entry["file"], f"{entry['width']}x{entry['height']}", entry["psnr90"])
    if any(entry["psnr90"]["444"] < 38 for entry in every):
        sys.exit("a picture stays below 38 dB at quality 90 in 4:4:4")


PARTS = {
    "photos": make_photos,
    "screens": make_screens,
    "jpeg": make_jpeg,
    "streams": make_streams,
    "manifest": make_manifest,
}

if __name__ == "__main__":
    chosen = sys.argv[1:] or list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"unknown part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    for part, make in PARTS.items():
        if part in chosen:
            make()
