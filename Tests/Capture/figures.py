"""What sharing a screen costs, and how old its images are, beside ffmpeg's x11grab in the same run."""

import io
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import time

from PIL import Image

from stage import PATIENCE, PACKAGE, Receiver, fail, stop

SIZE = (1920, 1080)
RATE = 30
# The squares of a number, and where they are; all multiples of 8.
BITS, SIDE = 12, 24
LEFT, TOP = 1600, 16

TYPING = "while :; do for w in the quick brown fox jumps over the lazy dog; do printf '%s ' $w; sleep 0.1; done; done"
PAGE = """<style>body {{ font: 20px sans-serif; margin: 40px }}</style><body>{}<script>
let last = 0
requestAnimationFrame(function step(now) {{
    scrollTo(0, (now / 4) % (document.body.scrollHeight - innerHeight))
    requestAnimationFrame(step)
}})</script>"""


def still(stage, screen):
    """An xterm that has printed a page of text."""
    return stage.start(["xterm", "-geometry", "150x60+20+20", "-e", "cat /etc/services; sleep 1000"], screen)


def typing(stage, screen):
    """An xterm in which ten words a second appear."""
    return stage.start(["xterm", "-geometry", "150x60+20+20", "-e", TYPING], screen)


def scrolling(stage, screen):
    """A page in Chromium that scrolls, over the whole screen."""
    page = stage.path("page").with_suffix(".html")
    text = (PACKAGE / "CHANGELOG.md").read_text().replace("<", "&lt;").split("\n\n")
    page.write_text(PAGE.format("".join(f"<p>{part}</p>" for part in text)))
    return stage.start(
        ["chromium", "--no-sandbox", "--kiosk", "--no-first-run", "--disable-gpu", "--window-position=0,0",
         f"--window-size={SIZE[0]},{SIZE[1]}", f"--user-data-dir={stage.path('profile')}", page.as_uri()], screen)


def video(stage, screen):
    """A video in mpv, over the whole screen."""
    file = stage.path("video").with_suffix(".mkv")
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"mandelbrot=size={SIZE[0]}x{SIZE[1]}:rate=30", "-t", "4",
         "-c:v", "libx264", "-preset", "ultrafast", file], check=True)
    return stage.start(["mpv", "--fs", "--loop", "--vo=x11", "--no-audio", "--really-quiet", file], screen)


SCENES = [still, typing, scrolling, video]


class MJPEGReceiver:
    """Reads JPEGs that follow each other from a socket, as ffmpeg writes them."""

    def __init__(self, stage):
        self.path, self.listener = stage.listen()
        self.connection, self.data = None, bytearray()

    def jpeg(self):
        if not self.connection:
            self.connection, _ = self.listener.accept()
            self.connection.settimeout(PATIENCE)
        searched = 0
        while (end := self.data.find(b"\xff\xd9", max(0, searched - 1))) < 0:
            searched = len(self.data)
            part = self.connection.recv(1 << 20)
            if not part:
                fail("ffmpeg ended")
            self.data += part
        image, self.data = bytes(self.data[:end + 2]), self.data[end + 2:]
        return image


def start_capture(stage, screen, path):
    return [stage.start([stage.program, path, "--display", screen.name, "--rate", RATE, "--quality", "80"])]


GRAB = ["ffmpeg", "-v", "error", "-f", "x11grab", "-framerate", str(RATE), "-video_size", f"{SIZE[0]}x{SIZE[1]}"]


def start_pipe(stage, screen, path):
    grab = stage.start([*GRAB, "-i", screen.name, "-f", "rawvideo", "-pix_fmt", "bgr0", "-"], stdout=subprocess.PIPE)
    options = ["--size", f"{SIZE[0]}x{SIZE[1]}", "--format", "bgrx", "--quality", "80", "--quiet"]
    send = stage.start([stage.framesocket, "send", path, "-", *options], stdin=grab.stdout)
    grab.stdout.close()
    return [grab, send]


def start_mjpeg(stage, screen, path):
    options = ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "4", "-flush_packets", "1", "-f", "mjpeg"]
    return [stage.start([*GRAB, "-i", screen.name, *options, f"unix:{path}"])]


def receive(stage, path, *options):
    return stage.start([stage.framesocket, "receive", path, "--decode", "--quiet", "--stats", "json", *options])


def receive_mjpeg(stage, path):
    progress = ["-stats_period", "1", "-progress", "-"]
    return stage.start(["ffmpeg", "-v", "error", *progress, "-f", "mjpeg", "-listen", "1", "-i", f"unix:{path}", "-f", "null", "-"])


WAYS = {
    "ScreenCapture": (start_capture, receive, Receiver),
    "the same, shared memory": (start_capture, lambda stage, path: receive(stage, path, "--shared"), None),
    "ffmpeg | framesocket send": (start_pipe, receive, Receiver),
    "ffmpeg mjpeg": (start_mjpeg, receive_mjpeg, MJPEGReceiver),
}


def cpu_time(process):
    """The CPU time that a process has had, with that of threads that have ended, in seconds."""
    # The clock of another process, as clock_getcpuclockid(3) names it.
    return time.clock_gettime(~process.pid << 3 | 2)


def counts(receiver):
    """How many images a receiver has decoded, as it has said every second."""
    return [int(number) for number in re.findall(r'(?:"frames":|^frame=)(\d+)', receiver.output.read_text(), re.M)]


def await_counts(receiver, number, processes):
    """Waits until a receiver has said that a number of times."""
    deadline = time.monotonic() + PATIENCE
    while len(counts(receiver)) < number:
        for process in processes:
            if process.poll() is not None:
                fail(f"{process.args} ended: {process.output.read_text()}")
        if time.monotonic() > deadline:
            fail(f"{receiver.args} prints no statistics")
        time.sleep(0.005)
    return counts(receiver)[-1]


def measure_cpu(stage, screen, way, seconds):
    """The CPU time a second of the processes of one way, and of the X server; and the images a second."""
    start, make_receiver, _ = WAYS[way]
    path = stage.path("socket")
    processes = [receiver := make_receiver(stage, path)]
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > deadline:
            fail("the receiver does not listen")
        time.sleep(0.02)
    processes += start(stage, screen, path)
    while not (said := counts(receiver)) or said[-1] == 0:
        await_counts(receiver, len(said) + 1, processes)
    first = await_counts(receiver, len(said) + 2, processes)
    before, server, began = [cpu_time(each) for each in processes], cpu_time(screen.server), time.monotonic()
    last = await_counts(receiver, len(said) + 2 + seconds, processes)
    elapsed = time.monotonic() - began
    costs = [cpu_time(each) - old for old, each in zip(before, processes)]
    result = [each / elapsed for each in (sum(costs), cpu_time(screen.server) - server, last - first)]
    for process in reversed(processes):
        stop(process)
    return result


def measure_ages(stage, screen, way, count, chance):
    """The time from when a number was drawn until an image that shows it has arrived, in milliseconds."""
    start, _, make = WAYS[way]
    receiver = make(stage)
    processes = start(stage, screen, receiver.path)
    window = screen.window(LEFT, TOP, BITS * SIDE, SIDE, 0)
    pixmap = screen.root.create_pixmap(BITS * SIDE, SIDE, screen.client.screen().root_depth)
    ages, number, end = [], 0, None
    # The first images may be late. A way that is seconds late is not asked as often as the others.
    while len(ages) < 5 or len(ages) < count and time.monotonic() < end:
        number += 1
        for bit in range(BITS):
            screen.fill(0xFFFFFF if number >> bit & 1 else 0, bit * SIDE, 0, SIDE, SIDE, pixmap)
        began = time.monotonic()
        window.raise_window()
        window.copy_area(screen.gc, pixmap, 0, 0, BITS * SIDE, SIDE, 0, 0)
        screen.client.sync()
        while True:
            jpeg = receiver.jpeg()
            arrived = time.monotonic()
            image = Image.open(io.BytesIO(jpeg))
            # An eighth of the size takes a fraction of the time, so that a slow reader makes no image old.
            image.draft("L", (SIZE[0] // 8, SIZE[1] // 8))
            row = [image.getpixel(((LEFT + bit * SIDE) // 8 + 1, TOP // 8 + 1)) > 128 for bit in range(BITS)]
            if sum(lit << bit for bit, lit in enumerate(row)) == number:
                break
        if number == 5:
            end = time.monotonic() + 20
        elif number > 5:
            ages.append(1000 * (arrived - began))
        # No image is due at a time that is always the same.
        time.sleep(chance.random() / RATE)
    window.destroy()
    screen.client.sync()
    for process in processes:
        stop(process)
    return ages


def figures(new_stage, options):
    """Prints a row for each scene and way: CPU of all its processes, and the ratio to each ffmpeg."""
    if not shutil.which("ffmpeg"):
        fail("the figures are compared with ffmpeg's: apt-get install ffmpeg, and chromium and mpv for two of the scenes")
    chance = random.Random(options.seed)
    print(f"    {SIZE[0]}x{SIZE[1]}, {RATE} a second at most, {options.rounds} rounds of {options.seconds} s, all ways in turn; receivers decode")
    for scene in SCENES:
        if options.scene and scene.__name__ not in options.scene:
            continue
        if scene is scrolling and not shutil.which("chromium") or scene is video and not shutil.which("mpv"):
            print(f"    capture/{scene.__name__}: skipped, its program is not installed")
            continue
        with new_stage() as stage:
            screen = stage.screen(SIZE)
            scene(stage, screen)
            time.sleep(4)
            found, ages = {way: [] for way in WAYS}, {}
            for _ in range(options.rounds):
                for way in WAYS:
                    found[way].append(measure_cpu(stage, screen, way, options.seconds))
            for way, (_, _, reads) in WAYS.items():
                if reads and options.ages:
                    ages[way] = measure_ages(stage, screen, way, options.ages, chance)
            report(scene.__name__, found, ages)


def report(scene, found, ages):
    cpu, server, rate = (
        {way: statistics.median(round[index] for round in each) for way, each in found.items()} for index in range(3)
    )
    middle = {way: statistics.median(each) for way, each in ages.items()}
    pipe, mjpeg = "ffmpeg | framesocket send", "ffmpeg mjpeg"
    for way in WAYS:
        row = [f"    capture/{scene:9} {way:25} CPU {100 * cpu[way]:6.2f} %, X server {100 * server[way]:5.2f} %",
               f"of the pipe {cpu[way] / cpu[pipe]:.3f}, of mjpeg {cpu[way] / cpu[mjpeg]:.3f}", f"{rate[way]:4.1f} images/s"]
        if rate[way] > 1:
            each = {way: cpu[way] / rate[way] for way in (way, pipe, mjpeg)}
            row.append(f"an image {1000 * each[way]:.1f} ms, {each[way] / each[pipe]:.2f}, {each[way] / each[mjpeg]:.2f}")
        if way in middle:
            row.append(f"age p50 {middle[way]:.0f} ms, {middle[way] / middle[pipe]:.2f}, {middle[way] / middle[mjpeg]:.2f}")
        print("; ".join(row), flush=True)
