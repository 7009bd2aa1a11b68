"""``pairproof doctor``: which labs, targets and tools are ready here, and the command that makes ready what is not.

A lab is ready when it has played a trial: the reference pair is brought up, replicates one message, and is judged.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import click

from .. import registry
from ..errors import EXIT_HOLDS, EXIT_UNKNOWN, PairproofError
from ..texts import extras
from . import labs as listing
from .helping import completes, example
from .options import RUNS, free_memory
from .output import json_option, progress, say, table, write_json

TARGET = "reference"
LEAST_DISK = LEAST_MEMORY = 2 << 30
"""Bytes that are free; with less a long run, or a lab of JVMs, may end early."""

READY, MISSING = "ready", "missing"


class Check(NamedTuple):
    """One thing that was looked at."""

    kind: str
    name: str
    state: str
    about: str
    """What was found, or what to do."""


@click.command("doctor", epilog=example("doctor --lab process"))
@click.option(
    "--lab",
    "lab_names",
    multiple=True,
    shell_complete=completes("labs"),
    help="Look at this lab only; may be given more than once.",
)
@json_option
def command(lab_names: tuple[str, ...], json_to: str | None) -> int:
    """Say which labs, targets and tools are ready here, and what makes ready what is not.

    Each lab plays a trial, which takes some seconds in labs with real time.

    Exit codes: 0 all is ready; 2 usage; 3 something is not: with --lab of what that lab needs, otherwise of anything.
    """
    for name in set(lab_names) - set(registry.names("labs")):
        registry.find("labs", name)
    chosen = list(lab_names) or registry.names("labs")
    found = [*_machine()] + ([] if lab_names else [*_packages(), *_tools()])
    with progress() as told:
        for number, name in enumerate(chosen):
            told(number, len(chosen), f"doctor: a trial in lab {name}")
            found.append(_lab(name))
    if json_to is not None:
        write_json([each._asdict() for each in found], json_to)
    if json_to != "-":
        table("", ("", "what", "is", ""), [(each.kind, each.name, each.state, each.about) for each in found])
        missing = [f"{each.kind} {each.name}" for each in found if each.state == MISSING]
        labs = [each.name for each in found if each.kind == "lab" and each.state == READY]
        ready = f"labs that are ready: {', '.join(labs) or 'none'}"
        say(f"{ready}; not ready: {', '.join(missing)}" if missing else "all is ready", "yellow" if missing else "bold")
    return EXIT_UNKNOWN if any(each.state == MISSING for each in found) else EXIT_HOLDS


def _machine() -> Iterator[Check]:
    version = f"{platform.python_version()}, {len(os.sched_getaffinity(0))} cores"
    yield Check("machine", "python", READY, version)
    for name, folder in (("runs", RUNS), ("temporary files", Path(os.environ.get("TMPDIR", "/tmp")))):
        free = shutil.disk_usage(_there(folder)).free
        yield _enough("disk", name, free, LEAST_DISK, f"make room in {folder.absolute()}")
    yield _enough("machine", "memory", free_memory(), LEAST_MEMORY, "close other programs, or give --jobs 1")
    root = os.geteuid() == 0
    about = "power losses and slow disks have loop devices" if root else "real labs leave faults out that need root"
    yield Check("machine", "root", "yes" if root else "no", about)


def _there(folder: Path) -> Path:
    """The folder, or the nearest above it that exists."""
    absolute = folder.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.is_dir())


def _enough(kind: str, name: str, free: int, least: int, remedy: str) -> Check:
    told = f"{free / (1 << 30):.1f} GiB free"
    return Check(kind, name, READY, told) if free >= least else Check(kind, name, MISSING, f"{told}: {remedy}")


def _packages() -> Iterator[Check]:
    for module in extras.MODULES:
        try:
            extras.check(module)
        except extras.Lacking as why:
            yield Check("package", module, MISSING, str(why))
        else:
            yield Check("package", module, READY, "")


def _tools() -> Iterator[Check]:
    for name in registry.names("tools"):
        told: dict[str, Any] = listing.where(name)
        yield Check("tool", name, MISSING if told["missing"] else READY, told["missing"] or told["path"])


def _lab(name: str) -> Check:
    from ..trials import resolve
    from ..trials.interpreter import run_trial
    from ..trials.schedule import Schedule

    began = monotonic()
    try:
        with extras.told():
            lab, target = resolve.lab(name), resolve.target(TARGET)
            run_trial(lab, target, Schedule({}, "doctor", ()), laws=())
    except PairproofError as why:
        return Check("lab", name, MISSING, str(why))
    except Exception as why:
        # A stranger's lab may raise anything, and what else is ready is to be said all the same.
        return Check("lab", name, MISSING, f"unexpected {type(why).__name__}: {' '.join(str(why).split())[:200]}")
    return Check("lab", name, READY, f"played a trial of {TARGET} in {monotonic() - began:.1f} s")
