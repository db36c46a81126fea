"""A virtual X display with real programs on it, and lossless pictures of it."""

import contextlib
import http.server
import os
import pathlib
import subprocess
import threading
import time

from PIL import Image

PAGES = pathlib.Path(__file__).parent / "pages"


class Desktop(contextlib.ExitStack):
    """An Xvfb display; whatever is started on it ends with it, newest first."""

    def __init__(self, size, scratch):
        super().__init__()
        self.size, self.scratch = size, scratch
        scratch.mkdir(parents=True)
        reader, writer = os.pipe()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(scratch),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "XCURSOR_THEME": "Adwaita",
            "XCURSOR_SIZE": "24",
            "XDG_RUNTIME_DIR": str(scratch),
        }
        self.start(
            "Xvfb", "-displayfd", str(writer), "-screen", "0", f"{size[0]}x{size[1]}x24",
            "-nolisten", "tcp", "-noreset", "-dpi", "96", pass_fds=(writer,),
        )
        os.close(writer)
        with os.fdopen(reader) as stream:
            self.environment["DISPLAY"] = ":" + stream.readline().strip()

    def start(self, *command, **options):
        process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
        )

        def end():
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

        self.callback(end)
        return process

    def run(self, *command):
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def xdotool(self, *arguments):
        return self.run("xdotool", *map(str, arguments)).strip()

    def window(self, name):
        """The identifier of the window whose title matches; waits until it is visible."""
        for _ in range(150):
            # A window that vanishes during the search makes xdotool fail, so its own --sync is not enough.
            with contextlib.suppress(subprocess.CalledProcessError):
                return self.xdotool("search", "--onlyvisible", "--limit", "1", "--name", name)
            time.sleep(0.2)
        raise RuntimeError(f"no window named {name}")

    def manage(self, clock):
        """A window manager, a wallpaper, and a panel that shows the text of the file `clock`."""
        configuration = self.scratch / "panel.conf"
        configuration.write_text((PAGES / "panel.conf").read_text().replace("@CLOCK@", str(clock)))
        self.start("openbox")
        self.run("hsetroot", "-add", "#3f6173", "-add", "#26323c", "-gradient", "160")
        self.start("tint2", "-c", str(configuration))

    def chromium(self, url, *options):
        # Chromium refuses to start as root with its sandbox; --test-type keeps the warning bar away.
        unprivileged = [] if os.getuid() else ["--no-sandbox", "--test-type"]
        return self.start(
            "chromium", *unprivileged, f"--user-data-dir={self.scratch / 'profile'}", "--no-first-run",
            "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage", "--disable-lcd-text",
            "--disable-sync", "--disable-extensions", "--disable-background-networking",
            "--disable-component-update", "--disable-features=Translate,MediaRouter", "--password-store=basic",
            "--lang=en-GB", "--hide-scrollbars", *options, url,
        )

    def capture(self, cursor=False):
        width, height = self.size
        command = [
            "ffmpeg", "-v", "error", "-f", "x11grab", "-draw_mouse", str(int(cursor)),
            "-video_size", f"{width}x{height}", "-i", self.environment["DISPLAY"],
            "-frames:v", "1", "-pix_fmt", "bgr0", "-f", "rawvideo", "-",
        ]
        pixels = subprocess.run(command, env=self.environment, check=True, capture_output=True).stdout
        return Image.frombytes("RGB", self.size, pixels, "raw", "BGRX")

    def settled(self, cursor=False, pause=0.4, attempts=60):
        """The picture once three captures in a row agree."""
        last, agreeing = None, 0
        for _ in range(attempts):
            time.sleep(pause)
            picture = self.capture(cursor)
            agreeing = agreeing + 1 if last == picture else 0
            if agreeing == 2:
                return picture
            last = picture
        raise RuntimeError("the screen does not come to rest")


@contextlib.contextmanager
def site(photos):
    """Serves pages/ at / and the photographs at /photos/; yields the port."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            name = pathlib.PurePosixPath(path.partition("?")[0]).name
            return str((photos if path.startswith("/photos/") else PAGES) / name)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
