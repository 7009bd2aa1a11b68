"""What tests of docker labs share."""

from __future__ import annotations

from pathlib import Path

from pairproof.chaos.labs.docker.engine import LABEL, Engine


def in_engine(engine: Engine, labs: Path) -> list[str]:
    """What the engine has of labs below a folder: "container name", "network name", "volume name"."""
    return [f"{each.kind} {each.name}" for each in engine._made(LABEL) if each.lab.is_relative_to(labs)]
