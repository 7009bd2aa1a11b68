"""Spark's tables, the tables without Java, and what is said over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pairproof.harness.commands.main import main
from pairproof.harness.exploration.evidence import FEW
from pairproof.reports import arrow_traces, counting, engines, inputs, model, untested
from pairproof.reports.measures import Spread


def test_a_law_is_vacuous_only_if_no_trial_gave_it_anything_to_judge(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    report = model.assemble(runs, (), engines.here(runs).tables)
    said = {(row["run"], row["law"]): row["verdict"] for row in report.by_run}
    assert said["r1", "log-prefix"] == "holds"
    assert said["r1", "ha-batch-bound"] == "vacuous"
    assert said["r1", "ack-replicated"] == "not-applicable"
    assert said["r2", "contract"] == "unknown"
    assert said["r2", "log-prefix"] == "violated"


def test_only_the_run_whose_profile_asks_for_a_law_may_not_leave_it_vacuous(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    report = model.assemble(runs, (), engines.here(runs).tables)
    assert [(row["run"], row["law"]) for row in report.by_run if row["forbidden"]] == [("r1", "ha-batch-bound")]
    assert [row["verdict"] for row in report.runs] == ["unknown", "violated"]
    assert report.verdict == "violated"


def report_of(*folders: Path) -> model.Report:
    runs, corrupt = inputs.open_runs(folders)
    return model.assemble(runs, corrupt, engines.here(runs).tables)


def test_what_the_searches_must_judge_the_corpus_does_not_judge_for_them(write_run: Any, rows: Any) -> None:
    verdicts = [rows.verdict(0, "contract", "holds"), rows.verdict(1, "contract", "vacuous")]
    trials = [rows.trial(0, "corpus"), rows.trial(1, "swarm")]
    strict = report_of(write_run("a", facts={"must_not_be_vacuous": ["contract"]}, verdicts=verdicts, trials=trials))
    assert strict.verdict == "unknown" and strict.by_run[0]["forbidden"]
    assert strict.by_run[0]["remark"] == "the searches gave it nothing to judge"
    free = report_of(write_run("b", facts={"corpus_must_judge": ["contract"]}, verdicts=verdicts, trials=trials))
    assert (free.verdict, free.by_run[0]["remark"]) == ("holds", "judged by the corpus only")
    swapped = [rows.trial(0, "swarm"), rows.trial(1, "corpus")]
    other = report_of(write_run("c", facts={"corpus_must_judge": ["contract"]}, verdicts=verdicts, trials=swapped))
    assert (other.verdict, other.by_run[0]["remark"]) == ("unknown", "the corpus gave it nothing to judge")


def test_a_run_without_a_trial_is_unknown_and_said_beside_one_that_holds(write_run: Any, rows: Any) -> None:
    empty = write_run("empty")
    assert (report_of(empty).verdict, report_of(empty).headline) == ("unknown", "0 trials only. Nothing was judged.")
    full = write_run("full", verdicts=[rows.verdict(0, "contract", "holds")], trials=[rows.trial(0)])
    both = report_of(full, empty)
    assert both.verdict == "unknown" and both.headline.endswith("each of them holds; nothing was judged in empty.")


def test_a_law_that_few_of_many_trials_put_to_the_test_does_not_look_like_the_others(write_run: Any, rows: Any) -> None:
    verdicts = [rows.verdict(n, "contract", "holds", judged=2) for n in range(FEW)]
    verdicts += [rows.verdict(n, "log-prefix", "vacuous" if n else "holds") for n in range(FEW)]
    report = report_of(write_run("r", verdicts=verdicts, trials=[rows.trial(n) for n in range(FEW)]))
    told = {row["law"]: (row["exercised"], row["judged"], row["few"]) for row in report.by_run}
    assert told == {"contract": (20, 40, False), "log-prefix": (1, 3, True)}
    (caveat,) = untested.caveats(report)
    assert caveat.short == "1 law on little evidence" and caveat.lines[0].endswith(": log-prefix (1)")


def test_findings_are_told_by_cause_and_the_cause_s_own_law_tells_it_best(write_run: Any, rows: Any) -> None:
    cause = "log-prefix, append at slave"
    findings = [
        rows.finding("contract", "lost", 1, 2, cause=cause, program=["a", "b"]),
        rows.finding("log-prefix", "differs", 1, 2, cause=cause, program=["a", "b"]),
        rows.finding("log-prefix", "differs", 3, 4, cause=cause, program=["c"]),
        rows.finding("log-grows", "shrank", 5, 6, cause="log-grows, start at master"),
        rows.finding("x", "an older one", 7, 8),
        rows.finding("y", "an older one", 7, 8),
    ]
    report = report_of(write_run("r", findings, trials=[rows.trial(0)]))
    told = [(each["first"], each["laws"], each["findings"]) for each in report.causes]
    assert told == [(3, ["log-prefix", "contract"], [1, 2, 3]), (4, ["log-grows"], [4]), (5, ["x", "y"], [5, 6])]


def test_a_violation_that_was_never_shrunk_is_still_a_finding(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    measured = engines.here(runs).tables
    report = model.assemble(runs, (), measured)
    assert [(row["law"], row["shrunk"]) for row in report.findings] == [("log-prefix", True), ("ack-replicated", False)]
    trials = counting.of_trials(runs, "trials", model.wanted_trials(report.findings))
    completed = model.with_schedules(report.findings, trials)
    assert completed[1]["program"][1] == 'fault(name="kill", node="slave")'


def test_faults_that_hit_nothing_and_what_the_others_did_are_counted(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    report = model.assemble(runs, (), engines.here(runs).tables)
    by_name = {row["name"]: row for row in report.faults}
    assert by_name["stall"]["uses"] == by_name["stall"]["missed"] == 1
    assert by_name["kill"]["bit"] == 2
    assert by_name["kill"]["effect"] == {"connections_closed": 1, "processes_killed": 2}
    assert {row["note"]: row["amount"] for row in report.contract if row["target"] == "reference"} == {
        "permitted_losses": 1,
        "required": 6,
        "stronger": 3,
    }


def test_faults_are_counted_by_the_node_or_link_that_they_were_at(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    rows = engines.here(runs).tables["places"].to_pylist()
    assert {(row["place"], row["name"]): (row["uses"], row["bit"]) for row in rows} == {
        ("", "rogue_slave"): (1, 1), ("meta", "down"): (1, 1), ("slave", "kill"): (3, 2), ("slave", "stall"): (1, 0),
    }  # fmt: skip


def test_rpo_and_rto_are_told_by_percentiles_and_what_stayed_open_is_counted(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    found = {
        (row["what"], row["target"], row["fault"]): row for row in engines.here(runs).tables["objectives"].to_pylist()
    }
    lost = found["rpo_messages", "reference", "power_loss"]
    assert [lost[name] for name in ("times", "open", "p50", "p99", "max")] == [201, 0, 99, 197, 199]
    back = found["rto_ns", "reference", "power_loss"]
    assert [back[name] for name in ("times", "open", "p50", "p99", "max")] == [
        201,
        1,
        99 * 10**6,
        197 * 10**6,
        199 * 10**6,
    ]
    never = found["rto_ns", "reference+ack_early", "kill"]
    assert [never[name] for name in ("times", "open", "p50", "max")] == [1, 1, None, None]
    assert found["catch_up_ns", "reference", "kill"]["max"] == 70
    assert ("catch_up_ns", "reference", "power_loss") not in found, "a master does not catch up"


def test_coverage_is_summed_over_runs(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    rows = [tuple(row.values()) for row in engines.here(runs).tables["coverage"].to_pylist()]
    assert rows == [
        ("READY", "close", "none", 1), ("TRANSFER", "report", "kill", 5), ("TRANSFER", "report", "none", 40),
    ]  # fmt: skip


def test_a_run_that_judged_nothing_is_unknown(write_run: Any, rows: Any) -> None:
    folder = write_run("r", verdicts=[rows.verdict(0, "log-prefix", "vacuous")], trials=[rows.trial(0)])
    runs, _ = inputs.open_runs([folder])
    assert model.assemble(runs, (), engines.here(runs).tables).verdict == "unknown"


@pytest.mark.slow
def test_spark_and_arrow_count_alike(spark: Any, two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    by_spark, by_arrow = engines.on_spark(spark, runs, True).tables, engines.here(runs).tables
    assert set(by_spark) == set(by_arrow)
    for name, table in by_arrow.items():
        assert by_spark[name].to_pylist() == table.to_pylist(), name


@pytest.mark.slow
def test_spark_makes_tables_of_a_run_that_recorded_nothing(spark: Any, write_run: Any) -> None:
    runs, _ = inputs.open_runs([write_run("empty")])
    assert all(len(table) == 0 for table in engines.on_spark(spark, runs, True).tables.values())
    assert all(len(table) == 0 for table in engines.on_spark(spark, [], True).tables.values())


def test_runs_in_any_pieces_are_counted_alike(
    two_runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["--target", "reference+answers_before_flush", "--trials", "64", "--seed", "s", "--law", "ack-flushed"]
    assert main(["campaign", *asked, "--engine", "local", "--jobs", "1", "--runs", str(tmp_path / "many")]) == 1
    old = Path(__file__).parent.parent / "harness" / "run-format-1" / "20261126T175358-sim-reference"
    runs, _ = inputs.open_runs([*two_runs, old, *(tmp_path / "many").iterdir()])
    whole = engines.here(runs).tables
    monkeypatch.setattr(counting, "PIECE_ROWS", 1)
    cut = list(counting.pieces(runs))
    assert len(cut) > len(runs) + 3
    for counts in (cut, cut[::-1]):
        again = counting.completed(counting.counted(each, True) for each in counts)
        assert {name: table.to_pylist() for name, table in again.items() if name != counting.UNREADABLE} == {
            name: table.to_pylist() for name, table in whole.items() if name != counting.UNREADABLE
        }


def test_many_values_are_rounded_up_and_few_are_told_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    each = Spread("", ("role",), (), "amount")
    amounts = [*range(123_400, 123_500), None]
    rows = [{"role": "master", "run": "r", "trial": trial, "amount": amount} for trial, amount in enumerate(amounts)]
    kinds = (pa.string(), pa.string(), pa.int64(), pa.int64())
    view = pa.Table.from_pylist(rows, pa.schema(list(zip(rows[0], kinds, strict=True))))
    exact = arrow_traces.spread(arrow_traces.gathered(view, each), each).to_pylist()
    told = {"role": "master", "trials": 101, "times": 101, "open": 1}
    assert exact == [{**told, "p50": 123_449, "p99": 123_498, "max": 123_499}]
    monkeypatch.setattr(arrow_traces, "EXACT", 100)
    rounded = arrow_traces.gathered(view, each)
    assert len(rounded) == 2
    halves = [arrow_traces.gathered(part, each) for part in (view.slice(0, 40), view.slice(40))]
    for found in (rounded, pa.concat_tables(halves), arrow_traces.together(pa.concat_tables(halves), each)):
        (row,) = arrow_traces.spread(found, each).to_pylist()
        assert row == {**told, "p50": 124_000, "p99": 124_000, "max": 124_000}
    assert [arrow_traces.rounded_up(value) for value in (0, 999, 1_000, 1_001, 123_456)] == [
        0, 999, 1_000, 1_010, 124_000,
    ]  # fmt: skip
