"""What changed between two runs: how often equal ones are told apart, and how often a seeded change is seen."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from pairproof.harness.errors import UsageError
from pairproof.reports import comparing, markdown
from pairproof.reports.commands.report import command
from pairproof.reports.comparing import Counted

SEARCHES = {"sweep": 300, "cluster": 200, "swarm": 500}
LAWS = 118
RATES = (0.0, 0.0, 0.0, 0.002, 0.01, 0.05, 0.2, 0.5)
"""Of violating trials; most laws hold in all."""


def drawn(random: Random, run: str, more: dict[int, float] | None = None, times: int = 1) -> list[dict[str, Any]]:
    """A run of so many thousand trials: a law's rate differs from search to search, and where ``more`` raises it."""
    rows = []
    for law in range(LAWS):
        for number, (origin, thousand) in enumerate(SEARCHES.items()):
            trials = times * thousand
            rate = min(1.0, RATES[(law + number) % len(RATES)] + (more or {}).get(law, 0.0))
            violated = sum(random.random() < rate for _ in range(trials))
            rows.append({"run": run, "law": f"l{law}", "origin": origin, "trials": trials, "violated": violated})
    return rows


def changed(rows: list[dict[str, Any]]) -> dict[str, str]:
    told = comparing.compare(rows, "a", "b")
    return {row["law"]: row["change"] for row in told if row["change"] in (*comparing.WORSE, *comparing.BETTER)}


def test_fifty_pairs_of_equal_runs_are_hardly_ever_told_apart() -> None:
    random = Random("equal")
    apart = sum(bool(changed([*drawn(random, "a"), *drawn(random, "b")])) for _ in range(50))
    # At most one in a hundred is promised; that more than three are by chance has a probability below 0.2 %.
    assert apart <= 3


@pytest.mark.parametrize(("rate", "times"), [(0.01, 5), (0.05, 1), (0.2, 1)])
def test_a_seeded_regression_is_seen(rate: float, times: int) -> None:
    """Of 118 laws one violates in so many more of the trials; one in a hundred takes more than a thousand trials."""
    random, seen, others = Random(f"seeded {rate}"), 0, 0
    for _ in range(10):
        found = changed([*drawn(random, "a", None, times), *drawn(random, "b", {0: rate}, times)])
        seen += found.pop("l0", "") in comparing.WORSE
        others += len(found)
    assert seen >= 9 and others <= 1


def test_ten_times_the_trials_see_one_in_a_hundred() -> None:
    before, after = Counted(10_000, 10_000, 0, 0), Counted(10_000, 10_000, 0, 100)
    assert comparing.chance([before]) == 1.0 and comparing.chance([after]) < 1e-20


def test_the_chance_is_exact() -> None:
    # Of four violating trials of eight, all four fall on one half: twice one of 70.
    assert comparing.chance([Counted(4, 4, 0, 4)]) == pytest.approx(2 / 70)
    assert comparing.chance([Counted(4, 4, 2, 2)]) == 1.0
    # Two searches together: more than either, less than if they were one.
    both = comparing.chance([Counted(4, 4, 0, 2), Counted(4, 4, 0, 2)])
    assert both == pytest.approx(2 * (6 / 28) ** 2)
    large = [Counted(5_000, 5_000, 300, 420), Counted(3_000, 3_000, 100, 110)]
    exact = comparing.EXACT
    try:
        comparing.EXACT = 10_000
        assert comparing.chance(large) == pytest.approx(_normal(large, exact), rel=0.1)
    finally:
        comparing.EXACT = exact


def _normal(strata: list[Counted], exact: int) -> float:
    comparing.EXACT = exact
    found = comparing.chance(strata)
    comparing.EXACT = 10_000
    return found


def test_laws_share_the_threshold() -> None:
    assert comparing.holm([0.02, 0.001, 0.5]) == [0.04, 0.003, 0.5]
    assert comparing.holm([]) == []


@pytest.mark.parametrize(
    ("counts", "change"),
    [
        ((900, 900, 0, 30), comparing.NEW), ((900, 900, 30, 0), comparing.FIXED), ((900, 900, 40, 160), comparing.MORE),
        ((900, 900, 160, 40), comparing.FEWER), ((900, 900, 0, 1), comparing.ONLY_AFTER),
        ((900, 900, 1, 0), comparing.ONLY_BEFORE), ((900, 900, 40, 45), comparing.SAME), ((9, 9, 0, 0), comparing.NONE),
        # A tenth of the trials, and a tenth of the violating ones: nothing changed.
        ((9_000, 900, 400, 40), comparing.SAME),
    ],
)  # fmt: skip
def test_what_a_change_is_called(counts: tuple[int, int, int, int], change: str) -> None:
    first, second, violating, later = counts
    rows = [
        {"run": "a", "law": "l", "origin": "swarm", "trials": first, "violated": violating},
        {"run": "b", "law": "l", "origin": "swarm", "trials": second, "violated": later},
    ]
    (row,) = comparing.compare(rows, "a", "b")
    assert row["change"] == change
    assert row["before_low"] <= row["before_percent"] <= row["before_high"]


def test_a_search_that_only_one_of_them_played_is_not_compared() -> None:
    rows = [
        {"run": "a", "law": "l", "origin": "sweep", "trials": 900, "violated": 0},
        {"run": "b", "law": "l", "origin": "swarm", "trials": 900, "violated": 900},
    ]
    assert comparing.compare(rows, "a", "b") == []
    assert comparing.word([]) == "Same"
    assert comparing.described([], []) == "no cause is new or gone, and no law is violated more or less often."


def test_the_report_tells_what_changed(two_runs: list[Path]) -> None:
    out = two_runs[0].parent / "out"
    done = CliRunner().invoke(command, [*map(str, two_runs), "--compare", "--engine", "local", "--out", str(out)])
    told = json.loads((out / "report.json").read_text())["compared"]
    assert (told["before"], told["after"]) == ("r1", "r2") and told["told"] in done.stdout
    assert {"log-prefix"} <= {row["law"] for row in told["laws"]}
    page = (out / "compared.html").read_text()
    assert "What changed" in page and 'href="compared.html"' in (out / "index.html").read_text()
    assert markdown.escape(told["told"]) in (out / "summary.md").read_text()


def test_both_engines_compare_alike(two_runs: list[Path]) -> None:
    found = []
    for engine in ("spark", "local"):
        out = two_runs[0].parent / engine
        CliRunner().invoke(command, [*map(str, two_runs), "--compare", "--engine", engine, "--out", str(out)])
        found.append(json.loads((out / "report.json").read_text())["compared"])
    assert found[0] == found[1]


def test_two_runs_are_wanted(two_runs: list[Path]) -> None:
    done = CliRunner().invoke(command, [str(two_runs[0]), "--compare"])
    assert isinstance(done.exception, UsageError)
    assert "needs two runs, the earlier one first, not 1" in str(done.exception)
    (two_runs[1] / "run.json").write_text("{")
    done = CliRunner().invoke(command, [*map(str, two_runs), "--compare", "--engine", "local"])
    assert isinstance(done.exception, UsageError) and "two readable runs" in str(done.exception)
