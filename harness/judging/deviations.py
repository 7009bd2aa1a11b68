"""Known deviations: the laws that versions of a real system break, each a data file.

A file (TOML, named by its ``id``) has the affected versions, the reason, the class, the upstream report, the mutants
that model it, the signs of its violations, and a small program that shows it. A violation is recognised by its law, its
text, and circumstances: questions about the trial's history, which the system answers (``System.circumstances``). Any
other violation is a new finding and red.

:func:`sorted_out` alone decides this, for ``check``, ``chaos run``, ``judge`` and the report. The files are found
through the entry points ``pairproof.deviations``, each a package of them. A target's ``releases`` has the version of
each role. A law keeps :data:`~harness.judging.law.MAX_VIOLATIONS` of one trial; later ones count like the kept ones.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from .. import registry
from ..errors import UsageError, meant
from ..history import Event
from ..ports import Target
from ..texts import wording
from ..texts.wording import counted
from ..trials import resolve
from ..trials.resolve import Brought
from ..trials.schedule import Schedule
from ..trials.schedule_json import from_json
from . import versions
from .disturbances import STALLED
from .law import CONVENTION, STALLS, Law, Violation
from .verdict import Judgement, Verdict

KEYS = {"about": str, "reason": str, "source": str, "system": str, "node": str, "versions": list, "shows": list}
MORE = {
    "upstream": list, "models": list, "program": dict, "means": str, "only_with": dict, "avoid": str, "loses": bool,
}  # fmt: skip
FAIL, PASS = POLICIES = ("fail", "pass")
"""The policies for a run that meets one: the fact ``known_deviations``."""
CONFIGURATION = "configuration"
DIFFERS = "not the same on both"
"""A value in ``only_with``: the setting must differ between master and slave."""
SIGN = {"laws": list, "text": str, "circumstances": list}


class Sign(NamedTuple):
    laws: frozenset[str]
    text: re.Pattern[str]
    """Matches a part of the violation's text."""
    circumstances: tuple[str, ...]
    """Names of circumstances that must all hold for the violation in its trial."""


class Deviation(NamedTuple):
    id: str
    about: str
    """The wrong behaviour, in half a sentence."""
    reason: str
    source: str
    """The class and its line."""
    system: str
    node: str
    """The role of the deviating node: ``master`` or ``slave``."""
    versions: tuple[versions.Range, ...]
    """The affected ranges of versions."""
    upstream: tuple[str, ...]
    models: tuple[str, ...]
    """Mutants of the reference with the same behaviour."""
    signs: tuple[Sign, ...]
    program: Mapping[str, Any]
    """A schedule as JSON that shows it; empty if none is known."""
    means: str = ""
    """One sentence for operators."""
    only_with: Mapping[str, str] = {}
    """Settings of its node, other than the defaults, that it requires."""
    avoid: str = ""
    """Another remedy, in words."""
    loses: bool = False
    """Whether PUT_OK may be answered for messages that a crash can lose although the settings promise to keep them."""

    @property
    def laws(self) -> list[str]:
        return sorted({law for each in self.signs for law in each.laws})

    @property
    def avoided_by(self) -> str:
        """An operator's remedies; empty if none is known."""
        others = [
            f"the same {key} on both" if value == DIFFERS else f"any {key} but {value}"
            for key, value in self.only_with.items()
        ]
        return "; ".join(filter(None, (*others, self.avoid)))

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "about": self.about, "means": self.means, "loses": self.loses, "node": self.node,
            "versions": [each.text for each in self.versions], "upstream": list(self.upstream),
            "avoided_by": self.avoided_by,
        }  # fmt: skip

    def is_of(self, system: str, releases: Mapping[str, str]) -> bool:
        """Whether the running versions, by role, have it."""
        running = releases.get(self.node, "")
        return self.system == system and any(each.holds(running) for each in self.versions)

    def shows(self, law: str, violation: Violation, events: Sequence[Event]) -> bool:
        known = resolve.system(self.system).circumstances
        return any(
            law in sign.laws
            and sign.text.search(violation.text) is not None
            and all(known[each](events, violation) for each in sign.circumstances)
            for sign in self.signs
        )

    def schedule(self) -> Schedule:
        """Its program; UsageError if there is none."""
        if not self.program:
            raise UsageError(f"{self.id} has no stored program")
        return from_json(self.program)


@cache
def every() -> Mapping[str, Deviation]:
    """All registered deviations, by id; UsageError for an invalid file."""
    files = registry.files("deviations", ".toml").items()
    return {name: from_text(file.read_text(encoding="utf-8"), name) for name, file in files}


OWN_WAY = "own-way"


@cache
def own_way(system: str) -> Deviation:
    """The deviation of a target that does not claim to follow a system's conventions: it breaks laws of that kind."""
    known = {name: cast("type[Law]", registry.find("laws", name)) for name in registry.names("laws")}
    laws = frozenset(name for name, law in known.items() if law.system == system and law.kind == CONVENTION)
    about = "it does not claim to follow the system's conventions (orders, wordings, limits, pace) and has its own"
    return Deviation(OWN_WAY, about, "", "", system, "", (), (), (), (Sign(laws, re.compile(""), ()),), {})


def find(name: str) -> Deviation:
    """One by its id."""
    if name == OWN_WAY:
        return own_way("")
    if name not in every():
        raise UsageError(f"unknown deviation {name!r}{meant(name, every())}")
    return every()[name]


def running(system: str, releases: Mapping[str, str]) -> tuple[Deviation, ...]:
    """The deviations of the running versions, by role."""
    return tuple(each for each in every().values() if each.is_of(system, releases)) if releases else ()


def of(target: Target) -> tuple[Deviation, ...]:
    """The deviations of a target, and of the programs that can replace its nodes."""
    system = str(getattr(target, "system", ""))
    runs = [getattr(target, name, {}) for name in ("releases", "replacements")]
    listed = tuple(each for each in every().values() if any(each.is_of(system, found) for found in runs))
    if getattr(target, "follows_conventions", False) or not own_way(system).laws:
        return listed
    return (*listed, own_way(system))


@cache
def of_named(target: str) -> tuple[Deviation, ...]:
    """The deviations of the target with this name; none if it is not registered."""
    try:
        return of(resolve.target(target))
    except UsageError:
        return ()


class Seen:
    def __init__(self) -> None:
        self._laws: dict[str, Counter[str]] = {}
        """By id: the number of trials in which each law showed it."""
        self._searches: dict[str, Counter[str]] = {}
        self._first: dict[str, int] = {}

    def add(self, judgements: Iterable[Judgement], search: str = "", number: int = 0) -> None:
        shown = [(name, each.law) for each in judgements for name in each.deviations]
        for name in {name for name, _ in shown}:
            self._searches.setdefault(name, Counter())[search] += 1
            self._first.setdefault(name, number)
        for name, law in shown:
            self._laws.setdefault(name, Counter())[law] += 1

    def counted(self) -> list[list[Any]]:
        return [[name, dict(laws), dict(self._searches[name]), self._first[name]] for name, laws in self._laws.items()]

    def merge(self, counted: Iterable[Sequence[Any]]) -> None:
        """Add the counts of later trials from another process."""
        for name, laws, searches, first in counted:
            self._laws.setdefault(name, Counter()).update(laws)
            self._searches.setdefault(name, Counter()).update(searches)
            self._first.setdefault(name, first)

    def rows(self) -> list[dict[str, Any]]:
        """A JSON object for each: its entry, findings (laws, counted once a trial), trials, laws, searches (trials by
        search), and the number of the first trial.
        """
        return [
            find(name).to_json() | {
                "findings": laws.total(), "laws": sorted(laws), "trials": self._searches[name].total(),
                "searches": dict(self._searches[name]), "first": self._first[name],
            }
            for name, laws in sorted(self._laws.items())
        ]  # fmt: skip


def facts_of(brought: Brought | None, asked: str | None) -> dict[str, object]:
    """The facts of a run about the user's configuration and the policy for known deviations: the ``asked`` one; by
    default a run with a configuration fails, and no other.
    """
    does: dict[str, object] = {"known_deviations": asked or (PASS if brought is None else FAIL)}
    if brought is None:
        return does
    return {**does, CONFIGURATION: dict(brought.description), "configuration_remarks": list(brought.remarks)}


def met(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a run that concern an operator, those that lose messages first. Excludes deviations that the
    configuration rules out: the lab's own settings showed these.
    """
    avoided = (facts.get(CONFIGURATION) or {}).get("avoided", ())
    rows = [row for row in facts.get("deviations") or () if _has_meaning(row) and row["id"] not in avoided]
    return sorted(rows, key=lambda row: (not row.get("loses"), -row["trials"]))


def _has_meaning(row: Mapping[str, Any]) -> bool:
    # Older runs lack it.
    return isinstance(row.get("means"), str) and bool(row["means"])


def fails(facts: Mapping[str, Any]) -> bool:
    """Whether a run fails by known deviations."""
    return facts.get("known_deviations") == FAIL and bool(met(facts))


def consequence(runs: Iterable[Mapping[str, Any]]) -> str:
    """The meaning of the first met deviation, the number of its trials, and the number of other deviations."""
    listed = list(runs)
    rows = [(row, facts.get("target")) for facts in listed for row in met(facts)]
    others = len({row["id"] for row, _ in rows}) - 1
    if not rows:
        return ""
    first, _ = min(rows, key=lambda each: not each[0].get("loses"))
    trials = sum(row["trials"] for row, _ in rows if row["id"] == first["id"])
    showing = {target for row, target in rows if row["id"] == first["id"]}
    more = f", and {counted(others, 'more known deviation')}" if others else ""
    of_all = sum(facts.get("trials") or 0 for facts in listed if facts.get("target") in showing)
    means = first["means"].partition(";")[0].removesuffix(".")
    return f"{means} ({first['id']}, in {trials:,} of {counted(of_all, 'trial')}){more}"


def describe(row: Mapping[str, Any]) -> str:
    """A row of :class:`Seen` in words."""
    found, trials = row["findings"], row["trials"]
    upstream = f"; upstream: {', '.join(row['upstream'])}" if row["upstream"] else ""
    searches = [f"{wording.search(search)} {number:,}" for search, number in row.get("searches", {}).items() if search]
    by = f"; by {', '.join(searches)}, first in trial {row['first']}" if searches else ""
    what = (row.get("means") or row["about"]).removesuffix(".")
    return (
        f"known deviation: {row['id']}: {what} ({counted(found, 'finding')} in "
        f"{counted(trials, 'trial')}: {', '.join(row['laws'])}{upstream}{by})"
    )


def sorted_out(judgements: list[Judgement], events: Sequence[Event], known: Iterable[Deviation]) -> list[Judgement]:
    """The judgements on one trial, with its known deviations separated.

    If every violation of a law is recognised, its verdict is ``known-deviation``, or unknown if it also had doubts.
    Otherwise only the new violations stay. Doubts by a stall do not count if all doubted violations would be
    recognised.
    """
    listed = tuple(known)
    return [_sorted(_certain(each, events, listed), events, listed) if listed else each for each in judgements]


def _recognised(law: str, violation: Violation, events: Sequence[Event], known: tuple[Deviation, ...]) -> str | None:
    return next((each.id for each in known if each.shows(law, violation, events)), None)


def _certain(judgement: Judgement, events: Sequence[Event], known: tuple[Deviation, ...]) -> Judgement:
    doubted = judgement.doubted
    if (
        not (judgement.doubt or "").startswith(STALLED)
        or not 0 < judgement.notes.get(STALLS, 0) <= len(doubted)
        or not all(_recognised(judgement.law, each, events, known) for each in doubted)
    ):
        return judgement
    judged = judgement.judged - len(doubted)
    verdict = judgement.verdict
    if verdict is Verdict.UNKNOWN:
        verdict = Verdict.HOLDS if judged > 0 else Verdict.VACUOUS
    return judgement._replace(verdict=verdict, judged=max(0, judged), doubt=None)


def _sorted(judgement: Judgement, events: Sequence[Event], known: tuple[Deviation, ...]) -> Judgement:
    if not judgement.violations:
        return judgement
    new, counts = [], Counter[str]()
    for violation in judgement.violations:
        found = _recognised(judgement.law, violation, events, known)
        if found is None:
            new.append(violation)
        else:
            counts[found] += 1
    if new:
        return judgement._replace(
            broken=judgement.broken - counts.total(), violations=tuple(new), deviations=dict(counts)
        )
    verdict = Verdict.UNKNOWN if judgement.doubt else Verdict.DEVIATES
    return judgement._replace(verdict=verdict, deviations=dict(counts))


def from_text(text: str, name: str) -> Deviation:
    """Read one file; UsageError, in one line with its name, for any error."""
    try:
        read = tomllib.loads(text)
        _check(read, KEYS, {**KEYS, **MORE}, "a deviation")
        return Deviation(
            name, read["about"], read["reason"], read["source"], read["system"], read["node"],
            tuple(map(versions.parse, _texts(read, "versions"))), _texts(read, "upstream"), _texts(read, "models"),
            tuple(_sign(each, read["system"]) for each in read["shows"]), read.get("program", {}),
            read.get("means", ""), _settings(read.get("only_with", {})), read.get("avoid", ""),
            read.get("loses", False),
        )  # fmt: skip
    except (tomllib.TOMLDecodeError, UsageError, re.error) as why:
        raise UsageError(f"deviation {name}: {why}") from None


def _sign(read: object, system: str) -> Sign:
    if not isinstance(read, dict):
        raise UsageError("shows is a list of tables, each [[shows]]")
    _check(read, ("laws", "text"), SIGN, "shows")
    for law in _texts(read, "laws"):
        if law not in registry.names("laws"):
            raise UsageError(f"unknown law {law!r}; pairproof laws lists them")
    circumstances, known = _texts(read, "circumstances"), resolve.system(system).circumstances
    for each in circumstances:
        if each not in known:
            raise UsageError(f"unknown circumstance {each!r}; valid: {', '.join(known) or 'none'}")
    return Sign(frozenset(read["laws"]), re.compile(read["text"]), circumstances)


def _check(read: Mapping[str, object], required: Iterable[str], valid: Mapping[str, type], what: str) -> None:
    for key in required:
        if not read.get(key):
            raise UsageError(f"{what} needs {key}")
    for key, value in read.items():
        if key not in valid:
            raise UsageError(f"{what} has no {key!r}; valid: {', '.join(valid)}")
        if not isinstance(value, valid[key]):
            raise UsageError(f"{key} must be of type {valid[key].__name__}, not {value!r}")


def _settings(read: Mapping[str, object]) -> Mapping[str, str]:
    if not all(isinstance(each, str) for each in read.values()):
        raise UsageError(f"only_with has texts for values, not {read!r}")
    return cast("Mapping[str, str]", read)


def _texts(read: Mapping[str, object], key: str) -> tuple[str, ...]:
    found = cast("list[object]", read.get(key, []))
    if not all(isinstance(each, str) for each in found):
        raise UsageError(f"{key} must be a list of texts, not {found!r}")
    return tuple(map(str, found))
