"""Headless Chromium, driven through a pipe by its DevTools protocol."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gdpbridge.explorer import explorer_page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage"
PIPED = "--remote-debugging-pipe --proxy-server=127.0.0.1:9"
# seconds; a loaded machine is slow
PATIENCE = 60.0
KEYS = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40}


class Browser:
    """A page in a browser without a network."""

    def __init__(self, profile: Path) -> None:
        assert BROWSER is not None
        # the browser's ends have numbers that are not in the way of its 3 and 4
        ends = [*os.pipe(), *os.pipe()]
        reads, self._to, self._from, writes = (fcntl.fcntl(one, fcntl.F_DUPFD, 50) for one in ends)
        for one in ends:
            os.close(one)
        words = [
            BROWSER,
            *OPTIONS.split(),
            *PIPED.split(),
            f"--user-data-dir={profile}",
        ]
        command = f'exec "$@" 3<&{reads} 4>&{writes}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", *words, "about:blank"],
            pass_fds=(reads, writes),
            stderr=subprocess.DEVNULL,
        )
        for one in (reads, writes):
            os.close(one)
        self._number, self._rest = 0, b""
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        (page,) = [
            one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"
        ]
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            read = os.read(self._from, 1 << 20)
            assert read, "the browser ended"
            self._rest += read
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Run a command of the protocol, and keep the events that come meanwhile."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        words = {"id": self._number, "method": method, "params": parameters, **session}
        os.write(self._to, json.dumps(words).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def open(self, url: str) -> None:
        """Open a page and wait until it is there."""
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.run(
            "new Promise((done) => document.readyState === 'complete' ? done() "
            ": addEventListener('load', done))"
        )

    def run(self, script: str) -> Any:
        """Return the value of an expression, awaited if it is a promise."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def show(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size and the colour scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str, times: int = 1) -> None:
        """Press a key, as on a keyboard."""
        about: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        if key == "Enter":
            about["text"] = "\r"
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, **about)

    def write(self, text: str) -> None:
        """Write where the focus is, over what is there."""
        self.run("document.activeElement.select?.()")
        self.call("Input.insertText", text=text)

    def settle(self) -> None:
        """Wait for the answers of the next frame."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def close(self) -> None:
        """End the browser."""
        self._session = None
        with suppress(AssertionError, OSError):
            self.call("Browser.close")
        for end in (self._to, self._from):
            os.close(end)
        self._process.wait(timeout=20)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    if BROWSER is None:
        pytest.skip("needs Chromium")
    started = Browser(tmp_path_factory.mktemp("browser"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def page_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page as a file."""
    file = tmp_path_factory.mktemp("explorer") / "explorer.html"
    file.write_text(explorer_page(), encoding="utf-8")
    return file.as_uri()
