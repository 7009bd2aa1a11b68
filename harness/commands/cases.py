"""``pairproof cases``: keep findings as files of a repository, which ``pairproof replay FOLDER`` plays again.

A case is a finding's file as it is: law, target, lab, settings and the smallest program.
"""

from __future__ import annotations

from pathlib import Path

import click

from .. import registry
from ..errors import UsageError
from ..runs.locations import Place
from .helping import Group, example
from .output import say

FOLDER_OPTION = "--folder"
FOLDER = Path("cases")
OF_RUNS = ("path", "replay", "trial", "shrunk_trial", "cause")
"""What a finding says of its run only; numbers must be there, and are -1."""


@click.group("cases", cls=Group, epilog=example("cases add runs/RUN/findings/0001.json"))
def command() -> None:
    """Keep findings as cases that a repository keeps; pairproof replay FOLDER plays them again."""


@command.command("add", epilog=example("cases add runs/RUN/findings/0001.json"))
@click.argument("findings", nargs=-1, required=True, type=Place(), metavar="FINDING.json...")
@click.option(
    FOLDER_OPTION, type=click.Path(file_okay=False, path_type=Path), default=FOLDER, show_default=True, help="Where to."
)
def add(findings: tuple[Path, ...], folder: Path) -> None:
    """Copy findings into a folder of cases, each under its law and a digest of its program.

    A case that is there already is left as it is.

    Exit codes: 0 they are there; 2 a file is not a finding.
    """
    from ..runs import atomic
    from ..runs.reader import named_finding
    from ..runs.writer import case_name

    told = [(path, named_finding(path)) for path in findings]
    for path, found in told:
        if not found["law"]:
            raise UsageError(f"{path} is a trial in which the lab failed, so it breaks no law; leave it out")
        if found["law"] not in registry.names("laws"):
            raise UsageError(
                f"{path} is about {found['law']!r}, which only the test knows that found it; that test is the case"
            )
    for _, found in told:
        case = {name: each for name, each in found.items() if name not in OF_RUNS} | {"trial": -1, "shrunk_trial": -1}
        name = case_name(found["target"], found["lab"], found["law"], found["schedule"])
        if (folder / name).exists():
            say(f"there already: {folder / name}")
        else:
            say(f"added: {atomic.put_json(folder, name, case, FOLDER_OPTION)}")
