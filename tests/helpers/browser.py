"""A headless Chromium that tests drive over a pipe, by the DevTools protocol: no port, no driver, no other package."""

import base64
import fcntl
import itertools
import json
import os
import selectors
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 120.0  # seconds for one answer: a busy machine is slow, a browser that hangs is none

_QUIET = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
)
_QUIET += " --disable-sync --disable-quic --disable-dev-shm-usage --disable-extensions --hide-scrollbars --mute-audio"
KEYS = {"Enter": 13, "Tab": 9, " ": 32, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40, "ArrowUp": 38, "Escape": 27}


def found() -> str | None:
    """The browser on this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser. What goes wrong in its console, and all that it asks of a network, is kept."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._numbers, self._rest = itertools.count(1), b""
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{part}.enable")

    def do(self, method: str, **params: Any) -> Any:
        """One command, and its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        message |= {} if self._session is None else {"sessionId": self._session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        """The next message; events are noted."""
        end = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(self._read, selectors.EVENT_READ)
            while b"\0" not in self._rest:
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise TimeoutError(f"the browser said nothing for {PATIENCE:g} seconds")
                some = os.read(self._read, 1 << 20)
                if not some:
                    raise RuntimeError("the browser has ended")
                self._rest += some
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, what: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(what["exceptionDetails"])[:500])
        elif event == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(what["args"])[:500])
        elif event == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def open(self, page: Path, width: int = 1400, height: int = 900, *, dark: bool = False) -> None:
        """A file, when it has loaded."""
        self.size(width, height)
        self.prefer(dark=dark)
        self.complaints.clear()
        self.requests.clear()
        self.do("Page.navigate", url=page.as_uri())
        self.wait(f"location.href === {json.dumps(page.as_uri())} && document.readyState === 'complete'")

    def size(self, width: int, height: int = 900) -> None:
        """The window; a narrow one is a phone."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.do("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, *, dark: bool = False, media: str = "") -> None:
        """What the system of the reader asks for."""
        wish = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.do("Emulation.setEmulatedMedia", media=media, features=wish)

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is."""
        result = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {json.dumps(result['exceptionDetails'])[:500]}")
        return result["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.value(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"not true after {PATIENCE:g} seconds: {expression}")
            time.sleep(0.02)

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of an element, which is brought into view."""
        code = """(() => {
            const e = document.querySelector(%s);
            e.scrollIntoView({block: "center", behavior: "instant"});
            const b = e.getBoundingClientRect();
            return [b.left + b.width / 2, b.top + b.height / 2];
        })()"""
        x, y = self.value(code % json.dumps(selector))
        # Events of that scrolling come with the next frame.
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return x, y

    def move(self, x: float, y: float) -> None:
        """The pointer to a place in the window."""
        self.do("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """An element with the mouse."""
        x, y = self.place(selector)
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """A key, where the focus is."""
        code = KEYS[key]
        text = {"Enter": "\r", " ": " "}.get(key)
        more = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        self.do(
            "Input.dispatchKeyEvent",
            type="keyDown" if text else "rawKeyDown",
            **more,
            **({"text": text} if text else {}),
        )
        self.do("Input.dispatchKeyEvent", type="keyUp", **more)

    def screenshot(self, file: Path, *, whole: bool = True) -> None:
        """What a person sees, as a PNG file."""
        shot = self.do(
            "Page.captureScreenshot", captureBeyondViewport=whole, **({"clip": self._whole()} if whole else {})
        )
        file.write_bytes(base64.b64decode(shot["data"]))

    def _whole(self) -> dict[str, float]:
        size = self.do("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}


@contextmanager
def running() -> Iterator[Browser]:
    """A browser with a profile of its own, which ends with the block."""
    program = found()
    if program is None:
        raise RuntimeError(f"expected one of {NAMES} on the path, got none")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        (to_read, to_write), (from_read, from_write) = (map(_high, os.pipe()) for _ in range(2))
        actions = [(os.POSIX_SPAWN_DUP2, to_read, 3), (os.POSIX_SPAWN_DUP2, from_write, 4)]
        actions += [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1, 2)]
        given = [program, *_QUIET.split(), "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        pid = os.posix_spawn(program, given, os.environ, file_actions=actions, setsid=True)
        os.close(to_read)
        os.close(from_write)
        try:
            yield Browser(from_read, to_write)
        finally:
            os.close(to_write)
            os.close(from_read)
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _high(number: int) -> int:
    """The same pipe under a number that is not one of those it will get."""
    high = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return high
