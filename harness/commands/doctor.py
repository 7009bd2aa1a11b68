"""``pairproof doctor``: check which labs, targets and tools work here, and how to fix the rest.

A lab is ready if it plays a trial: it starts the reference pair, replicates one message, and the history is judged.
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
"""Free bytes; with less, a long run or a lab of JVMs may end early."""

READY, MISSING = "ready", "missing"


class Check(NamedTuple):
    kind: str
    name: str
    state: str
    about: str


@click.command("doctor", epilog=example("doctor --lab process"))
@click.option(
    "--lab",
    "lab_names",
    multiple=True,
    shell_complete=completes("labs"),
    help="Check this lab only; may be given more than once.",
)
@json_option
def command(lab_names: tuple[str, ...], json_to: str | None) -> int:
    """Check which labs, targets and tools work here, and how to fix the rest.

    Each lab plays a trial, which takes some seconds in labs with real time.

    Exit codes: 0 everything is ready; 2 usage; 3 something is missing (with --lab only what that lab needs counts).
    """
    for name in set(lab_names) - set(registry.names("labs")):
        registry.find("labs", name)
    chosen = list(lab_names) or registry.names("labs")
    found = [*_machine()] + ([] if lab_names else [*_packages(), *_tools()])
    with progress() as report:
        for number, name in enumerate(chosen):
            report(number, len(chosen), f"doctor: a trial in lab {name}")
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
        free = shutil.disk_usage(_existing(folder)).free
        yield _enough("disk", name, free, LEAST_DISK, f"make room in {folder.absolute()}")
    yield _enough("machine", "memory", free_memory(), LEAST_MEMORY, "close other programs, or give --jobs 1")
    root = os.geteuid() == 0
    about = "power losses and slow disks can use loop devices" if root else "real labs leave out faults that need root"
    yield Check("machine", "root", "yes" if root else "no", about)


def _existing(folder: Path) -> Path:
    absolute = folder.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.is_dir())


def _enough(kind: str, name: str, free: int, least: int, remedy: str) -> Check:
    amount = f"{free / (1 << 30):.1f} GiB free"
    return Check(kind, name, READY, amount) if free >= least else Check(kind, name, MISSING, f"{amount}: {remedy}")


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
        found: dict[str, Any] = listing.where(name)
        yield Check("tool", name, MISSING if found["missing"] else READY, found["missing"] or found["path"])


def _lab(name: str) -> Check:
    from ..trials import resolve
    from ..trials.interpreter import run_trial
    from ..trials.schedule import Schedule

    began = monotonic()
    try:
        with extras.reported():
            lab, target = resolve.lab(name), resolve.target(TARGET)
            run_trial(lab, target, Schedule({}, "doctor", ()), laws=())
    except PairproofError as why:
        return Check("lab", name, MISSING, str(why))
    except Exception as why:
        # A plug-in's lab may raise anything, and the other results are still wanted.
        return Check("lab", name, MISSING, f"unexpected {type(why).__name__}: {' '.join(str(why).split())[:200]}")
    return Check("lab", name, READY, f"played a trial of {TARGET} in {monotonic() - began:.1f} s")
