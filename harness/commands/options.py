"""Options that several commands share, each with one name, help and limit."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click

from ..errors import UsageError
from ..judging.deviations import POLICIES
from ..ports import Target
from ..runs.locations import Place
from ..trials import resolve
from ..trials.schedule_json import check_text
from ..trials.workers import MAX_JOBS
from .file import FileOnly
from .helping import complete_targets, completes
from .output import Decorated, say

RUNS = Path("runs")
MANY_TRIALS = 100
"""Trials of the simulation that justify another process."""
REAL_TIME_JOBS = 3
"""Per core. Six per core play a fifth more trials an hour, but their brokers starve each other (decision 86)."""
LAB_BYTES = 3 << 29
"""Memory of a lab with two JVMs, and its process."""
MAX_HOURS = 7 * 24
"""Largest ``--time``."""
MAX_SEED_CHARS = 200
"""Largest ``--seed``; searches append to it."""


target = click.option(
    "--target",
    "target_name",
    default="reference",
    show_default=True,
    shell_complete=complete_targets,
    help="What to test; base+mutant for a bug, family@version (rocketmq@4.9.8) for a release.",
)
lab = click.option(
    "--lab",
    "lab_name",
    default="sim",
    show_default=True,
    shell_complete=completes("labs"),
    help="The lab to play in.",
)
law = click.option(
    "--law",
    "law_ids",
    multiple=True,
    shell_complete=completes("laws"),
    help="Judge this law only; may be given more than once.",
)
seed = click.option("--seed", default=None, help="Random seed (default: derived from the clock and printed).")
ENGINES = ("spark", "local")


def report(command: Decorated) -> Decorated:
    """``--report`` and ``--report-engine``."""
    made = click.option("--report", is_flag=True, help="Also make the report.")(command)
    text = "Report engine: Spark, or in-process (seconds). Same output."
    return click.option(
        "--report-engine", cls=FileOnly, type=click.Choice(ENGINES), default=ENGINES[0], show_default=True, help=text
    )(made)


def summary(command: Decorated) -> Decorated:
    """``--summary``, passed on as ``full``: whether it names all laws."""
    return click.option(
        "--summary",
        "full",
        type=click.Choice(("compact", "full")),
        default="compact",
        show_default=True,
        callback=lambda ctx, param, value: value == "full",
        help="Laws that the terminal lists: those that need attention, or all.",
    )(command)


known_deviations = click.option(
    "--known-deviations",
    type=click.Choice(POLICIES),
    default=None,
    help="Effect of the version's known deviations on the exit code. [default: fail with your brokers' settings, "
    "pass without]",
)


def jobs(what: str, where: str = "", default: str = "") -> Callable[[Decorated], Decorated]:
    """``--jobs``. ``what``: the things that are played in parallel; ``where``: the labs that can do so.

    ``default``: the text of the default if it is not 1; the command then receives None.
    """
    return click.option(
        "--jobs",
        type=click.IntRange(1, MAX_JOBS),
        default=None if default else 1,
        show_default=default or True,
        help=f"{what} to play in parallel, each in its own lab{where}.",
    )


def default_jobs(deterministic: bool, trials: int | None) -> int:
    """The default number of processes for so many trials.

    A simulation gets one per core, but only one for a second's work. A real-time trial mostly waits, so it gets three
    per core, limited by the free memory for a pair of JVMs each.
    """
    cores = len(os.sched_getaffinity(0))
    if deterministic:
        wanted = cores if trials is None else min(cores, 1 + trials // MANY_TRIALS)
    else:
        wanted = min(REAL_TIME_JOBS * cores, free_memory() // LAB_BYTES, MAX_JOBS if trials is None else trials)
    return max(1, min(MAX_JOBS, wanted))


def free_memory() -> int:
    """Bytes available to new processes; unlimited where the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return MAX_JOBS * LAB_BYTES


def seconds(text: str) -> float:
    """A time limit such as 90s or 10m. UsageError for any other text."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        found = float(number) * units[unit]
    except ValueError:
        found = 0.0
    if not 0 < found <= MAX_HOURS * 3600:
        raise UsageError(
            f"--time wants a number above 0 with s, m or h, {MAX_HOURS}h at most, such as 90s or 10m, not {text!r}"
        )
    return found


def configuration_files(command: Decorated) -> Decorated:
    """``--master-conf`` and ``--slave-conf``, see :func:`files`."""
    file = click.Path(dir_okay=False, path_type=Path)
    for option in (
        click.option("--slave-conf", type=file, help="The slave's properties file, as used in production."),
        click.option("--master-conf", type=file, help="The master's properties file, as used in production."),
    ):
        command = option(command)
    return command


def configuration(command: Decorated) -> Decorated:
    """``--master-conf``, ``--slave-conf`` and ``--set``, see :func:`configured`."""
    typed = click.option("--set", "typed", multiple=True, metavar="KEY=VALUE", help="A broker's setting; repeatable.")
    return configuration_files(typed(command))


def files(master: Path | None, slave: Path | None) -> dict[str, Path]:
    """The given files, by node."""
    return {node: path for node, path in (("master", master), ("slave", slave)) if path is not None}


def configured(name: str, master: Path | None, slave: Path | None, typed: tuple[str, ...]) -> Target:
    """The target with the user's configuration; prints which settings do not apply."""
    found = resolve.target(name)
    if master is None and slave is None and not typed:
        return found
    if not isinstance(found, resolve.TakesConfiguration):
        raise UsageError(f"target {name} takes no configuration; leave --master-conf, --slave-conf and --set out")
    brought, lines = found.bring(files(master, slave), typed)
    for line in lines:
        say(line, "bold yellow" if line in brought.remarks else "yellow")
    return found.given(brought)


def runs(where: str = "") -> Callable[[Decorated], Decorated]:
    """``--runs``, passed on as ``runs_folder``. ``where``: the labs that write run folders."""
    return click.option(
        "--runs",
        "runs_folder",
        type=Place(),
        default=RUNS,
        show_default=True,
        help=f"Where run folders go{where}; a folder, or a URL such as s3a://bucket/runs.",
    )


def seed_of(given: str | None) -> str:
    """The given seed, or one from the clock. UsageError if it is too long or not valid text."""
    if given is not None:
        check_text(given, "--seed", MAX_SEED_CHARS)
        return given
    return datetime.now(UTC).strftime("%Y%m%d%H%M%S")
