"""``pairproof laws``: list the laws, or explain some of them: promise, needed events, limits, and an example violation.

Laws are the entry points ``pairproof.laws``. A law's module docstring has its limits, after "Left out:" or "Abstains".
The example is a known bug: its stored program is played in the simulation and judged by this law alone.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from ..texts import invocation
from .helping import completes, example, sentence
from .output import console, json_option, table, write_json

if TYPE_CHECKING:
    from ..judging.law import Law
    from ..system import KnownBug

LEFT_OUT = re.compile(r"(?:^|(?<=\. ))(?:Left out: |(?=Abstains ))(.*?)(?= Source: |$)", re.DOTALL)
MARKS = re.compile(r"``|:\w+:`~?([^`]*)`")
SOURCE = re.compile(r"(?:^|\s+)Source: .*", re.DOTALL)


@click.command("laws", epilog=example("laws ha-appends-frames"))
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=completes("laws"))
@json_option
def command(ids: tuple[str, ...], json_to: str | None) -> None:
    """List the laws by group, or explain the laws ID.

    A law's kind is durability, protocol, or a convention of the system. An explanation has the law's promise and its
    source, the event types that it needs, its limits, the known bugs and deviations that violate it, and the next steps
    after a violation.
    """
    from ..judging import judge
    from ..judging.law_groups import grouped

    laws = judge.laws(ids) if ids else judge.all_laws()
    if json_to is not None:
        write_json([facts(law) | (explained(law) if ids else {}) for law in laws], json_to)
        return
    if ids:
        for law in laws:
            _explain(law, facts(law) | explained(law))
        return
    rows = {law.id: (law.id, law.kind, law.promise) for law in laws}
    for title, members in grouped(rows):
        table(title, ("law", "kind", "promise"), [rows[law] for law in members])
    console().print(f"explain one: {invocation.program()} laws ID")


def facts(law: type[Law]) -> dict[str, Any]:
    """A law's row of the list."""
    from ..judging.law_groups import group_of

    return {
        "id": law.id, "group": group_of(law.id), "promise": law.promise, "source": law.source,
        "needs": sorted(law.needs), "kind": law.kind,
    }  # fmt: skip


def explained(law: type[Law]) -> dict[str, Any]:
    """``about`` (paragraphs), ``left_out``, ``bugs`` (names), ``deviations`` (by id, the behaviour), ``example``."""
    from ..judging import deviations
    from ..trials import resolve

    about, left_out = docstring(sys.modules[law.__module__].__doc__ or "")
    bugs = [each for each in resolve.system(law.system).known_bugs() if each.law == law.id]
    return {
        "about": about,
        "left_out": left_out,
        "bugs": [each.name for each in bugs],
        "deviations": {each.id: each.about for each in deviations.every().values() if law.id in each.laws},
        "example": _example(law, bugs[0]) if bugs else None,
    }


def docstring(text: str) -> tuple[list[str], str]:
    """A law's module docstring: its paragraphs without limits and source, and its limits."""
    plain = MARKS.sub(r"\1", text.partition("``: ")[2] or text)
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=- )", plain)]
    left_out = [hit[1].strip() for each in paragraphs for hit in LEFT_OUT.finditer(each)]
    rest = [SOURCE.sub("", LEFT_OUT.sub("", each)).strip() for each in paragraphs]
    return [each[0].upper() + each[1:] for each in rest if each], " ".join(left_out)


def _example(law: type[Law], bug: KnownBug) -> dict[str, Any] | None:
    """The law's verdict on a known bug, and the program; None if the law shows nothing."""
    from ..errors import PairproofError
    from ..trials import resolve
    from ..trials.interpreter import run_trial

    try:
        target = resolve.target(f"reference+{bug.name}")
        (judged,) = run_trial(resolve.lab("sim"), target, bug.schedule, laws=(law,)).judgements
    except PairproofError:
        return None
    texts = [each.text for each in judged.violations]
    return {"bug": bug.name, "violation": texts[0], "program": bug.schedule.program()} if texts else None


def _explain(law: type[Law], details: dict[str, Any]) -> None:
    from rich.padding import Padding

    from ..history import kinds
    from ..trials import resolve

    out, program = console(), invocation.program()

    def part(title: str, *lines: str) -> None:
        if lines:
            out.print(f"\n{title}", style="bold")
        for line in lines:
            out.print(Padding(line, (0, 0, 0, 2)) if out.is_terminal else f"  {line}", soft_wrap=not out.is_terminal)

    out.print(f"{law.id} ({details['group']}; {details['kind']})", style="bold")
    out.print(law.promise)
    part("How it judges", *details["about"])
    part("Leaves out", *filter(None, [details["left_out"]]))
    part("Needs these events", *(f"{each}: {sentence(kinds()[each].__doc__)}" for each in details["needs"]))
    part("Source", law.source)
    if shown := details["example"]:
        numbered = (f"{number:3d}  {line}" for number, line in enumerate(shown["program"], 1))
        part(f"Example: the known bug {shown['bug']}", shown["violation"], *numbered)
    part("Known bugs", *(f"{each}: {program} mutants {each}" for each in details["bugs"]))
    known = (f"{name}: {about}" for name, about in details["deviations"].items())
    part(f"Known deviations ({program} deviations check ID plays one)", *known)
    steps = [f"replay the finding: {program} replay FINDING.json"]
    if resolve.system(law.system).has_autopsy:
        steps.append(f"follow one message of it: {program} autopsy FINDING.json")
    part("After a violation", *steps)
    out.print()
