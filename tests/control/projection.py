"""What one trial did, as lines of text that stay the same while the code is redesigned.

A line per event: ``[t, node, kind, {column: value}]``, columns sorted, those that the event does not use left out. A
line per law: its verdict, how often it judged, and when it was violated. What is written for people (violations,
doubts, reasons why something was skipped) is kept apart, since rewording does not change behaviour.

Left out: ``seq``, which the order of the lines says, and the order of keys in JSON details. Nothing here depends on how
events are stored, on where a module lies, or on the searches: of the project it knows only how a schedule document is
executed (:func:`play`) and what an event's columns are (:func:`columns`). These two functions are what a redesign
adapts, and the lines must not change when it does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from pairproof.harness import renamed
from pairproof.harness.errors import PairproofError
from pairproof.harness.history import Event
from pairproof.harness.judging.law import ABSTAINED, JUDGED
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule_json import from_json
from pairproof.harness.trials.trial import Trial

FORMAT = 2
"""Version of the lines. Digests of different formats cannot be compared."""
LAB = "sim"
DIGEST_CHARS = 12
"""48 bits: a chance of 1 in 10**9 that any of 20,000 histories changes unseen is plenty."""
OF_THE_LINE = frozenset({"seq", "t", "node", "kind"})
"""Columns that have a place of their own in the line, or none."""

FORMER: Mapping[Any, str] = {
    new: old for group in ("settings", "faults", "event_types", "laws") for old, new in renamed.OLD[group].items()
} | {"supervisor": "keeper"}
"""Names as the lines have them, by the names of now."""
NAMED = ("kind", "node", "f")
_IN_TEXTS = re.compile("|".join(re.escape(new) for new in FORMER if re.search("[._-]", new)))

DIED = ("crash", "abort")
_LINE = re.compile(r"(?<=[\w.]):\d+(?=\))")

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def play(document: Mapping[str, Any], target: str) -> Trial:
    """Execute a stored schedule (``Schedule.to_json``) and judge it by all laws."""
    return run_trial(resolve.lab(LAB), resolve.target(target), from_json(document))


def columns(event: Event) -> Mapping[str, object]:
    """An event's values by the column names of docs/history.md, without the columns that it does not use.

    Where each kind of event has a class of its own, this function translates its attributes to these names. Of a crash
    the module that raised is kept, but not the line: that moves with every edit above it.
    """
    found = {name: value for name, value in event._asdict().items() if value is not None}
    if event.kind in DIED and event.detail is not None:
        found["detail"] = _LINE.sub("", event.detail)
    return {name: FORMER.get(value, value) if name in NAMED else _former(value) for name, value in found.items()}


def _former(value: object) -> object:
    return _IN_TEXTS.sub(lambda name: FORMER[name[0]], value) if isinstance(value, str) else value


def problem_with(target: str) -> str | None:
    """Why there is no such target; nothing if there is."""
    try:
        resolve.target(target)
    except PairproofError as why:
        return str(why)
    return None


class Projection(NamedTuple):
    """The lines of one trial."""

    history: tuple[str, ...]
    verdicts: tuple[str, ...]
    words: tuple[str, ...]

    def digests(self) -> tuple[str, ...]:
        """One short digest for each part, in order."""
        return tuple(digest(lines) for lines in self)


def digest(lines: Iterable[str]) -> str:
    """A short SHA-256 of lines."""
    return sha256("\n".join(lines).encode()).hexdigest()[:DIGEST_CHARS]


def projected(document: Mapping[str, Any], target: str, without: Collection[str] = ()) -> Projection:
    """Play a schedule and project what came of it.

    ``without``: kinds of event and laws that are left out. A trial that raises is a projection, too.
    """
    try:
        trial = play(document, target)
    except Exception as why:
        return Projection((f"raised {type(why).__name__}",), (), (str(why),))
    return Projection(
        tuple(event_line(each) for each in map(columns, trial.events) if each["kind"] not in without),
        tuple(sorted(_verdict_lines(trial, without))),
        tuple(sorted(_words(trial, without))),
    )


def event_line(values: Mapping[str, object]) -> str:
    """One event, given by its columns."""
    named = {name: _plain(name, value) for name, value in values.items() if name not in OF_THE_LINE}
    return _encode([values["t"], values.get("node"), values["kind"], named])


def _plain(name: str, value: object) -> object:
    if isinstance(value, bool):
        # A typed column may say true where the row says 1.
        return int(value)
    if name == "detail" and isinstance(value, str) and value.startswith("{"):
        return _parsed(value)
    return value


@lru_cache(maxsize=4_096)
def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _verdict_lines(trial: Trial, without: Collection[str]) -> Iterator[str]:
    for each in trial.judgements:
        if each.law not in without:
            when = [[one.t, one.message] for one in each.violations]
            yield _encode(
                [
                    FORMER.get(each.law, each.law),
                    str(each.verdict),
                    each.judged,
                    each.broken,
                    when,
                    {n: m for n, m in each.notes.items() if not n.startswith((ABSTAINED, JUDGED))},
                ]
            )


def _words(trial: Trial, without: Collection[str]) -> Iterator[str]:
    for each in trial.judgements:
        if each.law not in without:
            said = [*(one.text for one in each.violations), *filter(None, [each.doubt])]
            yield from (f"{each.law}: {text}" for text in said)
    yield from (f"skipped: {reason}" for reason in trial.skipped)
