"""Compares two runs by cause and by law: worse, better or the same, beyond chance.

A bug may show in every tenth trial of one search and in none of another, so the trials of each search are compared with
those of the same search. Without a change, the violating trials of a search would be distributed over the two runs like
balls drawn from an urn (hypergeometric), and their sum over the searches has a known distribution: the test is exact,
and conditional on the observed numbers. The threshold is corrected for the number of laws (Holm), so that at most one
of a hundred comparisons of equal runs reports a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import erfc, exp, lgamma, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from ..harness.exploration.ratio import wilson
from ..harness.runs.schema import Row
from ..harness.texts.wording import counted
from .headline import short

if TYPE_CHECKING:
    from .model import Report


MAX_NAMED = 3
CHANCE = 0.01
"""The probability that a comparison of two equal runs reports a difference in any law."""
EXACT = 500
"""Violating trials of a law up to which the distribution is computed; beyond, it is nearly normal."""

NEW, MORE, FIXED, FEWER, SAME, NONE = "new", "more", "fixed", "fewer", "as often", "in neither"
ONLY_AFTER, ONLY_BEFORE = "only after", "only before"
WORDS = {
    NEW: "violated now, and would have shown before",
    MORE: "violated in more of the trials",
    FIXED: "violated before, and would show now",
    FEWER: "violated in fewer of the trials",
    ONLY_AFTER: "violated now only, in so few trials that chance may have hidden it before",
    ONLY_BEFORE: "violated before only, in so few trials that chance may hide it now",
    SAME: "violated in about as many of the trials",
    NONE: "violated in neither",
}
OF_CAUSES = {
    NEW: "new, and would have shown before",
    MORE: "seen in more of the trials",
    FIXED: "gone, and would show now",
    FEWER: "seen in fewer of the trials",
    ONLY_AFTER: "new, in so few trials that chance may have hidden it before",
    ONLY_BEFORE: "gone, in so few trials that chance may hide it now",
    SAME: "seen as often",
}
WORSE, BETTER = (NEW, MORE), (FIXED, FEWER)


class Counted(NamedTuple):
    """One search: the trials of each run that a law could judge, and the violating ones."""

    before: int
    after: int
    violating_before: int
    violating_after: int


def compare(rows: Iterable[Row], before: str, after: str, findings: Sequence[Row] = ()) -> list[Row]:
    """A row for each law that both runs judged. ``rows``: run, law, origin, trials, violated; ``before`` and ``after``
    are runs, ``findings`` theirs, from a report. Columns: law, change, and for either run the trials, the violating
    ones, their percentage and its 95 % interval, the executions of its findings, and how many showed it; ``p``: the
    probability of such a difference without a change, over all laws; ``flaky``: a finding showed in some of its
    executions only.
    """
    found: dict[str, dict[str, dict[str, tuple[int, int]]]] = {}
    for row in rows:
        found.setdefault(row["law"], {}).setdefault(row["origin"], {})[row["run"]] = (row["trials"], row["violated"])
    counts = []
    for law, origins in sorted(found.items()):
        strata = [
            Counted(first[0], second[0], first[1], second[1])
            for each in origins.values()
            if (first := each.get(before)) and (second := each.get(after))
        ]
        if strata:
            counts.append((law, strata, chance(strata)))
    shared = holm([p for _, _, p in counts])
    replayed = {side: _replayed(findings, run) for side, run in (("before", before), ("after", after))}
    return [
        _row(law, strata, p) | _replay_counts({side: each.get(law, []) for side, each in replayed.items()})
        for (law, strata, _), p in zip(counts, shared, strict=True)
    ]


def _replayed(findings: Iterable[Row], run: str) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for row in findings:
        if row["run"] == run and row["replay_executed"]:
            found.setdefault(row["law"], []).append((row["replay_executed"], row["replay_showed"]))
    return found


def _replay_counts(sides: Mapping[str, Sequence[tuple[int, int]]]) -> Row:
    counts: Row = {"flaky": any(0 < showed < executed for each in sides.values() for executed, showed in each)}
    for side, each in sides.items():
        counts |= {f"{side}_executed": sum(row[0] for row in each), f"{side}_showed": sum(row[1] for row in each)}
    return counts


def _row(law: str, strata: Sequence[Counted], p: float) -> Row:
    sums = Counted(*map(sum, zip(*strata, strict=True)))
    return {
        "law": law, "change": _change(strata, sums, p), "p": p, **_share("before", sums.violating_before, sums.before),
        **_share("after", sums.violating_after, sums.after),
    }  # fmt: skip


def _share(name: str, violating: int, trials: int) -> Row:
    low, high = wilson(violating, trials)
    counts = {"trials": trials, "violating": violating, "percent": 100 * violating / trials, "low": low, "high": high}
    return {f"{name}_{each}": value for each, value in counts.items()}


def _change(strata: Sequence[Counted], sums: Counted, p: float) -> str:
    if not sums.violating_before + sums.violating_after:
        return NONE
    if p > CHANCE:
        if not sums.violating_before:
            return ONLY_AFTER
        return SAME if sums.violating_after else ONLY_BEFORE
    if sums.violating_after > sum(map(expected, strata)):
        return MORE if sums.violating_before else NEW
    return FEWER if sums.violating_after else FIXED


def expected(each: Counted) -> float:
    """Expected violating trials of the second run without a change."""
    return (each.violating_before + each.violating_after) * each.after / (each.before + each.after)


def chance(strata: Sequence[Counted]) -> float:
    """The two-sided probability that the second run's violating trials are as extreme as observed."""
    drawn = [each for each in strata if each.violating_before + each.violating_after]
    if not drawn:
        return 1.0
    seen = sum(each.violating_after for each in drawn)
    if sum(each.violating_before + each.violating_after for each in drawn) > EXACT:
        mean, spread = sum(map(expected, drawn)), sqrt(sum(map(_variance, drawn)))
        # Continuity correction: counts are whole.
        return erfc(max(0.0, abs(seen - mean) - 0.5) / spread / sqrt(2)) if spread else 1.0
    sums = [1.0]
    for each in drawn:
        sums = _added(sums, _drawn(each))
    return min(1.0, 2 * min(sum(sums[: seen + 1]), sum(sums[seen:])))


def _variance(each: Counted) -> float:
    of, violating = each.before + each.after, each.violating_before + each.violating_after
    if of == 1:
        return 0.0
    return violating * (each.after / of) * (each.before / of) * (of - violating) / (of - 1)


def _drawn(each: Counted) -> list[float]:
    """By number, the probability that so many of the violating trials fall on the second run."""
    violating = each.violating_before + each.violating_after
    whole = _choose(each.before + each.after, each.after)
    return [
        exp(_choose(violating, number) + _choose(each.before + each.after - violating, each.after - number) - whole)
        if 0 <= each.after - number <= each.before + each.after - violating
        else 0.0
        for number in range(violating + 1)
    ]


def _choose(of: int, number: int) -> float:
    return lgamma(of + 1) - lgamma(number + 1) - lgamma(of - number + 1)


def _added(one: Sequence[float], other: Sequence[float]) -> list[float]:
    found = [0.0] * (len(one) + len(other) - 1)
    for at, first in enumerate(one):
        for beside, second in enumerate(other):
            found[at + beside] += first * second
    return found


def holm(chances: Sequence[float]) -> list[float]:
    """The p-values, corrected by Holm for all of them together."""
    found, worst = [0.0] * len(chances), 0.0
    for rank, at in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        worst = max(worst, min(1.0, chances[at] * (len(chances) - rank)))
        found[at] = worst
    return found


def comparison(rows: Iterable[Row], earlier: Report, later: Report) -> Row:
    """The comparison of two reports of a run each. ``word``: worse, better or same, see :func:`word`; ``told``: the
    same in a sentence that names causes; ``causes``: cause, text, laws, change of each; ``laws``: of :func:`compare`;
    ``sides``: the facts of both runs.
    """
    before, after = earlier.runs[0], later.runs[0]
    laws = compare(rows, before["run"], after["run"], [*earlier.findings, *later.findings])
    causes = by_cause(laws, earlier, later)
    first = word([*causes, *(row for row in laws if row["change"] in (*WORSE, *BETTER))])
    return {
        "before": before["run"], "after": after["run"], "word": first, "told": f"{first}: {described(causes, laws)}",
        "causes": causes, "laws": laws, "sides": {"before": before, "after": after},
    }  # fmt: skip


def by_cause(laws: Iterable[Row], earlier: Report, later: Report) -> list[Row]:
    """The change of each cause of either run, in the order of :data:`WORDS`. A cause changed if one of its laws did."""
    change_of = {row["law"]: row["change"] for row in laws}
    then, now = _causes(earlier), _causes(later)
    found = []
    for cause in {**then, **now}:
        row = now.get(cause) or then[cause]
        changes = {change_of.get(law, "") for law in row["laws"]}
        worse, better = not changes.isdisjoint(WORSE), not changes.isdisjoint(BETTER)
        if cause not in then:
            change = NEW if worse else ONLY_AFTER
        elif cause not in now:
            change = FIXED if better else ONLY_BEFORE
        else:
            change = MORE if worse else FEWER if better else SAME
        found.append(row | {"change": change})
    return sorted(found, key=lambda row: list(WORDS).index(row["change"]))


def _causes(report: Report) -> dict[str, Row]:
    """By the first broken law: cause, text, laws and number of the clearest finding."""
    texts = {row["number"]: row["text"] for row in report.findings}
    return {
        each["cause"] or each["laws"][0]: {
            "cause": each["cause"], "laws": each["laws"], "first": each["first"], "text": texts[each["first"]],
        }
        for each in report.causes
    }  # fmt: skip


def word(rows: Iterable[Mapping[str, Any]]) -> str:
    """``Worse`` if anything is, ``Better`` if anything is and nothing worse, or ``Same``; with ``perhaps`` where chance
    may explain it.
    """
    changes = {row["change"] for row in rows}
    for label, known in (("Worse", WORSE), ("Worse, perhaps", (ONLY_AFTER,)), ("Better", BETTER),
                        ("Better, perhaps", (ONLY_BEFORE,))):  # fmt: skip
        if not changes.isdisjoint(known):
            return label
    return "Same"


def described(causes: Sequence[Row], laws: Sequence[Row]) -> str:
    """The changes, as the end of a sentence: causes, and changed laws without a cause."""
    parts = []
    for change, words in OF_CAUSES.items():
        texts = [short(row["text"]) for row in causes if row["change"] == change]
        more = f" and {len(texts) - MAX_NAMED} more" if len(texts) > MAX_NAMED else ""
        if texts and change != SAME:
            verb = "is" if len(texts) == 1 else "are"
            parts.append(f"{counted(len(texts), 'cause')} {verb} {words}: {'; '.join(texts[:MAX_NAMED])}{more}")
    explained = {law for row in causes for law in row["laws"]}
    alone = Counter(row["change"] for row in laws if row["law"] not in explained)
    parts += [
        f"{counted(alone[each], 'law')} without a finding: {WORDS[each]}" for each in (*WORSE, *BETTER) if alone[each]
    ]
    if flaky := sum(row["flaky"] for row in laws):
        parts.append(f"findings of {counted(flaky, 'law')} show in some of their replays only")
    return f"{'. '.join(parts) or 'no cause is new or gone, and no law is violated more or less often'}."
