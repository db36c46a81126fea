"""What the checks of Examples/ScreenCapture have in common: X servers, what draws on them, and what receives the images."""

import contextlib
import io
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

from PIL import Image, ImageChops, ImageFilter
from Xlib import X, display
from Xlib.ext import xtest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(PACKAGE / "docs/peers"))

from receiver import frames  # noqa: E402

# Seconds for anything that has to happen.
PATIENCE = 120


def fail(text):
    sys.exit(f"check-capture: {text}")


class Stage:
    """A directory with sockets, and what runs until it is left."""

    def __init__(self, program, framesocket):
        self.program, self.framesocket = program, framesocket
        self.stack = contextlib.ExitStack()
        self.directory = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="check-capture-")))
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        return self.stack.__exit__(*arguments)

    def path(self, name):
        self.count += 1
        return self.directory / f"{name}-{self.count}"

    def listen(self):
        """A socket of a receiver, and its path."""
        path = self.path("socket")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen(1)
        listener.settimeout(PATIENCE)
        self.stack.callback(listener.close)
        return path, listener

    def start(self, command, screen=None, **options):
        """A program, with what it prints in a file."""
        environment = {**os.environ, **({"DISPLAY": screen.name} if screen else {})}
        output = self.path(pathlib.Path(command[0]).name)
        with open(output, "wb") as file:
            child = subprocess.Popen(
                [str(part) for part in command],
                env=environment,
                **{"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file, **options},
            )
        child.output = output
        self.stack.callback(stop, child)
        return child

    def screen(self, size=(1280, 720), depth=24, *options):
        return Screen(self, size, depth, options)

    def capture(self, receiver, screen, *options):
        return self.start([self.program, receiver.path, "--display", screen.address, *options])


def stop(child):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def ended(child, code, pattern):
    """Waits for the end of a program, with an exit code, and a line that says why."""
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        fail(f"{child.args} did not end")
    text = child.output.read_text()
    if child.returncode != code or not re.search(pattern, text):
        fail(f"{child.args} ended with {child.returncode}, not {code}, or did not say /{pattern}/: {text}")
    return text


class Screen:
    """An Xvfb, and a client that draws on it."""

    def __init__(self, stage, size, depth, options):
        self.stage, self.size = stage, size
        self.server, self.name = self._serve(f"{size[0]}x{size[1]}x{depth}", options)
        self.client = display.Display(self.name)
        self.root = self.client.screen().root
        # A server in the network, as one at the other end of ssh is, shares no memory.
        self.address = f"127.0.0.1{self.name}" if "-listen" in options else self.name
        self.modes = 0
        self.gc = self.root.create_gc(subwindow_mode=X.IncludeInferiors)
        self.client.sync()

    def _serve(self, mode, options):
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", mode, "-noreset", *options]
        server = self.stage.start(command, pass_fds=[write])
        os.close(write)
        with open(read, encoding="ascii") as pipe:
            number = pipe.readline().strip()
        if not number:
            fail(f"Xvfb did not start: {server.output.read_text()}")
        return server, f":{number}"

    def fill(self, color, x, y, width, height, window=None):
        self.gc.change(foreground=color)
        (window or self.root).fill_rectangle(self.gc, x, y, width, height)

    def move_pointer(self, x, y):
        xtest.fake_input(self.client, X.MotionNotify, x=x, y=y)
        self.client.sync()

    def window(self, x, y, width, height, color):
        window = self.root.create_window(
            x, y, width, height, 0, X.CopyFromParent, background_pixel=color, override_redirect=True
        )
        window.map()
        self.client.sync()
        return window

    def resize(self, width, height):
        """Another size of the screen, up to the first one."""
        name = f"{width}x{height}-{self.modes}"
        self.modes += 1
        # The times matter to no server without a real output.
        times = [width, width, width, width + 1, height, height, height, height + 1]
        self.xrandr("--newmode", name, "60", *map(str, times))
        self.xrandr("--addmode", "screen", name)
        self.xrandr("--output", "screen", "--mode", name)
        self.size = (width, height)

    def xrandr(self, *arguments):
        subprocess.run(["xrandr", "--display", self.name, *arguments], check=True, capture_output=True)

    def picture(self, window=None, part=None):
        """What is on the screen, without the pointer."""
        x, y, width, height = part or (0, 0, *self.size)
        image = (window or self.root).get_image(x, y, width, height, X.ZPixmap, 0xFFFFFFFF)
        return Image.frombuffer("RGB", (width, height), image.data, "raw", "BGRX")


class Receiver:
    """A plain receiver: JPEGs, as Jitsi's wire has them."""

    def __init__(self, stage):
        self.path, self.listener = stage.listen()
        self.stream = None

    def frame(self):
        """The next image; the first call waits for a sender."""
        return Image.open(io.BytesIO(self.jpeg())).convert("RGB")

    def jpeg(self):
        if not self.stream:
            self.connection, _ = self.listener.accept()
            self.connection.settimeout(PATIENCE)
            self.stream = self.connection.makefile("rb")
            self.frames = frames(self.stream)
        try:
            return next(self.frames)[1]
        except (StopIteration, TimeoutError) as error:
            fail(f"no further image came: {error!r}")

    def leave(self):
        self.stream.close()
        self.connection.close()
        self.stream = None

    def same(self, image, expected):
        """Whether an image is another one but for what JPEG does to it, which the mean of some pixels evens out."""
        if image.size != expected.size:
            return False
        mean = ImageFilter.BoxBlur(4)
        difference = ImageChops.difference(image.filter(mean), expected.filter(mean))
        return max(most for _, most in difference.getextrema()) < 24


class SharedReceiver:
    """framesocket receive, which gets the images in shared memory: byte for byte what is on the screen."""

    def __init__(self, stage, size):
        self.path, self.size = stage.path("socket"), size
        self.child = stage.start(
            [stage.framesocket, "receive", self.path, "--shared", "--raw", "bgra", "--quiet"],
            stdout=subprocess.PIPE,
        )

    def frame(self):
        count = 4 * self.size[0] * self.size[1]
        data = bytearray()
        while len(data) < count:
            if not select.select([self.child.stdout], [], [], PATIENCE)[0]:
                fail("no further image came")
            part = os.read(self.child.stdout.fileno(), count - len(data))
            if not part:
                fail(f"the receiver ended: {self.child.output.read_text()}")
            data += part
        return Image.frombuffer("RGB", self.size, bytes(data), "raw", "BGRX")

    def same(self, image, expected):
        return image.size == expected.size and not ImageChops.difference(image, expected).getbbox()


def await_picture(receiver, expected, what):
    """Reads images until one is as expected."""
    deadline = time.monotonic() + PATIENCE
    count = 1
    while not receiver.same(image := receiver.frame(), expected):
        count += 1
        if time.monotonic() > deadline:
            fail(f"{what}: none of {count} images was the one on the screen")
    return image, count


def color(chance):
    """A color that JPEG can show: none of those near the ends of its range, which it clips."""
    return 0x505050 + (chance.randrange(1 << 24) & 0x3F3F3F)


def interrupt(child):
    child.send_signal(signal.SIGTERM)
