"""Options that several commands have, each with one name, help and limit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from pairproof.harness.schedule_json import check_text
from pairproof.harness.workers import MAX_JOBS

RUNS = Path("runs")
"""Where run folders are, unless somebody says otherwise."""
MAX_SEED_CHARS = 200
"""Of ``--seed``; searches make the seeds of their trials longer."""

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

target = click.option(
    "--target", "target_name", default="reference", show_default=True, help="What to test; base+mutant for a bug."
)
lab = click.option("--lab", "lab_name", default="sim", show_default=True, help="The lab to play in.")
seed = click.option("--seed", default=None, help="Random seed (default: derived from the clock and printed).")
report = click.option("--report", is_flag=True, help="Make the report, too.")


def jobs(what: str, where: str = "") -> Callable[[Decorated], Decorated]:
    """``--jobs``; ``what`` says what it plays at once, ``where`` in which labs that is possible."""
    return click.option(
        "--jobs",
        type=click.IntRange(1, MAX_JOBS),
        default=1,
        show_default=True,
        help=f"{what} to play at once, each in its own lab{where}.",
    )


def runs(where: str = "") -> Callable[[Decorated], Decorated]:
    """``--runs``, handed over as ``runs_folder``; ``where`` says in which labs there are such folders."""
    return click.option(
        "--runs",
        "runs_folder",
        type=click.Path(path_type=Path),
        default=RUNS,
        show_default=True,
        help=f"Where run folders go{where}.",
    )


def seed_of(given: str | None) -> str:
    """The seed that was given, or one from the clock. UsageError if it is not such a text."""
    if given is not None:
        check_text(given, "--seed", MAX_SEED_CHARS)
        return given
    return datetime.now(UTC).strftime("%Y%m%d%H%M%S")
