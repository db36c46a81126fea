"""Opens a page in headless Chromium and waits for conditions in it to become true, one after another.

Each STEP is a JavaScript expression, which may be a promise: it is evaluated until it is truthy, and its value is then printed
as a line of JSON. `screenshot=FILE` writes what the page looks like as a PNG. At the end a line tells the errors that the
page has logged, such as what its content security policy refused. With several tabs, which are windows of their own and so
all visible, each step has to become true in every one of them before the next, and the line has a list of the values.

Chromium is driven by its DevTools protocol over a pair of pipes, so that neither a port nor a library is needed.
"""

import argparse
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

FLAGS = [
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars",
]
# How long a step may take, as long as the other tests wait for anything, in seconds.
PATIENCE = 60 * float(os.environ.get("TEST_PATIENCE", "1"))
# How often an expression is evaluated again, in seconds.
INTERVAL = 0.1


class Chromium:
    """A browser and its tabs, the last of which is the one that is spoken to."""

    def __init__(self, program, deadline):
        self.deadline = deadline
        self.profile = tempfile.mkdtemp(prefix="look-")
        self.errors = []
        self.buffer = b""
        self.count = 0
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()

        def connect():
            """The browser reads from descriptor 3 and writes to 4, either of which may be one of the pipes' already."""
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]
            for number, end in enumerate(ends, 3):
                os.dup2(end, number)
                os.close(end)

        # Chromium's sandbox refuses root, and needs what containers lack; only the project's own pages are opened.
        self.process = subprocess.Popen(
            [program, *FLAGS, "--no-sandbox", f"--user-data-dir={self.profile}", "about:blank"],
            # Python's own descriptors are not inherited anyway.
            close_fds=False,
            preexec_fn=connect,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.session = None
        self.sessions = []
        self.open()

    def open(self):
        self.session = None
        target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.sessions.append(self.session)
        for domain in "Page", "Runtime", "Log":
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, EOFError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        while True:
            answer = self.receive()
            self.note(answer)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.answers, 1 << 16)
            if not data:
                raise EOFError("the browser has ended")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def note(self, message):
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"]["text"])
        entry = parameters.get("entry", {})
        if message.get("method") == "Log.entryAdded" and entry["level"] == "error":
            self.errors.append(f"{entry['text']} {entry.get('url', '')}".strip())

    def evaluate(self, expression):
        # As if by the user's hand, without which a browser copies nothing.
        result = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['result'].get('description', 'it throws')}")
        return result["result"].get("value")

    def wait_for_all(self, expression):
        """The values in all tabs, in their order; just the value if there is one tab."""
        values = []
        for self.session in self.sessions:
            values.append(self.wait_for(expression))
        return values if len(values) > 1 else values[0]

    def wait_for(self, expression):
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            # While the browser can still be asked.
            if time.monotonic() > self.deadline - 2:
                text = self.evaluate("document.body ? document.body.innerText : ''")
                raise TimeoutError(f"it never came true: {expression}\nthe page says: {text}")
            time.sleep(INTERVAL)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("steps", nargs="*", metavar="STEP")
    parser.add_argument("--chromium", default="chromium", metavar="PROGRAM")
    parser.add_argument("--size", default="1280x800", metavar="WxH", help="of the window (1280x800)")
    parser.add_argument("--tabs", type=int, default=1, metavar="N", help="open the page in N tabs (1)")
    parser.add_argument("--dark", action="store_true", help="prefer dark colours")
    parser.add_argument("--timeout", type=float, default=PATIENCE, metavar="SECONDS", help="for each step (60)")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    scheme = "dark" if options.dark else "light"
    browser = Chromium(options.chromium, time.monotonic() + options.timeout)
    try:
        for number in range(options.tabs):
            if number:
                browser.open()
            browser.call(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            failure = browser.call("Page.navigate", url=options.url).get("errorText")
            if failure:
                raise RuntimeError(f"{options.url}: {failure}")
        browser.wait_for_all("document.readyState == 'complete'")
        for step in options.steps:
            browser.deadline = time.monotonic() + options.timeout
            if step.startswith("screenshot="):
                browser.screenshot(step.partition("=")[2])
                value = True
            else:
                value = browser.wait_for_all(step)
            print(json.dumps({"value": value}), flush=True)
        print(json.dumps({"errors": browser.errors}), flush=True)
    except (RuntimeError, TimeoutError, EOFError) as error:
        sys.exit(f"look: {error}")
    finally:
        browser.close()


if __name__ == "__main__":
    main()
