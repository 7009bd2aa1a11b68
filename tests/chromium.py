"""Pages in a real Chromium, without a network."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

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
    "--virtual-time-budget=2000",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    # Whatever a page asked of the network would fail, and be missing from what is looked at.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]
TIMEOUT_S = 120


def browse(page: Path, scratch: Path, *arguments: str) -> str:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on PATH (Debian: apt-get install chromium fonts-dejavu-core)")
    profile = scratch / "profile"
    command = [chromium, *FLAGS, f"--user-data-dir={profile}", *arguments, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    shutil.rmtree(profile, ignore_errors=True)
    return done.stdout
