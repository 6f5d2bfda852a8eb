"""A real Chromium without a window, told what to do through two pipes (DevTools protocol)."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--lang=en",
)  # fmt: skip

PATIENCE = 60
"""Seconds after which a browser that says nothing is given up."""


KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, "PageUp": 33, "End": 35, "Home": 36, "ArrowLeft": 37,
    "ArrowRight": 39,
}  # fmt: skip
"""The old keyCode of keys; of a letter, it is that of its capital."""

HOSTILE = [
    "</script><script>window.caught=1</script>", "<img src=x onerror=window.caught=2>",
    "<svg onload=window.caught=3>", "javascript:window.caught=4",
    "\" onmouseover=\"window.caught=5' autofocus onfocus='window.caught=6",
    "<!--<script>window.caught=7",
    "</title></style></textarea></template><script>window.caught=8</script>",
    "${window.caught=9} {{caught}} &lt;script&gt;", "a\u2028window.caught=10\u2029b",
    "\u202eltr override", "<a href=javascript:window.caught=11 id=data>data</a>",
    "<base href=//example.org/><link rel=stylesheet href=//example.org/x>",
    "<meta http-equiv=refresh content=0;url=//example.org/>",
]  # fmt: skip
"""Texts that set ``window.caught`` where they become markup or code."""

UNASKED = "BeforeUnloadEvent.prototype.preventDefault = () => {}"
"""Leave a page without the question that Chromium asks before it leaves unsaved labels."""


def found() -> str | None:
    """The path of a Chromium, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page: what is asked of it, and what happened in it meanwhile."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader = open(reader, "rb", buffering=0)
        self._writer = open(writer, "wb", buffering=0)
        self._rest = b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Security"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._writer.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def _message(self) -> dict[str, Any]:
        """The next message; what is no answer is kept in ``events``."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._reader], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            more = os.read(self._reader.fileno(), 1 << 20)
            assert more, "the browser has gone"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message

    def wait(self, method: str) -> None:
        """Wait for an event that has not happened yet when it is called for."""
        while not any(event["method"] == method for event in self.events):
            self._message()

    def open(self, address: str) -> None:
        """Open a page, and wait until it is loaded."""
        self.events.clear()
        assert "errorText" not in self.call("Page.navigate", url=address)
        self.wait("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """The value of an expression in the page; a promise's is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
            allowUnsafeEvalBlockedByCSP=False,
        )  # fmt: skip
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that a selector finds."""
        every = f"document.querySelectorAll({json.dumps(selector)})"
        found: list[str] = self.value(f"Array.from({every}, e => e.textContent)")
        return found

    def press(self, *keys: str) -> None:
        """Press and release keys, one after the other."""
        for key in keys:
            code = KEYS.get(key) or ord(key.upper())
            text = {"Enter": "\r"}.get(key, key if key not in KEYS else "")
            words = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **down, **words)
            self.call("Input.dispatchKeyEvent", type="keyUp", **words)

    def insert(self, text: str) -> None:
        """Type a text at once."""
        self.call("Input.insertText", text=text)

    def focus(self, selector: str) -> None:
        """Focus the first element that a selector finds."""
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")

    def resize(self, width: int, height: int) -> None:
        """Show the page in a window of this size; one below 500 is a telephone's."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=width < 500,
        )  # fmt: skip

    def prefer(self, **features: str) -> None:
        """Prefer, such as ``color_scheme="dark"`` or ``reduced_motion="reduce"``."""
        wanted = [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value}
            for name, value in features.items()
        ]
        self.call("Emulation.setEmulatedMedia", features=wanted)

    def picture(self, whole: bool = False) -> bytes:
        """The page as a PNG."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def requests(self) -> list[str]:
        """The addresses that were asked for since the page was opened, its own aside."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return urls[1:]

    def complaints(self) -> list[dict[str, Any]]:
        """Everything that was said on the console, logged or thrown since the page was opened."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [event for event in self.events if event["method"] in kinds]


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """Run a browser whose profile is a new folder."""
    path = found()
    assert path is not None
    (its_in, our_out), (our_in, its_out) = os.pipe(), os.pipe()
    line = f'exec "$@" 3<&{its_in} 4>&{its_out}'
    words = [path, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
    process = subprocess.Popen(
        ["bash", "-c", line, "bash", *words], pass_fds=(its_in, its_out), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(its_in)
    os.close(its_out)
    browser = Browser(our_in, our_out)
    try:
        yield browser
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        browser._reader.close()
        browser._writer.close()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for the tests of a module."""
    with browsing(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser as it is on a desk; whatever a page said or asked for is a failure."""
    chromium.resize(1280, 900)
    chromium.prefer(color_scheme="light", reduced_motion="no-preference")
    yield chromium
    assert chromium.complaints() == []
    assert [url for url in chromium.requests() if not url.startswith("blob:")] == []
    chromium.value("localStorage.clear()")
    chromium.value(UNASKED)
