"""What tests of docker labs share."""

from __future__ import annotations

import os
from pathlib import Path

from real_labs import CLI

from pairproof.chaos.labs.docker.engine import LABEL, Engine

OWN_VIEW = f"tests of {os.getpid()}"
"""As whose the engine's things are made: tests leave some behind, and labs of other workers clean up meanwhile."""
CLI_OF_OWN_VIEW = f"from pairproof.chaos.labs.docker import engine; engine._view = lambda: {OWN_VIEW!r}; {CLI}"


def in_engine(engine: Engine, labs: Path) -> list[str]:
    """What the engine has of labs below a folder: "container name", "network name", "volume name"."""
    return [f"{each.kind} {each.name}" for each in engine._made(LABEL) if each.lab.is_relative_to(labs)]
