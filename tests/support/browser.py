# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page in headless Chromium, driven over a pipe by the DevTools protocol, without a network.

https://chromedevtools.github.io/devtools-protocol. Requests and answers are JSON, each with a NUL
behind it, on the descriptors 3 and 4 of the browser.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120  # seconds, on a loaded machine
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--force-color-profile=srgb",
    "--proxy-server=127.0.0.1:1",  # nothing may be fetched
)


class PageError(Exception):
    """The page or the browser reports an error."""


def executable() -> str | None:
    """Return the browser of this machine."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A shown page, with its errors."""

    def __init__(self, to: int, answers: int) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []  # addresses that the page has asked for
        self._to = to
        self._answers = answers
        self._numbers = itertools.count(1)
        self._held = bytearray()
        self._session: str | None = None
        self._is_loaded = False

    def begin(self, width: int, height: int) -> None:
        """Open an empty page of a size."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, path: Path) -> None:
        """Show a file, and wait until it is loaded."""
        self._is_loaded = False
        self.call("Page.navigate", url=path.absolute().as_uri())
        limit = time.monotonic() + PATIENCE
        while not self._is_loaded:
            self._hear(self._message(limit))

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command, and return its answer."""
        number = next(self._numbers)
        message: dict[str, object] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        limit = time.monotonic() + PATIENCE
        while True:
            answer = self._message(limit)
            if answer.get("id") != number:
                self._hear(answer)
            elif "error" in answer:
                raise PageError(f"{method}: {answer['error']['message']}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page; promises are waited for."""
        done = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise PageError(details.get("exception", details).get("description", str(details)))
        return done["result"].get("value")

    def settle(self) -> None:
        """Wait until the page has drawn all changes."""
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key, as "a" or "Enter"."""
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key, "")
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40}.get(
            key, ord(key) if len(key) == 1 else 0
        )
        fields: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 * shift}
        kind = "keyDown" if text else "rawKeyDown"
        self.call("Input.dispatchKeyEvent", type=kind, text=text, **fields)
        self.call("Input.dispatchKeyEvent", type="keyUp", **fields)
        self.settle()

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)
        self.settle()

    def move(self, x: float, y: float, kind: str = "mouseMoved", **more: object) -> None:
        """Move the mouse, or do what `kind` names at this place."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def prefer(self, scheme: str) -> None:
        """Set the user's preferred colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.settle()

    def screenshot(self) -> bytes:
        """Return the picture of the page, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _message(self, limit: float) -> dict[str, Any]:
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._answers], [], [], max(0, limit - time.monotonic()))
            data = os.read(self._answers, 1 << 20) if ready else b""
            if not data:
                raise PageError("the browser has ended" if ready else "the browser does not answer")
            self._held += data
        message, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _hear(self, event: dict[str, Any]) -> None:
        values = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._is_loaded = True
            case "Runtime.exceptionThrown":
                self.errors.append(str(values["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.errors.append(str(values["args"]))
            case "Log.entryAdded":
                self.errors.append(values["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(values["request"]["url"])


@contextmanager
def page(browser: str, width: int = 1200, height: int = 800) -> Iterator[Page]:
    """Start the browser with an empty page; it ends with the block."""
    with ExitStack() as stack:
        profile = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="omptool-browser-", ignore_cleanup_errors=True)
        )
        commands, to = os.pipe()
        answers, back = os.pipe()
        stack.callback(os.close, answers)
        # The browser's sandbox does not start as root.
        own = ("--no-sandbox",) if os.geteuid() == 0 else ()
        words = [browser, *FLAGS, *own, f"--user-data-dir={profile}", "about:blank"]
        redirected = f'exec "$@" 3<&{commands} 4>&{back}'
        process = subprocess.Popen(
            ["bash", "-c", redirected, "bash", *words],
            pass_fds=(commands, back),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": profile},
        )
        os.close(commands)
        os.close(back)
        try:
            shown = Page(to, answers)
            shown.begin(width, height)
            yield shown
        finally:
            os.close(to)  # the browser ends then
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
