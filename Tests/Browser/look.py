"""Opens a page in a headless browser and waits for conditions in it to become true, one after another.

Each STEP is a JavaScript expression, which may be a promise: it is evaluated until it is truthy, and its value is then printed
as a line of JSON, as is every page that is open. `axe` checks the accessibility of the page with axe-core. `screenshot=FILE` writes
what the page looks like as a PNG. At the end a line tells the errors that the page has logged, such as what its content security policy refused. With
several tabs, which are windows of their own and so all visible, each step has to become true in every one of them before the
next, and the line has a list of the values.

Chromium is driven by its DevTools protocol over a pair of pipes, and Firefox by Marionette over a port, so that no library is
needed. Firefox only evaluates.
"""

import argparse
import base64
import fcntl
import importlib.util
import json
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

FLAGS = [
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars",
]
# How long a page may take to open, or a step in it, as long as the other tests wait for anything, in seconds.
PATIENCE = 60 * float(os.environ.get("TEST_PATIENCE", "1"))
# How often an expression is evaluated again, in seconds.
INTERVAL = 0.1

AXE = "axe.run().then((result) => result.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`)))"


class Browser:
    """A browser and its tabs, of which it is spoken to one at a time, until a deadline."""

    def __init__(self, deadline):
        self.deadline = deadline
        self.profile = tempfile.mkdtemp(prefix="look-")
        self.errors = []
        self.count = 0
        self.tabs = []

    def start(self, program, arguments, **options):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([program, *arguments], **quiet, **options)

    def close(self):
        try:
            self.quit()
            self.process.wait(10)
        except (OSError, EOFError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def wait_for_all(self, expression, patience):
        """The values in all tabs, in their order; just the value if there is one tab."""
        values = []
        for tab in self.tabs:
            self.deadline = time.monotonic() + patience
            self.select(tab)
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

    def check_accessibility(self):
        package = pathlib.Path(importlib.util.find_spec("axe_core_python").origin).parent
        self.evaluate((package / "axe.min.js").read_text() + "\ntrue")
        findings = self.evaluate(AXE)
        if findings:
            raise RuntimeError("axe: " + "\n".join(findings))


class Chromium(Browser):
    def __init__(self, program, deadline, size=(1280, 800), is_dark=False):
        super().__init__(deadline)
        self.size = size
        self.scheme = "dark" if is_dark else "light"
        self.buffer = b""
        self.session = None
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()

        def connect():
            """The browser reads from descriptor 3 and writes to 4, either of which may be one of the pipes' already."""
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]
            for number, end in enumerate(ends, 3):
                os.dup2(end, number)
                os.close(end)

        # Chromium's sandbox refuses root, and needs what containers lack; only the project's own pages are opened. Python's own
        # descriptors are not inherited anyway.
        arguments = [*FLAGS, "--no-sandbox", f"--user-data-dir={self.profile}", "about:blank"]
        self.start(program, arguments, close_fds=False, preexec_fn=connect)
        os.close(commands)
        os.close(answers)

    def open(self, url):
        self.session = None
        target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.tabs.append(self.session)
        for domain in "Page", "Runtime", "Log":
            self.call(f"{domain}.enable")
        width, height = self.size
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": self.scheme}])
        failure = self.call("Page.navigate", url=url).get("errorText")
        if failure:
            raise RuntimeError(f"{url}: {failure}")

    def select(self, tab):
        self.session = tab

    def quit(self):
        self.session = None
        self.call("Browser.close")

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

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


class Firefox(Browser):
    def __init__(self, program, deadline):
        super().__init__(deadline)
        profile = pathlib.Path(self.profile)
        (profile / "user.js").write_text('user_pref("marionette.port", 0);\n')
        self.start(program, ["--headless", "--marionette", "--no-remote", "--profile", self.profile])
        port = profile / "MarionetteActivePort"
        while not port.exists() or not port.read_text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise EOFError("the browser does not start")
            time.sleep(INTERVAL)
        self.connection = socket.create_connection(("127.0.0.1", int(port.read_text())), PATIENCE)
        self.answers = self.connection.makefile("rb")
        self.receive()
        self.call("WebDriver:NewSession", capabilities={})

    def open(self, url):
        if self.tabs:
            # Without bars: such a window takes half the time.
            self.evaluate("Boolean(open('about:blank', '', 'popup'))")
        while not (new := set(self.call("WebDriver:GetWindowHandles")) - set(self.tabs)):
            if time.monotonic() > self.deadline:
                raise TimeoutError("the browser opens no window")
            time.sleep(INTERVAL)
        self.tabs.append(new.pop())
        self.select(self.tabs[-1])
        self.call("WebDriver:Navigate", url=url)

    def select(self, tab):
        self.call("WebDriver:SwitchToWindow", handle=tab)

    def quit(self):
        self.call("Marionette:Quit", flags=["eForceQuit"])

    def call(self, method, **parameters):
        self.count += 1
        data = json.dumps([0, self.count, method, parameters]).encode()
        self.connection.sendall(b"%d:%s" % (len(data), data))
        _, _, error, result = self.receive()
        if error:
            raise RuntimeError(f"{method}: {error['message']}")
        return result

    def receive(self):
        """A message, which its length and a colon precede."""
        length = b""
        while (byte := self.answers.read(1)) != b":":
            if not byte:
                raise EOFError("the browser has ended")
            length += byte
        return json.loads(self.answers.read(int(length)))

    def evaluate(self, expression):
        return self.call("WebDriver:ExecuteScript", script=f"return {expression}", args=[], newSandbox=False)["value"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("steps", nargs="*", metavar="STEP")
    parser.add_argument("--chromium", default="chromium", metavar="PROGRAM")
    parser.add_argument("--firefox", metavar="PROGRAM", help="in place of Chromium")
    parser.add_argument("--size", default="1280x800", metavar="WxH", help="of Chromium's window (1280x800)")
    parser.add_argument("--tabs", type=int, default=1, metavar="N", help="open the page in N tabs (1)")
    parser.add_argument("--dark", action="store_true", help="prefer dark colours, in Chromium")
    parser.add_argument("--timeout", type=float, default=PATIENCE, metavar="SECONDS", help="for each page and step (60)")
    options = parser.parse_args()
    deadline = time.monotonic() + options.timeout
    if options.firefox:
        browser = Firefox(options.firefox, deadline)
    else:
        browser = Chromium(options.chromium, deadline, tuple(map(int, options.size.split("x"))), options.dark)
    try:
        for number in range(options.tabs):
            browser.deadline = time.monotonic() + options.timeout
            browser.open(options.url)
            print(json.dumps({"open": number}), flush=True)
        browser.wait_for_all("document.readyState == 'complete'", options.timeout)
        for step in options.steps:
            browser.deadline = time.monotonic() + options.timeout
            value = True
            if step == "axe":
                browser.check_accessibility()
            elif step.startswith("screenshot="):
                browser.screenshot(step.partition("=")[2])
            else:
                value = browser.wait_for_all(step, options.timeout)
            print(json.dumps({"value": value}), flush=True)
        print(json.dumps({"errors": browser.errors}), flush=True)
    except (RuntimeError, TimeoutError, EOFError) as error:
        sys.exit(f"look: {error}")
    finally:
        browser.close()


if __name__ == "__main__":
    main()
