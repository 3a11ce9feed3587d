"""A headless Chromium, driven by its own remote protocol through two pipes: no network, no driver to install.

Each Browser starts one, unless TAPOOL_BROWSER names the folder of one that runs already (chromium.py FOLDER).

    with Browser() as b:
        page = b.open("file:///tmp/page.html")
        page.value("document.title")
        page.picture("page.png")
        page.errors      # of the console, and what scripts have thrown
        page.requests    # addresses that were asked for, the page's own aside
"""
import base64
import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
WAIT_S = 60
KEY_CODES = dict(Enter=13, Escape=27, End=35, Home=36, ArrowLeft=37, ArrowUp=38, ArrowRight=39, ArrowDown=40)


def find():
    """The browser's path; None: there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


# A promise that is kept when so many frames have been drawn, and what they have started.
FRAMES = """new Promise(done => {
    const next = left => left ? requestAnimationFrame(() => next(left - 1)) : setTimeout(done);
    next(%d);
})"""


class Broken(Exception):
    """What the browser or a script in it has refused."""


def pipes(folder):
    return [os.open(os.path.join(folder, name), os.O_RDWR) for name in ("calls", "answers")]


def serve(folder):
    """Becomes a browser for one Browser after another. Its pipes stay when nobody holds them: it holds both ends."""
    for name in "calls", "answers":
        os.mkfifo(os.path.join(folder, name))
    calls, answers = map(os.dup, pipes(folder)) # out of the way of 3 and 4, which are the protocol's
    os.dup2(calls, 3)
    os.dup2(answers, 4)
    os.execv(find(), [
        "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
        "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
        "--user-data-dir=" + os.path.join(folder, "profile"), "about:blank"])


class Browser:
    def __init__(self):
        shared = os.environ.get("TAPOOL_BROWSER")
        self.process, self.folder = None, shared
        if not shared:
            self.folder = tempfile.mkdtemp(prefix="tapool-browser-")
            self.process = subprocess.Popen([sys.executable, __file__, self.folder], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + WAIT_S
        while not os.path.exists(os.path.join(self.folder, "answers")) and time.monotonic() < until:
            time.sleep(0.005)
        self.output, self.input = pipes(self.folder)
        while select.select([self.input], [], [], 0)[0]: # what an earlier one has left
            os.read(self.input, 1 << 20)
        self.number, self.rest, self.listeners, self.pages = random.randrange(1 << 30), b"", [], []
        self.context = self.call("Target.createBrowserContext")["browserContextId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.call("Target.disposeBrowserContext", browserContextId=self.context)
        os.close(self.input)
        os.close(self.output)

    def _message(self, until):
        """The next message; None: none came in time."""
        while b"\0" not in self.rest:
            if not select.select([self.input], [], [], max(0, until - time.monotonic()))[0]:
                return None
            self.rest += os.read(self.input, 1 << 20)
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def _hear(self, message):
        for listener in self.listeners:
            listener(message)

    def call(self, method, session=None, **params):
        self.number += 1
        message = dict(id=self.number, method=method, params=params)
        if session:
            message["sessionId"] = session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + WAIT_S
        while True:
            answer = self._message(until)
            if answer is None:
                raise Broken("no answer to " + method)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Broken("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]
            self._hear(answer)

    def listen(self, seconds):
        until = time.monotonic() + seconds
        while True:
            message = self._message(until)
            if message is None:
                return
            self._hear(message)

    def open(self, address, width=1200, height=900, dark=False, scripts=True):
        page = Page(self, address, width, height, dark, scripts)
        self.pages.append(page)
        return page

    def close_pages(self):
        """Closes all that were opened."""
        for page in self.pages:
            self.call("Target.closeTarget", targetId=page.target)
        self.pages, self.listeners = [], []


class Page:
    def __init__(self, browser, address, width, height, dark, scripts):
        self.browser, self.errors, self.requests, self.scripts = browser, [], [], scripts
        self.target = browser.call("Target.createTarget", url="about:blank",
                                   browserContextId=browser.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.listeners.append(self._hear)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia",
                  features=[dict(name="prefers-color-scheme", value="dark" if dark else "light")])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.loaded, self.address = False, address
        self.call("Page.navigate", url=address)
        until = time.monotonic() + WAIT_S
        while not self.loaded and time.monotonic() < until:
            browser.listen(0.02)

    def _hear(self, message):
        if message.get("sessionId") != self.session:
            return
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and params["request"]["url"] != self.address:
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def value(self, expression):
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Broken(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def settle(self, frames=3):
        """Lets so many frames be drawn, with the timers and observers that are due in them, and hears what is said."""
        if self.scripts:
            self.value(FRAMES % frames)
        self.browser.listen(0 if self.scripts else 0.3)

    def scroll_through(self):
        """Brings every part of the page into the window once, so that all views are drawn."""
        at = 0
        while at < self.value("document.documentElement.scrollHeight"): # which grows meanwhile
            self.value("scrollTo(0, %d)" % at)
            self.settle(2)
            at += 900 # views are drawn when they are near the window
        self.value("scrollTo(0, 0)")
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, name, **more):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode=KEY_CODES.get(name, 0), **more)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))


if __name__ == "__main__":
    serve(sys.argv[1])
