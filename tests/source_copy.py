"""What pairproof is built from, copied: an installation leaves its build behind, where other tests would find it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("pairproof", "chaos", "harness", "reference", "reports")
FILES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
LIMIT_S = 300


def copied(into: Path) -> Path:
    """The source, in a folder that is made."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, into / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, into)
    return into


def distribution(source: Path, into: Path) -> Path:
    """A source distribution, made with the setuptools that is here, without network."""
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, into], cwd=source, check=True, capture_output=True, timeout=LIMIT_S)
    return next(into.glob("*.tar.gz"))
