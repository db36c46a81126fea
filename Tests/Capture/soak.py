"""Programs that start, resize and end while their screen is shared; nothing of that may be left."""

import pathlib
import random
import time

from Xlib.ext import res

from stage import PATIENCE, Receiver, await_picture, color, ended, fail, interrupt

IMAGES = 3
SCRIPTS = ["seq 200", "ls -lR /usr/share/doc | head -400", "for i in 1 2 3 4 5; do date; done", "cat /etc/services"]


def resources(screen, kept):
    """The number of resources of each kind that a client of the server has."""
    found = {}
    for item in res.query_client_resources(screen.client, kept).types:
        found[screen.client.get_atom_name(item.resource_type)] = item.count
    return found


def held(process, screen, client):
    """The descriptors and X resources of a capture, without the memory of its images."""
    directory = pathlib.Path(f"/proc/{process.pid}")
    lines = (directory / "maps").read_text().splitlines()
    # Images take turns in memory that is shared with the server: two pieces, and a third while an older one is on its way.
    mappings = sum(1 for line in lines if line.split()[1].endswith("s"))
    found = resources(screen, client)
    segments = found.pop("ShmSeg")
    if not (0 < mappings <= IMAGES and 0 < segments <= IMAGES):
        fail(f"the capture has {mappings} shared mappings, and the server {segments} segments for it")
    return {"descriptors": len(list((directory / "fd").iterdir())), **found}


def client_of(process, screen, before):
    """The number by which the server knows the client that was not there before."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = {client.resource_base for client in res.query_clients(screen.client).clients} - before
        if len(found) == 1:
            return found.pop()
        if time.monotonic() > deadline or process.poll() is not None:
            fail(f"the capture is no client of the server: {process.output.read_text()}")
        time.sleep(0.05)


def soak(stage, minutes, seed):
    """Shares a screen for some minutes, on which programs come and go, and which changes its size."""
    chance = random.Random(seed)
    screen = stage.screen((1280, 720))
    receiver = Receiver(stage)
    before = {client.resource_base for client in res.query_clients(screen.client).clients}
    capture = stage.capture(receiver, screen)
    client = client_of(capture, screen, before)
    children = len(screen.root.query_tree().children)
    sizes = [(1280, 720), (1024, 600), (640, 480)]
    screen.move_pointer(0, 0)
    running, first, rounds, images = [], None, 0, 0
    deadline = time.monotonic() + 60 * minutes
    while first is None or time.monotonic() < deadline or rounds < 6:
        rounds += 1
        for _ in range(chance.randrange(1, 4)):
            columns, rows, x, y = (chance.randrange(*span) for span in [(20, 90), (5, 30), (400,), (300,)])
            command = ["xterm", "-geometry", f"{columns}x{rows}+{x}+{y}", "-e", f"{chance.choice(SCRIPTS)}; sleep 1"]
            running.append(stage.start(command, screen))
        screen.resize(*sizes[rounds % len(sizes)])
        screen.move_pointer(chance.randrange(600), chance.randrange(400))
        if rounds % 3 == 0:
            # A receiver that leaves and returns.
            receiver.leave()
        for _ in range(20):
            draw_square(screen, chance)
            receiver.jpeg()
            images += 1
        for program in running:
            if chance.random() < 0.5:
                program.terminate()
            program.wait(PATIENCE)
        running.clear()
        # The server removes the windows of a program some time after its end.
        patience = time.monotonic() + PATIENCE
        while len(screen.root.query_tree().children) > children and time.monotonic() < patience:
            time.sleep(0.02)
        # What is on the screen now arrives, but for the corner where the pointer is.
        screen.resize(*sizes[0])
        screen.move_pointer(1279, 719)
        screen.fill(color(chance), 0, 0, 1270, 700)
        screen.client.sync()
        # Without the edges, where JPEG mixes it with what is beside it.
        expected = screen.picture(part=(0, 0, 1200, 660))
        await_picture(Cropped(receiver, (0, 0, 1200, 660)), expected, f"after round {rounds}")
        now = held(capture, screen, client)
        if rounds == 3:
            first = now
        if first is not None and now != first:
            fail(f"the capture holds more in round {rounds} than in the third: {first} became {now}")
    interrupt(capture)
    ended(capture, 0, "images sent")
    print(f"    {rounds} rounds, {images} images, seed {seed}: at the end as in the third round: {first}")


def draw_square(screen, chance):
    screen.fill(chance.randrange(1 << 24), chance.randrange(600), 440, 20, 20)
    screen.client.sync()


class Cropped:
    """A receiver of a part of the images."""

    def __init__(self, receiver, box):
        self.receiver, self.box = receiver, box
        self.same = receiver.same

    def frame(self):
        return self.receiver.frame().crop(self.box)
