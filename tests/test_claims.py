"""The claims page: every claim is there once, and whatever an entry names exists.

The page's rows, joined with those of ``docs/claims.tsv``, are checked by :func:`complaints`, a function of text; each
of its checks is shown to fail on a doctored page. Beside names and counts: a held claim's law has something to judge in
what exercises it. Prose is not checked.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from pairproof.chaos.scenarios import library
from pairproof.chaos.scenarios.play import Plan, play
from pairproof.harness import registry
from pairproof.harness.exploration import explore, profiles
from pairproof.harness.ports.nodes import SCARCE
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.trial import Trial

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "claims.md"
DATA = PAGE.with_suffix(".tsv")
"""Of each claim: those that say the opposite, the modules, the laws, and what exercises it."""
LAST_OF_SECTION = (11, 29, 42, 49, 59, 75, 96, 106, 125, 149, 164, 184, 195, 206)
"""The number of each section's last claim."""
COLUMNS = ("id", "claim", "conflicts", "where", "law", "exercised", "verdict")
VERDICTS = ("held", "different", "not so", "open")
VERDICT = re.compile(r"(held|different|open|not so: (?:4\.9\.7|5\.5\.0|4\.9\.7, 5\.5\.0))(?:$|[:;.,] +(.*))")
BY_UNIT_TEST = "unit test"
"""Stands for a law where a claim is about an inside that no history shows."""
FIGURES = ("tests/bench/", "tests/control/")
"""Programs that measure: they are named without a function."""
MIN_REASON = 20
SAMPLE = {"sweep": 100, "truncation": 60, "swarm": 80, "cluster": 50}
"""Schedules of each search that a law is looked for in."""


class Row(NamedTuple):
    """One claim's entry, as it is written."""

    id: str
    claim: str
    conflicts: str
    where: str
    law: str
    exercised: str
    verdict: str

    @property
    def word(self) -> str:
        """``held``, ``different``, ``not so`` or ``open``; empty if it is another one."""
        match = VERDICT.match(self.verdict)
        return match[1].partition(":")[0] if match else ""

    @property
    def reason(self) -> str:
        match = VERDICT.match(self.verdict)
        return (match[2] or "") if match else ""

    @property
    def scenarios(self) -> list[str]:
        return [each.removeprefix("scenario:") for each in quoted(self.exercised) if each.startswith("scenario:")]

    @property
    def searches(self) -> list[str]:
        return [each.removeprefix("search:") for each in quoted(self.exercised) if each.startswith("search:")]

    @property
    def tests(self) -> list[str]:
        return [each for each in quoted(self.exercised) if not each.startswith(("scenario:", "search:"))]

    @property
    def laws(self) -> list[str]:
        return quoted(self.law)


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]*)`", cell)


def cells(line: str) -> list[str]:
    return [each.strip() for each in line.strip().strip("|").split("|")]


def rows(page: str) -> list[Row]:
    lines = [cells(line) for line in page.splitlines() if line.startswith("| C-")]
    return [Row(*line) for line in lines if len(line) == len(COLUMNS)]


def complaints(page: str) -> list[str]:
    """What is wrong with a page, a sentence each; empty for a good one."""
    found = rows(page)
    return [*about_the_whole(page, found), *(what for row in found for what in about_the_row(row, found))]


def about_the_whole(page: str, found: list[Row]) -> Iterator[str]:
    for line in page.splitlines():
        if line.startswith("| C-") and len(cells(line)) != len(COLUMNS):
            yield f"not {len(COLUMNS)} cells: {line[:40]}"
    numbers = [int(number) for number in re.findall(r"^## (\d+)\. ", page, re.MULTILINE)]
    if numbers == [*range(1, len(LAST_OF_SECTION) + 1)]:
        yield from wrong_ids(page)
    else:
        yield f"sections {numbers}: they must be numbered from 1 to {len(LAST_OF_SECTION)}"
    if page.count("| " + " | ".join(COLUMNS) + " |") != len(numbers):
        yield "each section has one table with the columns " + ", ".join(COLUMNS)
    counted = Counter(row.word for row in found)
    for verdict in VERDICTS:
        if f"| {verdict} | {counted[verdict]} |" not in page:
            yield f"the head must count: | {verdict} | {counted[verdict]} |"


def wrong_ids(page: str) -> Iterator[str]:
    texts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    firsts = (1, *(last + 1 for last in LAST_OF_SECTION))
    for number, text in enumerate(texts, 1):
        wanted = [f"C-{each:02}" for each in range(firsts[number - 1], firsts[number])]
        have = [row.id for row in rows(text)]
        if have != wanted:
            odd = [*(set(wanted) - set(have)), *(set(have) - set(wanted))] or "their order, or twice the same"
            yield f"section {number} must have {wanted[0]} to {wanted[-1]}, each once, in order: {odd}"


def about_the_row(row: Row, found: list[Row]) -> Iterator[str]:
    named = {
        "law": set(row.laws) - known_laws(),
        "scenario": set(row.scenarios) - set(library.names()),
        "search": set(row.searches) - set(profiles.PROFILES[profiles.QUICK].shares),
        "module": {each for each in quoted(row.where) if not (ROOT / each).is_file()},
        "test": {each for each in row.tests if not is_test(each)},
        "decision": {each for each in decisions(row.verdict) if not is_decision(each)},
        "claim": contradicting(row) - {each.id for each in found if each.id != row.id},
    }
    for what, unknown in named.items():
        if unknown:
            yield f"{row.id}: unknown {what}: {', '.join(sorted(unknown))}"
    yield from about_the_verdict(row)
    if row.word == "held":
        for other in found:
            if other.word == "held" and (other.id in contradicting(row) or row.id in contradicting(other)):
                yield f"{row.id} and {other.id} contradict each other, and both are held"


def about_the_verdict(row: Row) -> Iterator[str]:
    if not row.word:
        yield f"{row.id}: the verdict {row.verdict[:30]!r} is not held, different, not so: 4.9.7, 5.5.0 or open"
    elif row.word != "held" and len(row.reason) < MIN_REASON:
        yield f"{row.id}: {row.word} needs its reason or evidence in the same cell"
    elif row.word == "different" and not decisions(row.verdict):
        yield f"{row.id}: different on purpose needs a decision's number"
    if row.word == "held" and not (row.where and row.law and row.exercised):
        yield f"{row.id}: held needs a module, a law, and what exercises it"
    if row.law == BY_UNIT_TEST:
        if not row.tests:
            yield f"{row.id}: held by a unit test, and no test is named"
    elif bool(row.law) != bool(row.laws):
        yield f"{row.id}: a law is named in backticks: {row.law}"
    yield from unjudged(row)


def unjudged(row: Row) -> Iterator[str]:
    """A scenario that restricts its laws must judge a law that stands beside it."""
    for name in set(row.scenarios) & set(library.names()):
        chosen = library.shipped(name).laws
        if row.laws and chosen and not set(chosen) & set(row.laws):
            yield f"{row.id}: {name} does not judge {', '.join(row.laws)}"


@cache
def known_laws() -> set[str]:
    return set(registry.names("laws"))


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def is_test(named: str) -> bool:
    """``tests/path.py::function``, or a program that measures."""
    path, colons, function = named.partition("::")
    if not path.startswith("tests/") or not (ROOT / path).is_file():
        return False
    return function in functions(path) if colons else path.startswith(FIGURES)


def decisions(text: str) -> set[str]:
    listed: Iterable[str] = re.findall(r"decisions? (\d+(?:(?:, | and )\d+)*)", text)
    return {number for each in listed for number in re.findall(r"\d+", each)}


def is_decision(number: str) -> bool:
    return any((ROOT / "docs" / "decisions").glob(f"{int(number):04}-*.md"))


def contradicting(row: Row) -> set[str]:
    return set(re.findall(r"C-\d+", row.conflicts))


# The page.


def joined(page: str, data: str) -> str:
    """The page with the columns of the data where :data:`COLUMNS` has them."""
    more = {each: rest for each, *rest in (line.split("\t") for line in data.splitlines())}
    lines = []
    for line in page.splitlines():
        own = cells(line)
        if own[0] in more and len(own) == len(COLUMNS) - 4:
            conflicts, where, law, by = more[own[0]] if own[0] == "id" else more.pop(own[0])
            if own[0] != "id":
                where, by = (" ".join(f"`{each}`" for each in of.split()) for of in (where, by))
                law = law if law == BY_UNIT_TEST else " ".join(f"`{each}`" for each in law.split())
            line = "| " + " | ".join((own[0], own[1], conflicts, where, law, by, own[2])) + " |"
        lines.append(line)
    without = [each for each in more if each != "id"]
    assert not without, f"rows of claims.tsv without a claim: {', '.join(without)}"
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def page() -> str:
    return joined(PAGE.read_text(encoding="utf-8"), DATA.read_text(encoding="utf-8"))


def test_every_claim_has_an_entry_and_what_it_names_exists(page: str) -> None:
    assert complaints(page) == []


def test_data_without_a_claim_is_noticed() -> None:
    with pytest.raises(AssertionError, match="without a claim: C-999"):
        joined(PAGE.read_text(encoding="utf-8"), "id\tconflicts\twhere\tlaw\texercised\nC-999\t\t\t\t\n")


def test_there_are_claims_of_every_verdict_and_most_name_a_law(page: str) -> None:
    found = rows(page)
    assert {row.word for row in found} >= {"held", "different", "not so"}
    assert sum(bool(row.laws) for row in found) > len(found) / 2


class Played:
    """Trials of a scenario or a search, played as long as a row still lacks something, and what laws judged in them."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._trials = iter(trials)
        self.judged: set[str] = set()

    def more(self) -> bool:
        """Play one more; False if there is none."""
        trial = next(self._trials, None)
        if trial is not None:
            self.judged |= {each.law for each in trial.judgements if each.judged}
        return trial is not None


@cache
def of_scenario(name: str) -> Played:
    """All cases of a scenario, in the simulation."""
    lab, target, scenario = resolve.lab("sim"), resolve.target("reference"), library.shipped(name)
    trials = Plan("sim", "reference", "claims", repeat=1).trials(scenario)
    return Played(play(scenario, case, lab, target, seed).trial for case, seed in trials)


@cache
def of_search(name: str) -> Played:
    """A sample of what a search executes."""
    lab, target = resolve.lab("sim"), resolve.target("reference")
    system, number = resolve.system_of(target), SAMPLE[name]
    if (listed := explore.enumerated(system).get(name)) is not None:
        every = listed(lab, target, "claims")
        schedules = iter(every[:: max(1, len(every) // number)])
    else:
        schedules = (explore.seeded(system)[name]("claims", each, lab) for each in range(number))
    return Played(run_trial(lab, target, each) for each in schedules)


def needs_containers(scenario: str) -> bool:
    steps = [step for case in library.shipped(scenario).cases for step in case.steps]
    return any(resolve.faults()[str(step.op.args["name"])].needs in SCARCE for step in steps if step.op.do == "fault")


def idle(page: str) -> list[str]:
    """Laws of held claims that judge nothing in what exercises them, and what exercises no law of its claim.

    Not looked at: what needs containers, the search whose schedules only Hypothesis knows, and rows with tests alone.
    """
    found = []
    for row in [each for each in rows(page) if each.word == "held" and each.laws]:
        done = {f"scenario {each}": of_scenario(each) for each in row.scenarios if not needs_containers(each)}
        done |= {f"search {each}": of_search(each) for each in row.searches if each in SAMPLE}
        lacking = missing(row, done) if done else []
        while lacking and sum(each.more() for each in done.values()):
            lacking = missing(row, done)
        found += lacking
    return found


def missing(row: Row, done: Mapping[str, Played]) -> list[str]:
    """What a row still lacks in what was played so far."""
    laws = set[str]().union(*(each.judged for each in done.values()))
    silent = [f"{row.id}: {law} judges nothing in {', '.join(done)}" for law in row.laws if law not in laws]
    return silent + [f"{row.id}: {name} serves no law" for name, of in done.items() if not of.judged & set(row.laws)]


@pytest.mark.slow
def test_a_held_claim_s_law_has_something_to_judge_in_what_exercises_the_claim(page: str) -> None:
    assert idle(page) == []


# Each check can fail.


def first(page: str, word: str) -> Row:
    return next(row for row in rows(page) if row.word == word and row.where and row.laws and row.scenarios)


def with_cells(page: str, row: Row, **changed: str) -> str:
    """The page with other cells in one row."""
    line = next(each for each in page.splitlines() if each.startswith(f"| {row.id} |"))
    return page.replace(line, "| " + " | ".join(row._replace(**changed)) + " |")


def test_a_missing_repeated_or_misplaced_claim_is_noticed(page: str) -> None:
    lines = page.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("| C-03 |"))
    for doctored in (
        lines[:at] + lines[at + 1 :],
        [*lines[:at], lines[at], *lines[at:]],
        [*lines[: at - 1], lines[at], lines[at - 1], *lines[at + 1 :]],
    ):
        assert any("section 1 must have C-01 to C-11" in each for each in complaints("\n".join(doctored)))


def test_a_section_that_is_missing_or_superfluous_is_noticed(page: str) -> None:
    for doctored in (page.partition("\n## 14. ")[0], page + "\n## 15. More\n", page.replace("\n## 3. ", "\n## 4. ")):
        assert any(each.startswith("sections") for each in complaints(doctored))


@pytest.mark.parametrize(
    ("cell", "value", "what"),
    [
        ("law", "`ack-imagined`", "unknown law: ack-imagined"),
        ("exercised", "`scenario:imagined`", "unknown scenario: imagined"),
        ("exercised", "`search:luck`", "unknown search: luck"),
        ("exercised", "`tests/test_claims.py::test_imagined`", "unknown test: tests/test_claims.py::test_imagined"),
        ("exercised", "`tests/test_imagined.py::test_a`", "unknown test: tests/test_imagined.py::test_a"),
        ("exercised", "`tests/test_claims.py`", "unknown test: tests/test_claims.py"),
        ("where", "`reference/core/removed.py`", "unknown module: reference/core/removed.py"),
        ("conflicts", "C-999", "unknown claim: C-999"),
        ("law", "", "held needs a module, a law"),
        ("where", "", "held needs a module, a law"),
        ("exercised", "", "held needs a module, a law"),
        ("law", "ack-replicated", "a law is named in backticks"),
        ("law", BY_UNIT_TEST, "held by a unit test, and no test is named"),
        ("verdict", "kept", "the verdict 'kept' is not held"),
        ("verdict", "not so: 4.9.8: it was measured, and is otherwise", "is not held, different"),
        ("verdict", "not so: 4.9.7", "not so needs its reason or evidence"),
        ("verdict", "open", "open needs its reason"),
        ("verdict", "different: it is nicer in another way", "needs a decision's number"),
        ("verdict", "different: it is nicer in another way, decision 9999", "unknown decision: 9999"),
    ],
)
def test_a_doctored_entry_is_noticed(page: str, cell: str, value: str, what: str) -> None:
    row = first(page, "held")._replace(exercised="`scenario:late-slave`")
    assert complaints(with_cells(page, row)) == []
    assert any(what in each for each in complaints(with_cells(page, row, **{cell: value})))


def test_a_count_that_is_wrong_is_noticed(page: str) -> None:
    held = sum(row.word == "held" for row in rows(page))
    doctored = page.replace(f"| held | {held} |", f"| held | {held + 1} |")
    assert complaints(doctored) == [f"the head must count: | held | {held} |"]


def test_two_claims_that_contradict_each_other_are_not_both_held(page: str) -> None:
    one, other = [row for row in rows(page) if row.word == "held"][:2]
    doctored = with_cells(page, one, conflicts=other.id)
    assert any(f"{one.id} and {other.id} contradict" in each for each in complaints(doctored))


def test_a_row_that_lacks_a_cell_is_noticed(page: str) -> None:
    row = first(page, "held")
    line = next(each for each in page.splitlines() if each.startswith(f"| {row.id} |"))
    assert any(each.startswith("not 7 cells") for each in complaints(page.replace(line, line.rpartition(" | ")[0])))


def test_a_scenario_that_judges_other_laws_only_is_noticed(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = first(page, "held")
    other = next(law for law in sorted(known_laws()) if law not in row.laws)
    narrow = library.shipped(row.scenarios[0])._replace(laws=(other,))
    monkeypatch.setattr(library, "shipped", lambda name: narrow)
    assert any(f"{row.id}: {row.scenarios[0]} does not judge" in each for each in complaints(page))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "by"), [("read-split", "scenario clock-jumps"), ("meta-schedule", "search sweep"), ("ack-flushed", "")]
)
def test_a_law_with_nothing_to_judge_in_what_stands_beside_it_is_noticed(page: str, law: str, by: str) -> None:
    row = first(page, "held")
    exercised = f"`{by.replace(' ', ':')}`" if by else "`scenario:master-power-sync-flush`"
    doctored = with_cells(page, row, law=f"`{law}`", exercised=exercised)
    wanted = [f"{row.id}: {law} judges nothing in {by}", f"{row.id}: {by} serves no law"] if by else []
    assert [each for each in idle(doctored) if each.startswith(row.id)] == wanted
