#!/usr/bin/env python3
"""Shows the frames that arrive at a socket to many browsers, through the WebRTC gateway Janus.

Starts `framesocket receive`, ffmpeg (VP8 in RTP) and Janus with a configuration of its own, and serves the page.
Nothing can be reached from other machines but the ports of Janus for media. Ctrl-C ends everything.
"""

import argparse
import contextlib
import functools
import http.server
import json
import os
import pathlib
import re
import secrets
import select
import signal
import socket
import string
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
# Seconds without a frame after which the latest is sent again, so that a viewer who joins sees a still screen.
REPEAT = 0.5
# Seconds until Janus listens.
PATIENCE = 30
# Seconds until the programs that were asked to end have ended, before they are killed.
GRACE = 5


def fail(text):
    sys.exit(f"serve: {text}")


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Programs:
    """The programs that were started, with their output in files."""

    def __init__(self, directory):
        self.directory = directory
        self.running = {}

    def start(self, name, command, **streams):
        with open(self.log(name), "wb") as log:
            try:
                # In sessions of their own: only this program receives Ctrl-C, and it ends them in an orderly way.
                streams = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL, **streams}
                self.running[name] = subprocess.Popen(command, **streams, start_new_session=True)
            except FileNotFoundError:
                remedy = "name it with --framesocket" if name == "framesocket" else "run 'scripts/setup gateway'"
                fail(f"{command[0]} is not installed; {remedy}")
        return self.running[name]

    def log(self, name):
        return self.directory / f"{name}.log"

    def check(self):
        for name, program in self.running.items():
            if program.poll() is not None:
                last = "\n".join(self.log(name).read_text(errors="replace").splitlines()[-15:])
                fail(f"{name} ended with {program.returncode}:\n{last}")

    def end(self):
        """Ends them all, within one time for all of them."""
        for program in self.running.values():
            program.terminate()
            # None of them waits for this program to read or write, nor this one to get rid of what it has not written.
            for pipe in filter(None, (program.stdin, program.stdout)):
                os.set_blocking(pipe.fileno(), False)
                with contextlib.suppress(BrokenPipeError, BlockingIOError):
                    pipe.close()
        deadline = time.monotonic() + GRACE
        for program in self.running.values():
            try:
                program.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


def configure(directory, **values):
    """Fills in the files of `janus`."""
    for template in (HERE / "janus").iterdir():
        text = string.Template(template.read_text()).substitute(values)
        (directory / template.name).write_text(text)


def repeat(frames, encoder, programs):
    """Passes Y4M on, and repeats the latest frame while no other arrives."""

    def comes():
        """Whether there is something to read, after a while."""
        programs.check()
        return select.select([frames], [], [], REPEAT)[0]

    def some(read):
        """What was read, unless the receiver has ended, which ends this program too."""
        if not read:
            programs.running["framesocket"].wait()
            programs.check()
        return read

    def read(frame):
        """Fills `frame`."""
        filled = 0
        while filled < len(frame):
            filled += some(frames.readinto(memoryview(frame)[filled:]))

    while not comes():
        pass
    header = some(frames.readline())
    encoder.write(header)
    width, height = (int(re.search(rb" %c(\d+)" % side, header)[1]) for side in b"WH")
    frame = bytearray(len(b"FRAME\n") + width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2))
    read(frame)
    while True:
        encoder.write(frame)
        encoder.flush()
        if comes():
            read(frame)


class Page(http.server.SimpleHTTPRequestHandler):
    """The page, and where its gateway is."""

    files = {"/": "viewer.html", "/viewer.js": "viewer.js"}

    def __init__(self, *arguments, websocket):
        self.websocket = websocket
        super().__init__(*arguments, directory=HERE)

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/gateway.json":
            body = json.dumps({"websocket": self.websocket}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        elif path in self.files:
            self.path = "/" + self.files[path]
            super().do_GET()
        else:
            self.send_error(404)

    do_HEAD = None

    def log_message(self, *_):
        pass


def size(text):
    if not re.fullmatch(r"\d*[02468]x\d*[02468]", text):
        raise argparse.ArgumentTypeError(f"expected an even width and height such as 1280x720, not '{text}'")
    return text


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", metavar="PATH", help="the socket to receive at")
    parser.add_argument("--http", type=int, default=8080, metavar="PORT", help="of the page (8080); 0 takes a free one")
    parser.add_argument("--size", type=size, default="1280x720", metavar="WxH", help="of the video (1280x720)")
    parser.add_argument("--bitrate", default="2M", help="of the video, as ffmpeg takes it (2M)")
    parser.add_argument("--interface", metavar="NAME", help="or address for media (every one but loopback)")
    parser.add_argument("--framesocket", default="framesocket", metavar="PROGRAM")
    return parser.parse_args()


def handle_signals(handler):
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, handler)


def ignore_signals():
    # Not SIG_IGN: Python complains of a signal that has come already and is ignored by then.
    handle_signals(lambda *_: None)


def interrupt(*_):
    """Ends the program once: timeout(1) sends its signal twice."""
    ignore_signals()
    raise KeyboardInterrupt


def main():
    options = parse()
    handle_signals(interrupt)
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="gateway-") as name:
        directory = pathlib.Path(name)
        programs = Programs(directory)
        try:
            run(options, directory, programs)
        except BrokenPipeError:
            # The encoder's pipe closes before its process has ended.
            programs.running["ffmpeg"].wait()
            programs.check()
        finally:
            # A signal here, after another cause of the end, does not leave them running.
            try:
                ignore_signals()
            finally:
                programs.end()


def run(options, directory, programs):
    rtp, websocket = free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_STREAM)
    address = f"ws://127.0.0.1:{websocket}"
    try:
        page = http.server.ThreadingHTTPServer(("127.0.0.1", options.http), functools.partial(Page, websocket=address))
    except OSError as error:
        fail(f"cannot serve the page at port {options.http}: {error.strerror}; choose another one with --http")
    origin = f"http://127.0.0.1:{page.server_address[1]}"
    configure(
        directory,
        websocket_port=websocket,
        rtp_port=rtp,
        origin=origin,
        admin_key=secrets.token_hex(16),
        enforce_list=f'ice_enforce_list = "{options.interface}"' if options.interface else "",
    )
    programs.start("janus", ["janus", "--configs-folder", directory, "--config", directory / "janus.jcfg"])
    deadline = time.monotonic() + PATIENCE
    while True:
        programs.check()
        try:
            socket.create_connection(("127.0.0.1", websocket)).close()
            break
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                fail("Janus does not listen")
        time.sleep(0.1)

    threading.Thread(target=page.serve_forever, daemon=True).start()

    # --newest drops frames while the encoder is busy. Browsers take VP8 to be of limited range and BT.601.
    receive = [options.framesocket, "receive", options.path, "--y4m", "--letterbox", options.size, "--newest"]
    receiver = programs.start(
        "framesocket", [*receive, "--range", "limited", "--matrix", "bt601"], stdout=subprocess.PIPE, bufsize=0
    )
    # Timestamps are those of arrival, since Y4M has none. A viewer who has lost a key frame waits at most two seconds for
    # the next one.
    source = "-f yuv4mpegpipe -probesize 32 -fflags nobuffer -use_wallclock_as_timestamps 1 -i pipe:0"
    vp8 = "-c:v libvpx -threads 1 -deadline realtime -cpu-used 8 -lag-in-frames 0 -error-resilient 1"
    times = "-fps_mode passthrough -enc_time_base 1:90000 -g 300 -force_key_frames expr:gte(t,n_forced*2)"
    video = [*vp8.split(), *times.split(), "-b:v", options.bitrate]
    rtp_url = ["-payload_type", "96", "-f", "rtp", f"rtp://127.0.0.1:{rtp}?pkt_size=1200"]
    encoder = programs.start(
        "ffmpeg",
        ["ffmpeg", "-loglevel", "warning", *source.split(), *video, *rtp_url],
        stdin=subprocess.PIPE,
    )
    print(f"open {origin}/", flush=True)
    repeat(receiver.stdout, encoder.stdin, programs)


if __name__ == "__main__":
    main()
