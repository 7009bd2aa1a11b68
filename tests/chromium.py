"""Pages in a real Chromium, without a network.

A window of a desk's Chromium is at least 500 pixels wide, whatever ``--window-size`` says. So :class:`Browser` sets the
width as the developer tools do, over a pipe; one of them looks at many pages.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--font-render-hinting=none",
    "--disable-font-subpixel-positioning",
    "--disable-lcd-text",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    # Whatever a page asked of the network would fail, and be missing from what is looked at.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]
TIMEOUT_S = 120
HEIGHT = 900
PIPED = """import os, sys
for number, own in enumerate(os.dup(int(each)) for each in sys.argv[1:3]): os.dup2(own, 23 + number)
os.dup2(23, 3), os.dup2(24, 4)
os.execvp(sys.argv[3], sys.argv[3:])"""
"""Chromium reads messages from descriptor 3 and writes answers to 4."""


def _chromium() -> str:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on PATH (Debian: apt-get install chromium fonts-dejavu-core)")
    return chromium


def browse(page: Path, scratch: Path, *arguments: str) -> str:
    """What Chromium prints of a page, in a window that is at least 500 pixels wide."""
    profile = scratch / "profile"
    own = [f"--user-data-dir={profile}", "--virtual-time-budget=2000"]
    command = [_chromium(), *FLAGS, *own, *arguments, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    shutil.rmtree(profile, ignore_errors=True)
    return done.stdout


class Browser:
    """One Chromium for many pages, of any width; a context manager. ``scratch`` holds its profile."""

    def __init__(self, scratch: Path) -> None:
        command = [_chromium(), *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={scratch / 'browser'}"]
        (theirs, self._to), (mine, ours) = os.pipe(), os.pipe()
        piped = [sys.executable, "-c", PIPED, str(theirs), str(ours), *command, "about:blank"]
        self._process = subprocess.Popen(piped, pass_fds=(theirs, ours), stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(ours)
        self._from = os.fdopen(mine, "rb", buffering=0)
        self._rest, self._number, self._session, self._loaded = b"", 0, "", False
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(TIMEOUT_S)
        os.close(self._to)
        self._from.close()

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (told := self._read()).get("id") != self._number:
            pass
        assert "error" not in told, told
        return dict(told["result"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._from], [], [], TIMEOUT_S)[0], "chromium does not answer"
            piece = self._from.read(1 << 16)
            assert piece, "chromium has ended"
            self._rest += piece
        answer, self._rest = self._rest.split(b"\0", 1)
        told = dict(json.loads(answer))
        self._loaded |= told.get("method") == "Page.loadEventFired"
        return told

    def open(self, page: Path, width: int) -> None:
        """Show a page in a window that is ``width`` pixels wide."""
        own = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **own)
        self._loaded = False
        told = self._call("Page.navigate", url=page.resolve().as_uri())
        assert "errorText" not in told, told
        while not self._loaded:
            self._read()
        assert self.run("innerWidth") == width

    def run(self, script: str) -> Any:
        """The value of a script on the page."""
        asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
        told = self._call("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def picture(self, file: Path) -> None:
        """Write the whole page as a PNG."""
        area = {"x": 0, "y": 0, "width": self.run("innerWidth"), "scale": 1}
        area["height"] = self.run("document.documentElement.scrollHeight")
        told = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=area)
        file.write_bytes(base64.b64decode(told["data"]))
