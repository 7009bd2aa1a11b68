"""The end of a run on a terminal: laws that need attention, counts by group of laws, untested parts, three last lines.

The last lines are the verdict, the command that shows the first finding again (or repeats the run), and the next
command. By default only laws are named that are violated, unknown, known to deviate, or that lack the events that the
run demands. ``--summary full`` names all laws and the trials of each search.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..exploration import evidence
from ..judging import deviations
from ..judging.law_groups import grouped
from ..judging.verdict import Verdict, conclusion
from ..ports import Lab
from ..runs.writer import replay_line
from ..system import System
from ..texts import invocation
from ..texts.plain import without_secrets
from ..texts.wording import counted
from ..trials import resolve
from . import suite
from .findings import Findings
from .output import AMBER, COLOURS, say, table

if TYPE_CHECKING:
    from ..exploration.summary import Summary
    from ..judging.verdict import Standing

ORDER = ("violated", "unknown", "known-deviation", "vacuous", "holds")
"""The order of verdicts in tables and sentences; all others come last."""
LOOK = ("violated", "unknown", "known-deviation")
"""Verdicts whose laws a compact summary names."""
MAX_LINES = 3
WORDS = {"known-deviation": "known to deviate", "not-observable": "not observable", "not-applicable": "not applicable"}


class Line(NamedTuple):
    text: str
    style: str = ""


def rank(verdict: str) -> int:
    """The position of a law with this verdict in a table."""
    return ORDER.index(verdict) if verdict in ORDER else len(ORDER)


def of_laws(verdicts: Iterable[str]) -> str:
    """``1 of 118 laws violated, 113 hold, 4 not observable``."""
    counts = Counter(verdicts)
    ordered = sorted(counts.items(), key=lambda each: (each[0] != "violated", each[0] != "holds", rank(each[0])))
    if not ordered:
        return "no law was asked"
    (first, number), *others = ordered
    total = counts.total()
    parts = [f"{number} of {counted(total, 'law')} {_word(first, number)}"]
    return ", ".join(parts + [f"{many} {_word(each, many)}" for each, many in others])


def _word(verdict: str, number: int) -> str:
    return ("holds" if number == 1 else "hold") if verdict == "holds" else WORDS.get(verdict, verdict)


def by_group(verdicts: Mapping[str, str]) -> list[str]:
    """``acknowledgement: 11 of 11 hold``, a line for each group of laws."""
    found = []
    for title, laws in grouped(verdicts):
        counts = Counter(verdicts[law] for law in laws)
        held = counts.pop("holds", 0)
        rest = [
            f"{number} {_word(each, number)}" for each, number in sorted(counts.items(), key=lambda at: rank(at[0]))
        ]
        found.append(", ".join([f"{title.lower()}: {held} of {len(laws)} {_word('holds', len(laws))}", *rest]))
    return found


def say_run(
    facts: Mapping[str, object], lab: Lab, found: Summary, folder: Path, standings: Mapping[str, Standing], full: bool,
    findings: str = "",
) -> None:  # fmt: skip
    """Print a run's laws, its searches, and what they did not test. ``findings``: a sentence about the findings."""
    _say_laws(found, standings, full)
    for line in by_group({law: str(each.verdict) for law, each in standings.items()}):
        say(line)
    basis = evidence.of(facts, found.by_origin, found.faults)
    if basis.untried:
        say(basis.untried, AMBER)
    for lines in (found.unjudged(), found.abstentions(), found.refusals()):
        for line in lines if full else lines[:MAX_LINES]:
            say(line, AMBER)
        if not full and len(lines) > MAX_LINES:
            say(f"... and {len(lines) - MAX_LINES} more; --summary full names them", AMBER)
    if findings:
        say(findings, COLOURS["violated"])
    say(found.played())
    if full:
        if found.of_corpus():
            say(found.of_corpus())
        if found.coverage.counts:
            say(f"coverage: {found.coverage.summary(resolve.drawn(lab))}")
        say(f"{counted(found.events, 'event')}, {found.rate()}")
    elif alone := sum(each.corpus_only for each in standings.values()):
        say(f"{counted(alone, 'law')} judged by the fixed corpus only; --summary full names all laws")
    say(f"profile {facts['profile']}, seed {facts['seed']}, recorded in {folder}")


def _say_laws(found: Summary, standings: Mapping[str, Standing], full: bool) -> None:
    rows = [
        (law, str(each.verdict), f"{found.exercised.get(law, 0):,}", each.remark)
        for law, each in sorted(standings.items(), key=lambda each: (rank(str(each[1].verdict)), each[0]))
        if full or str(each.verdict) in LOOK or each.lacking
    ]
    if rows:
        table("", ("law", "verdict", "judged in trials", ""), rows)


def last_lines(
    facts: Mapping[str, object], found: Summary, standings: Mapping[str, Standing], missed: Sequence[str],
    folder: Path, findings: Findings, system: System, following: str = "report",
) -> list[Line]:  # fmt: skip
    """The verdict, the command that repeats it, and the next command: ``following``, unless a finding has an
    autopsy.
    """
    state = facts.get("state")
    verdict, known = _with_cases(conclusion(standings.values(), missed, deviations.fails(facts)), facts)
    basis = evidence.of(facts, found.by_origin, found.faults)
    ended = "" if state == "complete" else f"; {state} before its end"
    laws = of_laws(str(each.verdict) for each in standings.values())
    cost = known_cost(facts)
    line = f"{facts['target']} in {facts['lab']}: {verdict}{known}{cost}; {laws}{ended}"
    head = evidence.headline(line, verdict, {folder.name: basis})
    style = AMBER if head.amber or ((cost or ended) and verdict == "holds") else COLOURS.get(str(verdict), "")
    return three(Line(head.text, style), facts, folder, findings.first, system, following)


def _with_cases(verdict: str, facts: Mapping[str, object]) -> tuple[str, str]:
    """The verdict including the regression cases, and ``; `` with the first cases that are not fixed, or nothing."""
    cases = facts.get("cases")
    amiss = [each for each in cases if each["verdict"] != suite.FIXED] if isinstance(cases, list) else []
    if amiss and verdict != Verdict.VIOLATED:
        verdict = suite.MEANINGS[min((each["verdict"] for each in amiss), key=list(suite.MEANINGS).index)].run
    return verdict, "".join(f"; {each['case']} is {each['verdict']}" for each in amiss[:MAX_LINES])


def three(
    head: Line, facts: Mapping[str, object], folder: Path, first: Path | None, system: System, following: str = "report"
) -> list[Line]:
    """The last lines of a recorded run; ``head`` has its verdict, ``first`` is its first finding."""
    if first is None:
        return [head, Line(f"again: {_again(facts)}"), Line(_next(following, folder))]
    then = _next("autopsy", first) if system.has_autopsy else _next(following, folder)
    return [head, Line(f"replay: {replay_line(first, str(facts['target']))}"), Line(then)]


def known(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Known bugs and deviations of a run, whether they fail it, and remarks on the configuration, for ``--json``."""
    return {
        "configuration_remarks": facts.get("configuration_remarks", []),
        "deviations": facts["deviations"],
        "known_deviations": facts["known_deviations"],
        "fails_by_deviations": deviations.fails(facts),
        "consequence": deviations.consequence([facts]),
    }


def known_cost(facts: Mapping[str, object]) -> str:
    """``; `` with the known deviations that the run met, and the option that accepts them if they fail the run; or
    nothing.
    """
    how = f"--known-deviations {deviations.PASS} accepts known deviations" if deviations.fails(facts) else ""
    return "".join(f"; {each}" for each in (deviations.consequence([facts]), how) if each)


def _next(command: str, path: Path) -> str:
    return f"next: {invocation.line(command, path)}"


def _again(facts: Mapping[str, object]) -> str:
    command = facts.get("command")
    typed = [str(each) for each in command[1:]] if isinstance(command, list) else []
    if not any(each.partition("=")[0] in ("--seed", "--resume") for each in typed):
        typed += ["--seed", str(facts["seed"])]
    return without_secrets(f"{invocation.program()} {shlex.join(typed)}")


def nothing_judged(facts: Mapping[str, object], reason: str) -> Line:
    """The one line of a run that ended before its first trial."""
    return Line(f"{facts['target']} in {facts['lab']}: {reason} before the first trial; nothing was judged", AMBER)
