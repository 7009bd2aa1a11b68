"""``pairproof laws``: list the laws, or explain some: the promise, the checks, the events needed, known violations.

Laws are registered as ``pairproof.laws``. A law's module docstring has up to three lists, headed "Checks:", "Abstains
when:" and "Source:"; any other docstring is shown as its paragraphs. The example is the law's violation in the
simulated program of a known bug.
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

ITEM = re.compile(r"\n\s*\n|^- ", re.MULTILINE)
MARKS = re.compile(r"``|:\w+:`~?([^`]*)`")
SECTION = re.compile(r"^(Checks|Abstains when|Source):", re.MULTILINE)


@click.command("laws", epilog=example("laws ha-appends-frames"))
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=completes("laws"))
@json_option
def command(ids: tuple[str, ...], json_to: str | None) -> None:
    """List the laws by subject, or explain the laws ID.

    A law's kind is durability, protocol, or a convention of the system. An explanation has the law's promise, its
    checks, when it abstains, its source, the event types that it needs, the known bugs and deviations that violate it,
    and what to do after a violation.
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
    """A law's row in the list."""
    from ..judging.law_groups import group_of

    return {
        "id": law.id, "group": group_of(law.id), "promise": law.promise, "source": law.source,
        "needs": sorted(law.needs), "kind": law.kind,
    }  # fmt: skip


def explained(law: type[Law]) -> dict[str, Any]:
    """``about`` (checks), ``left_out`` (abstentions), ``bugs`` (names), ``deviations`` (by id), ``example``."""
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
    """A law's module docstring: its paragraphs and checks, without the promise, and its abstentions by line."""
    before, *parts = SECTION.split(MARKS.sub(r"\1", text.partition("``: ")[2] or text))
    lists = dict(zip(parts[::2], parts[1::2], strict=True))
    checks = _items(lists.get("Checks", ""))
    return [*_items(before)[bool(checks) :], *checks], "\n".join(_items(lists.get("Abstains when", "")))


def _items(text: str) -> list[str]:
    lines = (" ".join(each.split()) for each in ITEM.split(text))
    return [each[0].upper() + each[1:] if each.split()[0].islower() else each for each in lines if each]


def _example(law: type[Law], bug: KnownBug) -> dict[str, Any] | None:
    """The law's violation in the program of a known bug, and that program; None without a violation."""
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


def _explain(law: type[Law], explanation: dict[str, Any]) -> None:
    from rich.padding import Padding

    from ..history import kinds
    from ..trials import resolve

    out, program = console(), invocation.program()

    def part(title: str, *lines: str) -> None:
        if lines:
            out.print(f"\n{title}", style="bold")
        for line in lines:
            out.print(Padding(line, (0, 0, 0, 2)) if out.is_terminal else f"  {line}", soft_wrap=not out.is_terminal)

    out.print(f"{law.id} ({explanation['group']}; {explanation['kind']})", style="bold")
    out.print(law.promise)
    part("Checks", *explanation["about"])
    part("Abstains when", *explanation["left_out"].splitlines())
    part("Needs these events", *(f"{each}: {sentence(kinds()[each].__doc__)}" for each in explanation["needs"]))
    part("Source", law.source)
    if shown := explanation["example"]:
        numbered = (f"{number:3d}  {line}" for number, line in enumerate(shown["program"], 1))
        part(f"Example: the known bug {shown['bug']}", shown["violation"], *numbered)
    part("Known bugs", *(f"{each}: {program} mutants {each}" for each in explanation["bugs"]))
    known = (f"{name}: {about}" for name, about in explanation["deviations"].items())
    part(f"Known deviations ({program} deviations check ID plays one)", *known)
    steps = [f"replay the finding: {program} replay FINDING.json"]
    if resolve.system(law.system).has_autopsy:
        steps.append(f"follow one message of it: {program} autopsy FINDING.json")
    part("After a violation", *steps)
    out.print()
