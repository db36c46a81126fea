"""Byte streams of the wire as deployed peers write it, each with what must come out."""

import hashlib

from PIL import Image

import jpegs
import jpegtools

OLDER = ["Content-Length", "Buffer-Width", "Buffer-Height", "Buffer-Orientation"]
CURRENT = ["Buffer-Orientation", "Buffer-Height", "Content-Length", "Buffer-Width"]
# Degrees clockwise that deployed receivers hand to their video stack; all other values give 0.
ROTATION = {8: 90, 3: 180, 6: 270}
# How an upright picture is stored, so that the wire's own rule turns it upright again: flip it from left to right where
# the value is mirrored, then turn it clockwise. For 6 and 8 that is the opposite of what Exif's viewers do.
STORED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class Stream:
    """Messages one behind the other, and the list of frames that a receiver must deliver."""

    def __init__(self, description):
        self.description, self.data, self.frames, self.error = description, bytearray(), [], None

    def add(self, jpeg, orientation=1, order=CURRENT, size=None, body=None, fields=None):
        body = jpeg if body is None else body
        jpeg_width, jpeg_height = jpegtools.size(jpeg)
        width, height = size or (jpeg_width, jpeg_height)
        values = {
            "Content-Length": len(body),
            "Buffer-Width": width,
            "Buffer-Height": height,
            "Buffer-Orientation": orientation,
        }
        fields = fields or (lambda values: [f"{name}: {values[name]}" for name in order])
        head = "\r\n".join(["HTTP/1.1 200 OK", *fields(values), "", ""]).encode("ascii")
        self.frames.append({
            "width": width,
            "height": height,
            "orientation": orientation,
            "rotation": ROTATION.get(orientation, 0),
            "contentLength": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
            "jpegWidth": jpeg_width,
            "jpegHeight": jpeg_height,
            "headOffset": len(self.data),
            "bodyOffset": len(self.data) + len(head),
        })
        self.data += head + body

    def cut(self, where, kept):
        """Ends the stream `kept` bytes into the last message's head or body."""
        frame = self.frames.pop()
        start = frame["bodyOffset" if where == "body" else "headOffset"]
        del self.data[start + kept:]
        self.error = {"code": "truncated", "where": where, "got": kept}
        if where == "body":
            self.error["want"] = frame["contentLength"]

    def expectation(self):
        return {
            "description": self.description,
            "bytes": len(self.data),
            "frames": self.frames,
            "error": self.error,
        }


def lower(values):
    return [f"{name.lower()}: {values[name]}" for name in CURRENT]


def upper(values):
    return [f"{name.upper()}: {values[name]}" for name in OLDER]


def among_others(values):
    known = [f"{name}: {values[name]}" for name in CURRENT]
    unknown = ["Server: lighthouse/2.4", "X-Buffer-Width: 9999", "x-trace-id: 7f3a-0041", "Via: 1.1 pier"]
    return [unknown[0], *known[:2], *unknown[1:3], *known[2:], unknown[3]]


def spaced(values):
    return [f"{name}:\t {values[name]}  " for name in OLDER]


def small_pictures(photo, count):
    """Pictures of 12 to 188 pixels a side, about 200 bytes to 9 kB, large and small in turn."""
    for index in range(count):
        step = index // 2 if index % 2 else count - 1 - index // 2
        side = 12 + step * 176 // (count - 1)
        left, top = (index * 37) % (photo.width - side), (index * 23) % (photo.height - side)
        crop = photo.crop((left, top, left + side, top + side - step % 3))
        yield jpegtools.encode(crop, 85, "gray" if step < 6 else "420", "-optimize")


def streams(fixtures):
    """File name without extension, and the stream."""
    photo = Image.open(fixtures / "photos/chelsea-451x300.png")
    phone = [Image.open(fixtures / f"screens/phone-scroll/{index:03}.png") for index in range(4)]
    pair = [jpegtools.encode(photo.crop((x, 40, x + 120, 121)), 100, "444") for x in (140, 160)]

    for name, order in [("order-older", OLDER), ("order-current", CURRENT)]:
        stream = Stream(f"The header order of {name.split('-')[1]} CFNetwork.")
        for jpeg in pair:
            stream.add(jpeg, order=order)
        yield name, stream

    stream = Stream("Forty frames of less than 10,240 bytes, back to back.")
    for jpeg in small_pictures(photo, 40):
        stream.add(jpeg)
    yield "small-frames", stream

    stream = Stream("Jitsi: a header of 562 x 1218 on a JPEG of 563 x 1219, quality 100, 4:4:4.")
    stream.add(jpegtools.encode(jpegs.half(phone[0]), 100, "444"), size=(562, 1218))
    yield "jitsi-562-on-563", stream

    stream = Stream("Orientations 0 (unknown) to 8. Rotated upright as docs/wire-format.md says, all show the same image.")
    upright = photo.crop((130, 30, 274, 126))
    for orientation in range(9):
        stored = upright.transpose(STORED[orientation]) if orientation in STORED else upright
        stream.add(jpegtools.encode(stored, 90, "444"), orientation)
    yield "orientations", stream

    stream = Stream("GetStream: quality 70, 4:2:0.")
    for screen in phone[:3]:
        stream.add(jpegtools.encode(screen.resize((374, 812), Image.Resampling.LANCZOS), 70, "420"))
    yield "getstream-quality-70", stream

    stream = Stream("Field names in lower and upper case, unknown fields in between, white space around values.")
    for fields in [lower, upper, among_others, spaced]:
        stream.add(pair[0], fields=fields)
    yield "names-and-unknown-fields", stream

    stream = Stream("Bodies padded with zero bytes after EOI to 10,240 bytes, counted in Content-Length.")
    for jpeg in list(small_pictures(photo, 40))[:3]:
        stream.add(jpeg, body=jpeg.ljust(10_240, b"\0"))
    yield "zero-padded", stream

    for where, kept in [("body", 7_001), ("head", 57)]:
        stream = Stream(f"Two whole frames, then one cut in its {where}.")
        for jpeg in [pair[0], pair[1], pair[0]]:
            stream.add(jpeg)
        stream.cut(where, kept)
        yield f"cut-in-{where}", stream

    stream = Stream("A body whose comment segment looks like a whole message, between two plain frames.")
    inner = Stream("")
    inner.add(min(small_pictures(photo, 40), key=len))
    stream.add(pair[0])
    stream.add(jpegtools.with_segment(pair[1], 0xFE, bytes(inner.data)))
    stream.add(pair[0])
    yield "head-inside-body", stream
