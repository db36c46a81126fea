"""Writes the first inputs of each fuzzer, and the words it is told, to Fixtures/fuzz: run from the package's root.

What fuzzing found on top lies there too, and is left alone."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "Fixtures" / "fuzz"


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
    "unknown-kind": head(3, "Message-Type: cursor") + b"abc" + frame(b"x"),
    "cut": frame(b"0123456789")[:-4],
}

CONTROL = {
    "hello": request("hello", "Control-Version: 1", "Wants-Pictures: 1", "Wants-Audio: 0"),
    "pause-resume": request("pause") + request("resume"),
    "stop": request("stop", "Finish-Reason: 10006"),
    "prefer": request(
        "prefer", "Prefer-Frame-Rate: 15000", "Prefer-Width: 640", "Prefer-Height: 360", "Prefer-Quality: 70"
    ),
    "refresh-ping": request("refresh") + request("ping", "Ping-Number: 18446744073709551615"),
    "unknown": request("dance", "How: well", length=3) + b"abc" + request("refresh"),
}

WORDS = {
    "messages": [
        "HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n", "\r\n", "\r\n\r\n", ": ", "Content-Length: ", "Buffer-Width: ",
        "Buffer-Height: ", "Buffer-Orientation: ", "Buffer-Presentation-Time: ", "Buffer-Sequence: ", "Message-Type: ",
        "audio", "status", "Audio-Kind: ", "app", "microphone", "Audio-Sample-Rate: ", "Audio-Channels: ",
        "Sender-State: ", "live", "paused", "stopped", "Finish-Reason: ", "Control-Version: ", "Pong-Number: ",
        "Transfer-Encoding: chunked", "2147483648", "9223372036854775808", "18446744073709551616", "00", "-1", "4294967296",
        "\x85", "\x7f", "\0", "\t", " ",
    ],
    "control": [
        "POST /", " HTTP/1.1\r\n", "\r\n", "\r\n\r\n", "Content-Length: 0", "hello", "pause", "resume", "stop", "prefer",
        "refresh", "ping", "Control-Version: ", "Wants-Pictures: ", "Wants-Audio: ", "Finish-Reason: ", "Prefer-Frame-Rate: ",
        "Prefer-Width: ", "Prefer-Height: ", "Prefer-Quality: ", "Ping-Number: ", "18446744073709551616", "\0", "\x85",
    ],
}


def escaped(word):
    return "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\x{ord(c):02x}" for c in word)


for name, seeds in {"messages": MESSAGES, "control": CONTROL}.items():
    directory = ROOT / name
    directory.mkdir(parents=True, exist_ok=True)
    for seed, content in seeds.items():
        (directory / seed).write_bytes(content)
for name, words in WORDS.items():
    (ROOT / f"{name}.dict").write_text("".join(f'"{escaped(word)}"\n' for word in words))
