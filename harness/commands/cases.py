"""``pairproof cases``: keep findings as regression cases in a repository, for ``pairproof replay FOLDER``.

A case is a copy of a finding's file: law, target, lab, settings and the smallest program.
"""

from __future__ import annotations

from pathlib import Path

import click

from .. import registry, renamed
from ..errors import UsageError
from ..runs.locations import Place
from .helping import Group, example
from .output import say

FOLDER_OPTION = "--folder"
FOLDER = Path("cases")
OF_RUNS = ("path", "replay", "trial", "shrunk_trial", "cause")
"""Fields of a finding that belong to its run. The numbers are required, and become -1."""


@click.group("cases", cls=Group, epilog=example("cases add runs/RUN/findings/0001.json"))
def command() -> None:
    """Keep findings as regression cases in a repository; pairproof replay FOLDER plays them again."""


@command.command("add", epilog=example("cases add runs/RUN/findings/0001.json"))
@click.argument("findings", nargs=-1, required=True, type=Place(), metavar="FINDING.json...")
@click.option(
    FOLDER_OPTION, type=click.Path(file_okay=False, path_type=Path), default=FOLDER, show_default=True, help="Where to."
)
def add(findings: tuple[Path, ...], folder: Path) -> None:
    """Copy findings into a folder of regression cases, each named by its law and a digest of its program.

    A case that exists already is not changed.

    Exit codes: 0 all cases exist; 2 a file is not a finding.
    """
    from ..runs import atomic
    from ..runs.reader import named_finding
    from ..runs.writer import case_name

    named = [(path, named_finding(path)) for path in findings]
    for path, found in named:
        found["law"] = renamed.current("laws", found["law"])
        if not found["law"]:
            raise UsageError(f"{path} is a trial in which the lab failed and no law was violated; leave it out")
        if found["law"] not in registry.names("laws"):
            raise UsageError(
                f"{path} is about {found['law']!r}, a law of the test that found it; that test is the regression case"
            )
    for _, found in named:
        case = {name: each for name, each in found.items() if name not in OF_RUNS} | {"trial": -1, "shrunk_trial": -1}
        name = case_name(found["target"], found["lab"], found["law"], found["schedule"])
        if (folder / name).exists():
            say(f"there already: {folder / name}")
        else:
            say(f"added: {atomic.put_json(folder, name, case, FOLDER_OPTION)}")
