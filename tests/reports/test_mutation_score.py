"""What a green run is worth: the estimate, the page, and files that are no measurement."""

from pathlib import Path
from typing import Any

from pairproof.harness.registry import names
from pairproof.reports import engines, inputs, model, pages, power

Row = dict[str, Any]


def mutant(
    line: int, verdict: str, law: str = "", trials: int = 0, reaching: int = 0, also: tuple[str, ...] = ()
) -> Row:
    place = {"module": "acme.broker", "line": line, "function": "send", "operator": "compare", "before": "a < b"}
    found = {"verdict": verdict, "law": law, "also": list(also), "trials": trials, "reaching": reaching}
    return {**place, "after": "a <= b", **found}


MUTANTS = [
    mutant(1, "killed", "ack-replicated", trials=2, reaching=500),
    mutant(2, "killed", "log-prefix", trials=1, reaching=10, also=("ack-replicated",)),
    mutant(3, "survived", trials=900, reaching=900),
    mutant(4, "not reached"),
    mutant(5, "equivalent"),
]
"""Of 1,000 trials the first is noticed by one in four, the second by one in a hundred."""


def measurement(mutants: list[Row] | None = None, **other: Any) -> Row:
    share = {"hits": 2, "of": 4, "percent": 50.0, "low": 15.0, "high": 85.0}
    laws = {law: {"any": 1, "first": 1, "alone": 0} for law in ("ack-replicated", "log-prefix")}
    return {
        "target": "reference", "seed": "s", "trials": 900, "version": "0.1", "made": "2026-11-25T12:00:00+00:00",
        "score": share, "by_law": share, "packages": {"acme": {"killed": 2}}, "operators": {"compare": {"killed": 2}},
        "laws": laws, "control": {"trials": 1_000}, "mutants": MUTANTS if mutants is None else mutants, **other,
    }  # fmt: skip


def test_a_bug_is_missed_less_the_more_trials_are_green_and_never_if_nothing_noticed_it() -> None:
    noticing = power.chances(measurement())
    assert noticing == [0.25, 0.01, 0.0, 0.0], "one that changes nothing does not count"
    one = power.missed(noticing, 1)
    assert one.percent == round(100 * (0.75 + 0.99 + 1 + 1) / 4, 1) and one.low < one.percent < one.high
    assert power.missed(noticing, 100_000).percent == 50.0
    assert power.missed([1.0], 1).percent == 0.0 and power.missed([], 9).percent == 100.0


def search(lab: str, target: str, origin: str, trials: int) -> Row:
    return {"lab": lab, "target": target, "origin": origin, "trials": trials}


def test_only_trials_in_the_simulation_count_for_what_a_report_has_missed() -> None:
    rows = [search("sim", "a", "swarm", 60), search("sim", "a", "cluster", 40), search("process", "a", "swarm", 10**6)]
    (told,) = power.summary(measurement(), rows)["missed"]
    assert told == {"target": "a", **power.missed(power.chances(measurement()), 100)._asdict()}
    assert power.summary(measurement(), rows[2:])["missed"] == []


def test_the_page_shows_the_score_the_laws_that_alone_noticed_and_the_survivors(
    two_runs: list[Path], tmp_path: Path
) -> None:
    runs, _ = inputs.open_runs(two_runs)
    report = model.assemble(runs, (), engines.here(runs).tables)
    pages.write(report, {}, {}, tmp_path)
    assert not (tmp_path / "power.html").exists() and "power.html" not in (tmp_path / "index.html").read_text()
    found = measurement()
    pages.write(report._replace(power=power.summary(found, report.search)), {}, {}, tmp_path, found)
    shown = (tmp_path / "power.html").read_text()
    assert "2 of 4, 50.0 % (95 %: 15.0 to 85.0 %)" in shown and "acme/broker.py:3" in shown
    alone = shown[shown.index("Detected only by this law") : shown.index("By package")]
    assert "acme/broker.py:1" in alone and "acme/broker.py:2" not in alone, "two laws noticed the second"
    assert "acme/broker.py:5" not in shown, "what changes nothing was not missed"
    assert 'href="power.html"' in (tmp_path / "laws.html").read_text()


def test_a_green_first_page_says_what_it_may_have_missed(two_runs: list[Path], tmp_path: Path) -> None:
    runs, _ = inputs.open_runs(two_runs)
    report = model.assemble(runs, (), engines.here(runs).tables)
    told = report._replace(power=power.summary(measurement(), [search("sim", "a", "swarm", 100)]))
    for verdict, said in (("holds", True), ("violated", False)):
        pages.write(told._replace(verdict=verdict), {}, {}, tmp_path, measurement())
        assert ("How sure" in (tmp_path / "index.html").read_text()) == said


def test_the_measurement_that_comes_with_the_package_can_be_read_and_names_laws_that_there_are() -> None:
    found = power.read()
    assert len(found["mutants"]) >= 120 and set(found["laws"]) <= set(names("laws"))
    assert 0 < power.missed(power.chances(found), 1_000).percent < power.missed(power.chances(found), 10).percent < 100
