"""The screen sequences: a phone that scrolls, a window that is dragged, a page that is typed."""

import math
import os

import desktop


def phone_scroll(scratch, port):
    """A chat at 375 x 812 points and a scale of 3, in a fling that slows down."""
    with desktop.Desktop((1125, 2436), scratch) as screen:
        screen.chromium(
            f"http://127.0.0.1:{port}/phone.html", "--kiosk", "--force-device-scale-factor=3",
            "--window-position=0,0", "--window-size=375,812",
        )
        screen.window("Harbour walk")
        screen.xdotool("mousemove", 1124, 2435)
        screen.settled()
        screen.xdotool("mousemove", 560, 300, "click", 1)
        yield screen.settled()
        for _ in range(4):
            screen.xdotool("key", "n")
            yield screen.settled()


def terminal_lines(start, count):
    """A tide-prediction run: dim text, a green word, numbers that follow from the line's index."""
    places = [
        "Old Mole", "Ferry Pier", "North Sands", "Lighthouse", "Gull Rock", "Mill Creek", "Saltings", "Fish Market",
        "Long Strand", "Customs Quay", "Chapel Point", "Otter Bay", "Weir Gate", "Sluice House", "Bell Buoy",
    ]
    for index in range(start, start + count):
        main = 1.4 + 0.6 * math.sin(index * 0.7)
        solar = 0.45 + 0.2 * math.cos(index * 0.9)
        residual = 0.021 + 0.013 * math.sin(index * 1.9) ** 2
        word = "\x1b[32mfitted\x1b[0m" if residual < 0.031 else "\x1b[33mreview\x1b[0m"
        yield (
            f"\x1b[90m[{index:4d}]\x1b[0m {places[index % len(places)]:<13} M2 {main:5.3f} m  S2 {solar:5.3f} m"
            f"  residual {residual:5.3f} m  {word}"
        )


def start_terminal(screen, title, geometry):
    """An xterm that shows what is written to the returned stream."""
    fifo = screen.scratch / "terminal"
    os.mkfifo(fifo)
    screen.start(
        "xterm", "-title", title, "-fa", "DejaVu Sans Mono", "-fs", "11", "-geometry", geometry, "-b", "8",
        "-bg", "#20272c", "-fg", "#cfd6da", "+sb", "-xrm", "xterm*color2: #8fbf9a", "-xrm", "xterm*color3: #d3b787",
        "-xrm", "xterm*color8: #7f8b93", "-xrm", "xterm*cursorColor: #cfd6da", "-e", "cat", str(fifo),
    )
    return open(fifo, "w", buffering=1)


def desktop_window(scratch, port):
    """A terminal with scrolling text, dragged by its title bar over a browser."""
    with desktop.Desktop((1920, 1080), scratch) as screen:
        clock = scratch / "clock"
        clock.write_text("Sat 17 May  9:41:07")
        screen.manage(clock)
        screen.chromium(
            "http://shorepaths.localhost/notes.html", "--window-position=40,24", "--window-size=1560,990",
            f"--host-resolver-rules=MAP shorepaths.localhost 127.0.0.1:{port}",
        )
        screen.window("Tides for walkers")
        screen.settled()
        with start_terminal(screen, "predict - tide tables", "88x26+1000+190") as stream:
            stream.write("$ ./predict --year 2025 --all\nreading constituents: 37 of 37\n\n")
            shown = 40
            for line in terminal_lines(0, shown):
                stream.write(line + "\r\n")
            window = screen.window("predict - tide tables")
            screen.xdotool("windowactivate", "--sync", window)
            screen.settled()
            x, y = 1330, 200
            # The first motion only starts the drag.
            screen.xdotool("mousemove", x + 40, y, "mousedown", 1, "mousemove", x + 20, y + 2, "sleep", "0.3")
            screen.xdotool("mousemove", x, y)
            for frame in range(6):
                yield screen.settled(cursor=True)
                x, y = x - 46 + 2 * frame, y + 17 + 3 * frame
                for line in terminal_lines(shown, 2):
                    stream.write(line + "\r\n")
                shown += 2
                screen.xdotool("mousemove", x, y)
            screen.xdotool("mouseup", 1)


def desktop_typing(scratch, port):
    """A line typed into a page, letter by letter; once only the panel's clock moves."""
    with desktop.Desktop((1920, 1080), scratch) as screen:
        clock = scratch / "clock"
        clock.write_text("Sat 17 May  9:52:30")
        screen.manage(clock)
        screen.chromium(
            "http://drafts.localhost/draft.html", "--window-position=0,0", "--window-size=1920,1044",
            f"--host-resolver-rules=MAP drafts.localhost 127.0.0.1:{port}",
        )
        screen.window("Draft: A night")
        screen.xdotool("mousemove", 1600, 640)
        screen.settled(cursor=True)
        yield screen.settled(cursor=True, pause=1.1)
        for keys, seconds in [("To", 30), ("war", 31), ("", 32), ("ds mor", 32), ("ning", 33)]:
            if keys:
                screen.xdotool("type", "--delay", "40", keys)
            clock.write_text(f"Sat 17 May  9:52:{seconds}")
            # The panel reads its clock once a second.
            yield screen.settled(cursor=True, pause=1.1)


SEQUENCES = {
    "phone-scroll": phone_scroll,
    "desktop-window": desktop_window,
    "desktop-typing": desktop_typing,
}
