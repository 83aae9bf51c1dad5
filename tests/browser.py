"""A real browser for tests: Chromium without a window, steered over two pipes (the DevTools protocol), so that no port is opened."""

import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
DEADLINE_S = 60
_FIRST_FREE = 10
"""Descriptors for the pipes while the browser's own, 3 and 4, are not in place yet."""


class Page:
    """One tab, and everything that happened in it."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self._browser, self._session = browser, session
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, parameters, self.events)

    def open(self, file: Path) -> None:
        self.events.clear()
        self.call("Page.navigate", url=file.as_uri())
        self._browser.wait_for("Page.loadEventFired", self.events)

    def look(self, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Show the page in another size or colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression: str) -> Any:
        """Run JavaScript and give its value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press_tab(self) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def requests(self) -> list[str]:
        """Name everything that was asked for, other than the page itself and what it carries inside."""
        asked = [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in asked[1:] if not url.startswith("data:")]

    def complaints(self) -> list[str]:
        """Give what stands in the browser's console: errors, warnings, violations of the content security policy."""
        exceptions = [event["params"]["exceptionDetails"]["text"] for event in self.events if event["method"] == "Runtime.exceptionThrown"]
        entries = [event["params"]["entry"]["text"] for event in self.events if event["method"] == "Log.entryAdded"]
        return exceptions + entries


class Browser:
    """A running browser."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int, writing: int) -> None:
        self._process, self._reading, self._writing = process, reading, writing
        self._numbers = itertools.count(1)
        self._rest = b""

    def page(self) -> Page:
        target = self.call("Target.createTarget", None, {"url": "about:blank"}, [])["targetId"]
        return Page(self, self.call("Target.attachToTarget", None, {"targetId": target, "flatten": True}, [])["sessionId"])

    def call(self, method: str, session: str | None, parameters: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        for answer in self._messages(method):
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            events.append(answer)
        raise AssertionError(f"{method} was not answered")

    def wait_for(self, method: str, events: list[dict[str, Any]]) -> None:
        if not any(event.get("method") == method for event in events):
            for message in self._messages(method):
                events.append(message)
                if message.get("method") == method:
                    break

    def _messages(self, awaited: str) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + DEADLINE_S
        while True:
            while b"\0" in self._rest:
                message, _, self._rest = self._rest.partition(b"\0")
                yield json.loads(message)
            ready, _, _ = select.select([self._reading], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"the browser said nothing for {DEADLINE_S} s; awaited was {awaited}"
            read = os.read(self._reading, 1 << 16)
            assert read, f"the browser has ended with status {self._process.wait()}; awaited was {awaited}"
            self._rest += read


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Browser]:
    """Start a browser that keeps everything in a folder, and end it with all of its processes."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert program, f"no browser here (looked for {', '.join(PROGRAMS)}); `tools/setup browser` installs one"
    (theirs_in, ours_out), (ours_in, theirs_out) = _pipe(), _pipe()

    def connect() -> None:
        os.dup2(theirs_in, 3)  # the browser reads commands from 3 and writes answers to 4
        os.dup2(theirs_out, 4)

    words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking"]
    words += ["--disable-component-update", "--disable-sync", f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"]
    process = subprocess.Popen(
        words, preexec_fn=connect, pass_fds=(3, 4), start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for descriptor in (theirs_in, theirs_out):
        os.close(descriptor)
    try:
        yield Browser(process, ours_in, ours_out)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for descriptor in (ours_in, ours_out):
            os.close(descriptor)


def _pipe() -> tuple[int, int]:
    """Open a pipe whose ends are none of the descriptors that the browser wants for itself."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
