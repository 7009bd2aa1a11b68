"""Shared by the commands that run a process: read a properties file, report a failure in one line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import EXIT_FAILED, exit_code

if TYPE_CHECKING:
    from ..shell.log import Log


def run(
    context: click.Context, config: Path, read: Callable[[Path], dict[str, str]],
    begin: Callable[[dict[str, str], Log], None],
) -> None:  # fmt: skip
    """Run ``begin`` with the file's keys and values until it returns; exit with 2, 4 or 5 as the commands document."""
    from ..errors import BrokerError
    from ..shell.log import Log
    from ..shell.serve import BrokerFailed

    try:
        begin(read(config), Log())
    except BrokerError as why:
        print(f"pairproof {context.command.name}: {' '.join(str(why).split())}", file=sys.stderr)
        context.exit(EXIT_FAILED if isinstance(why, BrokerFailed) else exit_code(why))
