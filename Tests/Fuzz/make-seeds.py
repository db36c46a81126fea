"""Writes the first inputs of each fuzzer, and the words it is told, to Fixtures/fuzz. It needs cjpeg (libjpeg-turbo-progs)."""

import re
import struct
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
ROOT = PACKAGE / "Fixtures" / "fuzz"


def found(pattern, *paths):
    """The first group of every match in files of the sources, each once."""
    texts = [path.read_text() for name in paths for path in sorted((PACKAGE / "Sources").glob(name))]
    return sorted({match for text in texts for match in re.findall(pattern, text)})


def head(length, *fields, status="HTTP/1.1 200 OK"):
    lines = [status, f"Content-Length: {length}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def frame(body, orientation=1, *more):
    return head(len(body), "Buffer-Width: 562", "Buffer-Height: 1218", f"Buffer-Orientation: {orientation}", *more) + body


def audio(body, kind="app", rate=44100, channels=2, *more):
    fields = ["Message-Type: audio", f"Audio-Kind: {kind}", f"Audio-Sample-Rate: {rate}", f"Audio-Channels: {channels}"]
    return head(len(body), *fields, *more) + body


def status(state, *more):
    return head(0, "Message-Type: status", f"Sender-State: {state}", *more, "Control-Version: 1")


def info(body, *fields):
    return head(len(body), "Message-Type: info", *fields) + body


def shared_buffer(index, size):
    return head(0, "Message-Type: shared-buffer", f"Shared-Buffer: {index}", f"Shared-Bytes: {size}")


def shared_frame(index, word, *planes, more=()):
    """A frame of 6 x 3 pixels; each plane is an offset and a stride."""
    sides = ["Buffer-Width: 6", "Buffer-Height: 3", "Buffer-Orientation: 1"]
    positions = []
    for number, (offset, stride) in enumerate(planes, 1):
        suffix = "" if number == 1 else f"-{number}"
        positions += [f"Shared-Offset{suffix}: {offset}", f"Shared-Stride{suffix}: {stride}"]
    kind = ["Message-Type: shared-frame", f"Shared-Buffer: {index}"]
    return head(0, *kind, *sides, f"Shared-Format: {word}", *positions, *more)


def request(name, *fields, length=0):
    return head(length, *fields, status=f"POST /{name} HTTP/1.1")


MESSAGES = {
    "frame": frame(b"\xff\xd8\xff\xd9"),
    "frame-timed": frame(b"\xff\xd8\xff\xd9", 6, "Buffer-Presentation-Time: 1700000000", "Buffer-Sequence: 7"),
    "frame-deployed": b"HTTP/1.1 200 OK\r\nBuffer-Orientation: 1\r\nContent-Length: 4\r\nBuffer-Height: 1218\r\n"
    b"Buffer-Width: 562\r\n\r\n\xff\xd8\xff\xd9",
    "two-frames": frame(b"\xff\xd8\xff\xd9") + frame(b"", 8),
    "head-in-body": frame(frame(b"x")),
    "lower-case": frame(b"ab").lower().replace(b"http/1.1 200 ok", b"HTTP/1.0 200 ok"),
    "audio": audio(b"\0\1\2\3" * 4) + audio(b"\0\1" * 3, "microphone", 8000, 1, "Buffer-Sequence: 1"),
    "status": status("live") + status("paused", "Pong-Number: 42") + status("stopped", "Finish-Reason: 10006"),
    "status-refusing": status("live", "Refused-Preferences: 1"),
    "info": info(b"channelName=lobby\nuser=Ana\n", "Buffer-Width: 562", "Buffer-Height: 1218", "Frame-Rate: 15000", "Offers-Audio: 1"),
    "unknown-kind": head(3, "Message-Type: cursor") + b"abc" + frame(b"x"),
    "shared-bgra": shared_buffer(0, 4096) + shared_frame(0, "bgra", (0, 24)) + frame(b"x"),
    "shared-i420": shared_buffer(7, 1 << 30)
    + shared_frame(7, "i420", (64, 8), (128, 4), (192, 3), more=["Changed-Row: 1", "Changed-Rows: 2", "Buffer-Sequence: 7"]),
    "shared-nv12": shared_frame(1, "nv12", (0, 6), (18, 6), more=["Buffer-Presentation-Time: 1700000000"]),
    "cut": frame(b"0123456789")[:-4],
}

CONTROL = {
    "hello": request("hello", "Control-Version: 1", "Wants-Pictures: 1", "Wants-Audio: 0"),
    "hello-shared": request("hello", "Control-Version: 1", "Wants-Pictures: 1", "Wants-Audio: 0", "Shared-Memory: 1"),
    "release-decline": request("release", "Shared-Buffer: 7") + request("decline") + request("release", "Shared-Buffer: 0"),
    "pause-resume": request("pause") + request("resume"),
    "stop": request("stop", "Finish-Reason: 10006"),
    "prefer": request(
        "prefer", "Prefer-Frame-Rate: 15000", "Prefer-Width: 640", "Prefer-Height: 360", "Prefer-Quality: 70"
    ),
    "prefer-bytes": request("prefer", "Prefer-Byte-Rate: 100000"),
    "info": request("hello", "Control-Version: 1", "Wants-Info: 1") + request("info", length=6) + b"a=1\nb=" + request("info", length=4)
    + b"a=1\n" + request("info", "Info-Continues: 1", length=2) + b"a=" + request("info", length=2) + b"1\n" + request("discarded"),
    "refresh-ping": request("refresh") + request("ping", "Ping-Number: 18446744073709551615"),
    "unknown": request("dance", "How: well", length=3) + b"abc" + request("refresh"),
}


def jpeg(*options, size=(24, 17)):
    """A small JPEG with some detail."""
    width, height = size
    pixels = bytes((x * 11 + y * 7 * c) % 256 for y in range(height) for x in range(width) for c in (1, 2, 3))
    ppm = f"P6 {width} {height} 255\n".encode() + pixels
    return subprocess.run(["cjpeg", "-quality", "40", *options], input=ppm, capture_output=True, check=True).stdout


def renamed(jpeg):
    """The same JPEG with all of its components named 1."""
    frame, scan = bytearray(jpeg), jpeg.index(b"\xff\xda")
    for number in range(3):
        frame[jpeg.index(b"\xff\xc0") + 10 + 3 * number] = frame[scan + 5 + 2 * number] = 1
    return bytes(frame)


JPEGS = {
    "420": jpeg("-sample", "2x2"),
    "422": jpeg("-sample", "2x1"),
    "440": jpeg("-sample", "1x2"),
    "411": jpeg("-sample", "4x1"),
    "444": jpeg("-sample", "1x1"),
    "gray": jpeg("-grayscale"),
    "rgb": jpeg("-rgb"),
    "restart": jpeg("-restart", "1"),
    "strips": jpeg("-restart", "1", size=(24, 80)),
    "strips-440": jpeg("-restart", "2", "-sample", "1x2", size=(16, 100)),
    "progressive": jpeg("-progressive"),
    "optimized": jpeg("-optimize"),
    "one-pixel": jpeg(size=(1, 1)),
    "padded": jpeg() + bytes(40),
    "two": jpeg() + jpeg("-grayscale"),
    "arithmetic": jpeg("-arithmetic"),
    # Deviations that lenient limits accept.
    "coefficients": jpeg("-restart", "1").replace(b"\x00\x3f\x00", b"\x00\x00\x00", 1),
    "names": renamed(jpeg()),
    "stray": jpeg().replace(b"\xff\xc4", b"\x00\xff\x00\xff\xd0\xff\xc4", 1),
    "version": jpeg().replace(b"JFIF\x00\x01", b"JFIF\x00\x02"),
    "endless": jpeg("-restart", "1", size=(24, 80))[:-2],
}


# A JPEG, a format and the options of the decoder; then edits of four bytes each.
STRIPS = {
    f"base-{base}-format-{base % 10}": bytes([base, base % 10, base % 16]) + edit
    for base, edit in enumerate(
        [b"", b"\0\1\x80\xd3", b"\5\1\x83\x02", b"\6\1\x84\x03", b"\7\1\x61\x03", b"\x09\0\2\x55", b"\x03\1\x80\xd0" * 2]
        + [bytes([1, 2 * base + 1, 128 + base, 7 * base]) for base in range(7, 24)]
    )
}


def words(command, *lines):
    """The first byte picks what the fuzzer does with the others."""
    return bytes([{"receive": 3, "send": 4}[command]]) + "\n".join(lines).encode()


OPTIONS = {
    "receive": words("receive", "/tmp/s", "--count", "3", "--output", "d", "--decode", "--json", "--timeout=1.5"),
    "receive-raw": words("receive", "tcp:80", "--raw", "bgra", "--upright", "--newest", "--token-file", "t"),
    "receive-prefer": words("receive", "s", "--prefer-rate", "15", "--prefer-size", "640x360", "--prefer-quality", "70"),
    "send": words("send", "s", "a.jpg", "--fps", "10", "--loop", "2", "--quality", "80", "--scale", "1/2", "--orientation", "6"),
    "send-stdin": words("send", "s", "-", "--size", "640x480", "--format", "i420", "--letterbox", "320x240", "--rate", "15"),
    "send-sound": words("send", "s", "-", "--audio", "a.wav", "--every=3", "--skip-unchanged", "--plain", "--", "-x"),
    "jpegs": b"\1" + JPEGS["two"],
    # A segment without an end; the time's unit is 1 ns; track 1 is Motion JPEG; a cluster with one frame.
    "recording": b"\x0e" + bytes.fromhex(
        "1A45DFA380 18538067FF 1549A96685 2AD7B18101 1654AE6B8E AE8C D78101 8687565F4D4A504547"
        "1F43B675 8D E78105 A388 81000080 FFD8FFD9"
    ),
}

def image(way, *choices, format=0, width=40, height=40):
    """The choices of FuzzPixels: format, sides (each an index, then two bytes if it is 16 or more), padding, content, way."""
    sides = b"".join(bytes([16]) + struct.pack(">H", side - 1) for side in (width, height))
    return bytes([format, 1]) + sides + bytes([1, 3, 0, 9, 1, way]) + bytes(choices)


PIXELS = {
    "turn": image(0, 6),
    "scale": image(1, 4, 3),
    "plan": image(2, 4, 20, 100, 0, 100),
    "wide-to-planes": image(3, 1, 16, 0, 1, 16, 0, 4, width=290, height=290),
    "colors": image(4, 1, 2, format=9),
    "cut": image(5, 3, 3, format=8),
    "codec": image(6, 80, 2, 8, 3),
    "strips": image(7, 80, 2, 9, 2, width=200, height=250),
}

# The tests of FrameWire compare the dictionaries with the names and words that the parser knows.
NAMES = found(r'\("([A-Z][A-Za-z0-9-]+)", \.', "FrameWire/Parsing/HeaderField.swift")
WORDS_OF_FIELDS = ["audio", "status", "info", "shared-buffer", "shared-frame", "app", "microphone", "live", "paused", "stopped"] + found(
    r"(?m)^    case (\w+)$", "PixelFormats/PixelFormat.swift"
)
REQUESTS = found(r"enum ControlName.*\n    case (.*)", "FrameWire/Control/ControlRequest.swift")[0].split(", ")

WORDS = {
    "jpeg": [
        "\xff\xd8", "\xff\xd9", "\xff\xda", "\xff\xdb", "\xff\xc0", "\xff\xc1", "\xff\xc2", "\xff\xc4", "\xff\xdd", "\xff\xe0",
        "\xff\xee", "\xff\xfe", "\xff\xd0", "\xff\xd7", "\xff\0", "JFIF\0", "Adobe", "\0\0", "\xff\xff", "\x11", "\x22", "\x08",
    ],
    "options": found(r"(--[a-z][a-z-]+)", "FrameSocketTool/Commands/*.swift", "FrameSocketTool/Program/*.swift") + [
        "bgra", "4:2:0", "1/2", "9223372036854775808", "-9223372036854775808", "1e309", "nan", "0x10", "1/0", "tcp:", "65536", "\n", "=",
        "P1", "P2", "P3", "P5", "P6", "65535", "127.0.0.1:0", "[::1]:0",
    ],
    "messages": [f"{name}: " for name in NAMES] + WORDS_OF_FIELDS + [
        "HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n", "\r\n", "\r\n\r\n", ": ", "=", "1073741824", "1073741825", "65535",
        "Transfer-Encoding: chunked", "2147483648", "9223372036854775808", "18446744073709551616", "00", "-1", "4294967296",
        "\x85", "\x7f", "\0", "\t", " ",
    ],
    "control": [f"{name}: " for name in NAMES] + REQUESTS + [
        "POST /", " HTTP/1.1\r\n", "\r\n", "\r\n\r\n", "=", "18446744073709551616", "\0", "\x85",
    ],
}


def escaped(word):
    return "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\x{ord(c):02x}" for c in word)


# Recipes of FuzzStream: kinds of parts, and what they take.
STREAMS = {
    "two-images": bytes([0, 255, 7, 1, 3, 9]),
    "cut-then-image": bytes([3, 255, 7, 100, 0, 255, 7]),
    "junk-then-image": bytes([0x57, *range(10), 0, 16, 1]),
    "thumbnail": bytes([0, 2, 5, 3, 2, 5, 40, 0, 2, 5]),
    "start-in-junk": bytes([0x3D, 0xFF, 0xD8, 0xFF, 0xE0, 0, 9, 0, 1, 1]),
}

SEEDS = {
    "stream": STREAMS,
    "messages": MESSAGES, "control": CONTROL, "jpeg": JPEGS, "strips": STRIPS, "pixels": PIXELS,
    "options": OPTIONS,
}

for name, seeds in SEEDS.items():
    directory = ROOT / name
    directory.mkdir(parents=True, exist_ok=True)
    for seed, content in seeds.items():
        (directory / seed).write_bytes(content)
for name, words in WORDS.items():
    (ROOT / f"{name}.dict").write_text("".join(f'"{escaped(word)}"\n' for word in words))
