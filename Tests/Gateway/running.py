"""What the checks of the gateway have in common: processes that are ended, and what they cost."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import viewers

PACKAGE = pathlib.Path(__file__).resolve().parent.parent.parent
# Seconds for anything that has to happen.
PATIENCE = 180


def fail(text):
    sys.exit(f"check-gateway: {text}")


class Process:
    """A command in the package's directory, with what it prints in a file."""

    def __init__(self, command, output, **options):
        self.output = output
        with open(output, "wb") as file:
            self.child = subprocess.Popen(
                command, cwd=PACKAGE, **{"stdout": file, "stderr": file, "stdin": subprocess.DEVNULL, **options}
            )

    def text(self):
        return self.output.read_text(errors="replace")

    def wait_for(self, pattern):
        """The first match in what it prints."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.text())):
            if self.child.poll() is not None or time.monotonic() > deadline:
                fail(f"{self.child.args} never printed {pattern}: {self.text()}")
            time.sleep(0.05)
        return found

    def end(self, number):
        self.child.send_signal(number)
        return self.child.wait(PATIENCE)

    def stop(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(30)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


class Site:
    """A directory with a socket, and what runs there until it is left."""

    def __init__(self, chromium, program):
        self.chromium = chromium
        self.program = program
        self.stack = contextlib.ExitStack()
        self.directory = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="check-gateway-")))
        self.socket = self.directory / "screen"
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        return self.stack.__exit__(*arguments)

    def start(self, command, **options):
        self.count += 1
        # Where a program's own temporary files are seen.
        environment = {**os.environ, "TMPDIR": str(self.directory)}
        process = Process(command, self.directory / f"output-{self.count}", env=environment, **options)
        self.stack.callback(process.stop)
        return process

    def serve(self, size="640x360"):
        """The example, and the address of its page."""
        command = [sys.executable, "Examples/Gateway/serve.py", self.socket, "--http", "0", "--size", size]
        serve = self.start([*command, "--framesocket", self.program])
        return serve, serve.wait_for(r"open (\S+)")[1]

    def send(self, size="640x360", rate=15):
        """A source with the time in its images, and what sends them."""
        source = self.start(
            [sys.executable, "Tests/Gateway/source.py", "--size", size, "--rate", str(rate)], stdout=subprocess.PIPE
        )
        options = ["--size", size, "--format", "i420", "--range", "limited", "--wait", "60", "--quiet"]
        sender = self.start([self.program, "send", self.socket, "-", *options], stdin=source.child.stdout)
        source.child.stdout.close()
        return source, sender

    def viewers(self, url, count=1):
        return self.stack.enter_context(viewers.Viewers(url, count, time.monotonic() + PATIENCE, self.chromium))


def parents():
    """The parent and the name of every process."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            found[int(entry.name)] = (int(rest.split()[1]), name)
    return found


def children(process):
    """The programs that a process has started, by name."""
    return {name: number for number, (parent, name) in parents().items() if parent == process.child.pid}


def family(ancestor):
    """A process and all that come from it."""
    everyone = parents()
    members = [ancestor]
    for member in members:
        members += [number for number, (parent, _) in everyone.items() if parent == member]
    return members


def processor_time(numbers):
    """Seconds in user and kernel of these processes, as far as they are still there."""
    ticks = 0
    for number in numbers:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
