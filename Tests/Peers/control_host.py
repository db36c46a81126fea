"""A host that speaks the control channel of docs/wire-format.md, and shares no code with the package.

Says hello, and then does what the steps say, each after so many frames:

    control_host.py SOCKET --step 2:pause --step 2:resume --step 3:ping --step 4:stop

Prints one JSON object a line: listening, frame, audio, status, closed. A pause is followed by a ping, whose answer proves
that the sender has taken both; frames that come between that answer and the resume are an error.
"""

import argparse

import patience
import receiving

REQUESTS = {
    "pause": "",
    "resume": "",
    "refresh": "",
    "stop": "Finish-Reason: {value}\r\n",
    "ping": "Ping-Number: {value}\r\n",
    "prefer-rate": "Prefer-Frame-Rate: {value}\r\n",
    "prefer-size": "Prefer-Width: {width}\r\nPrefer-Height: {height}\r\n",
    "prefer-quality": "Prefer-Quality: {value}\r\n",
    "prefer-max-rate": "Prefer-Byte-Rate: {value}\r\n",
    "unknown": "X-Whatever: {value}\r\n",
}


def request(name, fields=""):
    return f"POST /{name} HTTP/1.1\r\nContent-Length: 0\r\n{fields}\r\n".encode()


def encode(step):
    """A step such as prefer-size=640x360 as the request on the wire."""
    name, _, value = step.partition("=")
    width, _, height = value.partition("x")
    default = {"stop": "10002", "ping": "1"}.get(name, "0")
    fields = REQUESTS[name].format(value=value or default, width=width, height=height)
    return request("prefer" if name.startswith("prefer") else name, fields)


class Messages:
    """Splits the sender's stream into headers and bodies."""

    def __init__(self, connection):
        self.connection = connection
        self.buffer = b""

    def _fill(self):
        data = self.connection.recv(65536)
        self.buffer += data
        return bool(data)

    def next(self):
        while b"\r\n\r\n" not in self.buffer:
            if not self._fill():
                if self.buffer:
                    raise ValueError("the stream ends within a head")
                return None
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        start, *lines = head.decode("ascii").split("\r\n")
        if start != "HTTP/1.1 200 OK":
            raise ValueError(f"start line {start!r}")
        fields = dict(line.split(": ", 1) for line in lines)
        length = int(fields["Content-Length"])
        while len(self.buffer) < length:
            if not self._fill():
                raise ValueError("the stream ends within a body")
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return fields, body


def report(event, **members):
    receiving.say(event, **{name: value for name, value in members.items() if value is not None})


def serve(connection, steps, wants_audio):
    messages = Messages(connection)
    wants = f"Control-Version: 1\r\nWants-Pictures: 1\r\nWants-Audio: {int(wants_audio)}\r\n"
    connection.sendall(request("hello", wants))
    frames = 0
    quiet = None  # After a pause: "asked" until its ping is answered, then "quiet" until the resume.

    def do_steps():
        nonlocal quiet
        while steps and steps[0][0] <= frames and quiet is None:
            step = steps.pop(0)[1]
            connection.sendall(encode(step))
            if step == "pause":
                connection.sendall(encode("ping=4711"))
                quiet = "asked"

    do_steps()
    while (message := messages.next()) is not None:
        fields, body = message
        kind = fields.get("Message-Type", "frame")
        if kind == "status":
            pong = fields.get("Pong-Number")
            report("status", state=fields["Sender-State"], reason=fields.get("Finish-Reason"), pong=pong)
            if quiet == "asked" and pong == "4711":
                quiet = None
                # A frame that was being sent when the pause came has been sent by now; none may follow before the resume.
                connection.settimeout(0.3)
                try:
                    following = messages.next()
                    if following and following[0].get("Message-Type", "frame") == "frame":
                        report("error", message="a frame in the pause")
                except TimeoutError:
                    report("quiet")
                connection.settimeout(patience.LENGTH)
        elif kind == "audio":
            report(
                "audio",
                kind=fields["Audio-Kind"],
                rate=int(fields["Audio-Sample-Rate"]),
                channels=int(fields["Audio-Channels"]),
                bytes=len(body),
            )
        else:
            report(
                "frame",
                index=frames,
                width=int(fields["Buffer-Width"]),
                height=int(fields["Buffer-Height"]),
                orientation=int(fields["Buffer-Orientation"]),
                sequence=fields.get("Buffer-Sequence"),
                bytes=len(body),
            )
            frames += 1
        do_steps()
    report("closed", frames=frames)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("socket")
    parser.add_argument("--step", action="append", default=[], help="FRAMES:REQUEST[=VALUE]")
    parser.add_argument("--audio", action="store_true", help="ask for sound as well")
    arguments = parser.parse_args()
    steps = [(int(frames), step) for frames, _, step in (text.partition(":") for text in arguments.step)]
    with receiving.accept(arguments) as connection:
        serve(connection, steps, arguments.audio)


if __name__ == "__main__":
    main()
