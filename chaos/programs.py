"""Runs installers' programs to completion."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..harness.errors import LabError


def run(
    command: Sequence[str],
    limit_s: float,
    late: str,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """The exit status and output of a program without stdin. LabError, which says ``late``, if it takes longer than
    the limit. The caller handles OSError.
    """
    try:
        return subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LabError(late) from None
