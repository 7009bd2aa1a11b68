"""``pairproof mutants --generic``: measure the worth of a green run by a sample of mutants that nobody chose.

Options, tables and exit code; :mod:`pairproof.chaos.generic.measuring` does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import click

from pairproof import __version__

from ...harness.commands import output
from ...harness.commands.file import Typed
from ...harness.commands.helping import complete_targets
from ...harness.errors import EXIT_HOLDS, EXIT_VIOLATED, UsageError
from ...harness.ports import Lab
from ...harness.trials import resolve
from ..generic import equivalents, score
from ..generic.measuring import ALARMS, Measured, Question, measure
from ..generic.score import CRASH, KILLED, NOT_REACHED, SURVIVED

TRIALS = 20
"""Reaching trials of each mutant."""
DEEP = 200
"""Reaching trials of the survivors among a tenth of them, unless ``--trials`` is given alone."""
SAMPLE = 200
REFERENCE = "reference"
PACKAGES = ("pairproof.reference.core", "pairproof.reference.wire", "pairproof.reference.client")
"""The code of the target reference, without sockets and files, which the simulation replaces."""
MAX_CHARS = 60

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Asked(NamedTuple):
    packages: tuple[str, ...]
    target: str
    sample: int
    deep: int | None
    out: Path | None
    listed: Path | None
    at_least: float | None


def options(command: Decorated) -> Decorated:
    """Adds ``--generic`` and its options, passed as ``asked``: None without ``--generic``."""

    @wraps(command)
    def called(*args: Any, generic: bool, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in _OPTIONS}
        if not generic and any(each not in (None, ()) for each in given.values()):
            option = next(_OPTIONS[name] for name, each in given.items() if each not in (None, ()))
            raise UsageError(f"{option} belongs to --generic; add it, or leave {option} out")
        given.update(target=given["target"] or REFERENCE, sample=given["sample"] or SAMPLE)
        return command(*args, asked=Asked(**given) if generic else None, **kwargs)

    file = click.Path(dir_okay=False, path_type=Path)
    for option in (
        click.option("--at-least", type=click.FloatRange(0, 100), help="Exit code 1 if fewer percent are killed."),
        click.option("--equivalents", "listed", type=file, help="TOML list of mutants that change no behaviour."),
        click.option(
            "--out", type=click.Path(file_okay=False, path_type=Path), help="Store results here; resume from them."
        ),
        click.option(
            "--deep",
            type=click.IntRange(1),
            help=f"Reaching trials of the survivors in a tenth of the sample. [default: {DEEP}]",
        ),
        click.option("--sample", type=click.IntRange(1), help=f"Generic mutants to play. [default: {SAMPLE}]"),
        click.option(
            "--target",
            shell_complete=complete_targets,
            help=f"The target whose code is changed. [default: {REFERENCE}]",
        ),
        click.option(
            "--package", "packages", cls=Typed, multiple=True, help="Python package of the target's code; repeatable."
        ),
        click.option("--generic", is_flag=True, help="Sample small changes of the target's code instead."),
    ):
        called = option(called)
    return called  # type: ignore[return-value]


_OPTIONS = {
    "packages": "--package", "target": "--target", "sample": "--sample", "deep": "--deep", "out": "--out",
    "listed": "--equivalents", "at_least": "--at-least",
}  # fmt: skip


def run(asked: Asked, lab: Lab, seed: str, trials: int | None, jobs: int, json_to: str | None) -> int:
    """Measure, print the results, and return the exit code."""
    if not lab.deterministic:
        raise UsageError(f"--generic plays in the simulation only, not in lab {lab.name}; leave --lab out")
    resolve.check_pair(lab, resolve.target(asked.target))
    packages = asked.packages or (PACKAGES if asked.target.partition("+")[0] == REFERENCE else ())
    if not packages:
        raise UsageError(f"the packages of target {asked.target} are unknown; name them with --package")
    deep = asked.deep or (0 if trials else DEEP)
    question = Question(asked.target, lab.name, packages, seed, asked.sample, trials or TRIALS, deep)
    entries = equivalents.read(asked.listed)
    with TemporaryDirectory() as spare, output.progress() as progress:
        found = measure(question, asked.out or Path(spare), entries, jobs, progress)
    figures = score.summary(found.rows)
    if deep:
        figures["expected"] = score.expected(found.rows, found.deeper)
        figures["expected_by_law"] = score.expected(found.rows, found.deeper, (KILLED,))
    if json_to is not None:
        output.write_json(_document(question, found, figures), json_to)
    _say(question, found, figures, asked.out)
    short = asked.at_least is not None and figures["score"]["percent"] < asked.at_least
    if short:
        output.say(f"less than the {asked.at_least:g} % that --at-least requires", "bold red")
    return EXIT_VIOLATED if found.control.alarms or found.stale or short else EXIT_HOLDS


def _document(question: Question, found: Measured, figures: dict[str, Any]) -> dict[str, object]:
    asked = {key: value for key, value in question._asdict().items() if key != "limits"}
    return {
        "version": __version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        **asked,
        "places": found.places,
        "control": found.control._asdict(),
        "stale": [each._asdict() for each in found.stale],
        **figures,
        "mutants": [{**place._asdict(), **result._asdict()} for place, result in found.rows],
        "deeper": [result._asdict() for result in found.deeper.values()],
    }


def _say(question: Question, found: Measured, figures: dict[str, Any], out: Path | None) -> None:
    _say_survivors(found)
    for title, name in (("By package", "packages"), ("By operator", "operators")):
        verdicts = (KILLED, CRASH, SURVIVED, NOT_REACHED, score.EQUIVALENT)
        rows = [(each, *(str(counts.get(one, 0)) for one in verdicts)) for each, counts in figures[name].items()]
        output.table(title, (name[:-1], *verdicts), rows)
    laws = [
        (law, *(str(counts[each]) for each in ("any", "first", "alone"))) for law, counts in figures["laws"].items()
    ]
    output.table("Who catches whom", ("law", "violated", "broken first", "alone"), laws)
    for words, name in (
        ("killed", "score"), ("killed by a law other than node-lives", "by_law"), ("killed if reached", "of_reached"),
    ):  # fmt: skip
        output.say(f"{words}: {_shown(figures[name])}")
    for words, name in (("any law", "expected"), ("a law other than node-lives", "expected_by_law")):
        if name in figures:
            each = figures[name]
            output.say(
                f"expected in {question.deep} reaching trials, by {words}: {each['percent']} % (95 %: {each['low']} to "
                f"{each['high']} %)"
            )
    output.say(f"{figures['cpu_s']} CPU seconds, {figures['cpu_s'] / max(1, len(found.rows)):.1f} per mutant")
    control = found.control
    output.say(f"control: the unmutated target over {control.trials} trials, {control.cpu_s:.1f} CPU seconds")
    for law, times in control.alarms.items():
        output.say(f"alarm: the unmutated target violates {law} in {times} trials of the control", "bold red")
    if control.alarms:
        output.say(f"the trials that raise an alarm are in {out / ALARMS}" if out else "--out stores those trials")
    for each in found.stale:
        output.say(f"stale equivalent, no code matches it: {each.described()}", "bold red")


def _say_survivors(found: Measured) -> None:
    rows = [
        (
            f"{place.module.replace('.', '/')}.py:{place.line}",
            place.function,
            place.operator,
            f"{_brief(place.before)} -> {_brief(place.after)}",
            result.verdict,
            f"{result.differing} of {result.trials}",
            str(result.reaching),
        )
        for place, result in found.rows
        if result.verdict in (SURVIVED, NOT_REACHED)
    ]
    columns = ("place", "function", "operator", "change", "verdict", "other histories", "reaching trials")
    output.table("Survivors", columns, rows)


def _brief(code: str) -> str:
    return code if len(code) <= MAX_CHARS else f"{code[: MAX_CHARS - 4]} ..."


def _shown(share: dict[str, float]) -> str:
    return f"{share['hits']} of {share['of']}, {share['percent']} % (95 %: {share['low']} to {share['high']} %)"
