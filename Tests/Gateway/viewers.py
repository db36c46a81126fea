"""Copies of a page in one window of headless Chromium, each with a connection of its own."""

import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "Browser"))

import look  # noqa: E402

# Of a window that shows all copies: a browser decodes what is out of sight, and draws nothing of it.
WINDOW = (1280, 800)
COLUMNS = 4
# Seconds before the browser's deadline in which it is asked why something has not happened.
GRACE = 5

# Before the first frame Chromium takes the video to be 2x2.
PLAYS = "video.videoWidth > 2"
STATISTICS = """connection.getStats().then((report) => {
  for (const entry of report.values()) {
    if (entry.type === "inbound-rtp" && entry.kind === "video") {
      const { framesDecoded, framesDropped, packetsLost, freezeCount, frameWidth, frameHeight } = entry;
      return { framesDecoded, framesDropped, packetsLost, freezeCount, frameWidth, frameHeight };
    }
  }
  return { framesDecoded: 0 };
})"""


class Viewers:
    """`count` copies of the page at `url`, until `deadline` by the monotonic clock."""

    def __init__(self, url, count, deadline, chromium):
        self.browser = look.Chromium(chromium, deadline, WINDOW)
        self.process = self.browser.process
        width, height = WINDOW
        # A page of the same origin may look into the copies.
        self.browser.open(f"{url}gateway.json")
        self.browser.wait_for("document.readyState === 'complete'")
        rows = -(-count // COLUMNS)
        style = f"width: {width // COLUMNS - 8}px; height: {height // rows - 8}px; border: 0"
        copy = f'<iframe src="/" style="{style}"></iframe>'
        self.browser.evaluate(f"document.body.innerHTML = '{copy}'.repeat({count})")
        self.wait_for("document.readyState === 'complete' && typeof connection === 'object'")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()

    def each(self, expression):
        """Its values in every copy, which may be promises."""
        return self.browser.evaluate(self._in_every_copy(expression))

    def wait_for(self, expression):
        """Waits until it is true in every copy."""
        while True:
            # In a copy that is still being loaded it throws.
            values = self.browser.evaluate(self._in_every_copy(expression) + ".catch(String)")
            if isinstance(values, list) and all(values):
                return
            if time.monotonic() > self.browser.deadline - GRACE:
                states = self.browser.evaluate("Array.from(frames, (copy) => copy.document.body.innerText)")
                raise TimeoutError(f"it never came true: {expression}\nit is {values}, and the pages say {states}")
            time.sleep(look.INTERVAL)

    @staticmethod
    def _in_every_copy(expression):
        return f"Promise.all(Array.from(frames, (copy) => copy.eval({json.dumps(expression)})))"

    def read_time(self):
        """Begins to read the time out of the images: see timecode.js."""
        self.each((HERE / "timecode.js").read_text())

    def statistics(self):
        """What the browser counts for every copy."""
        return self.each(STATISTICS)

    def count(self, frames):
        """Waits until every copy has decoded and read so many more frames; returns the statistics before and after."""
        before = self.each(f"{STATISTICS}.then((now) => (globalThis.before = now))")
        self.each("Object.assign(seen, { ages: [], unreadable: 0, repeated: 0 })")
        more = f"{STATISTICS}.then((now) => now.framesDecoded >= before.framesDecoded + {frames})"
        self.wait_for(f"seen.ages.length >= {frames} && {more}")
        return before, self.statistics()
