"""Spark's tables, the tables without Java, and what is said over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairproof.reports import fallback, inputs, model, tables


def test_a_law_is_vacuous_only_if_no_trial_gave_it_anything_to_judge(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    report = model.assemble(runs, (), fallback.measure(runs))
    said = {(row["run"], row["law"]): row["verdict"] for row in report.by_run}
    assert said["r1", "log-prefix"] == "holds"
    assert said["r1", "ha-batch-bound"] == "vacuous"
    assert said["r1", "ack-replicated"] == "not-applicable"
    assert said["r2", "contract"] == "unknown"
    assert said["r2", "log-prefix"] == "violated"


def test_only_the_run_whose_profile_asks_for_a_law_may_not_leave_it_vacuous(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    report = model.assemble(runs, (), fallback.measure(runs))
    assert [(row["run"], row["law"]) for row in report.by_run if row["forbidden"]] == [("r1", "ha-batch-bound")]
    assert [row["verdict"] for row in report.runs] == ["unknown", "violated"]
    assert report.verdict == "violated"


def test_a_violation_that_was_never_shrunk_is_still_a_finding(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    measured = fallback.measure(runs)
    report = model.assemble(runs, (), measured)
    assert [(row["law"], row["shrunk"]) for row in report.findings] == [("log-prefix", True), ("ack-replicated", False)]
    trials = fallback.of_trials(runs, "trials", model.wanted_trials(report.findings))
    completed = model.with_schedules(report.findings, trials)
    assert completed[1]["program"][1] == 'fault(name="kill", node="slave")'


def test_faults_that_hit_nothing_and_what_the_others_did_are_counted(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    report = model.assemble(runs, (), fallback.measure(runs))
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
    rows = fallback.measure(runs)["places"].to_pylist()
    assert {(row["place"], row["name"]): (row["uses"], row["bit"]) for row in rows} == {
        ("", "hostile"): (1, 1), ("meta", "down"): (1, 1), ("slave", "kill"): (3, 2), ("slave", "stall"): (1, 0),
    }  # fmt: skip


def test_rpo_and_rto_are_told_by_percentiles_and_what_stayed_open_is_counted(two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    found = {
        (row["what"], row["target"], row["fault"]): row for row in fallback.measure(runs)["objectives"].to_pylist()
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
    rows = [tuple(row.values()) for row in fallback.measure(runs)["coverage"].to_pylist()]
    assert rows == [
        ("READY", "close", "none", 1), ("TRANSFER", "report", "kill", 5), ("TRANSFER", "report", "none", 40),
    ]  # fmt: skip


def test_a_report_of_no_readable_run_does_not_claim_that_anything_holds() -> None:
    report = model.assemble([], [inputs.Corrupt("runs/x", "damaged")], fallback.measure([]))
    assert report.verdict == "unknown"
    assert report.headline == "No run could be read."


def test_a_run_that_judged_nothing_is_unknown(write_run: Any, rows: Any) -> None:
    folder = write_run("r", verdicts=[rows.verdict(0, "log-prefix", "vacuous")], trials=[rows.trial(0)])
    runs, _ = inputs.open_runs([folder])
    assert model.assemble(runs, (), fallback.measure(runs)).verdict == "unknown"


@pytest.mark.slow
def test_spark_and_arrow_count_alike(spark: Any, two_runs: list[Path]) -> None:
    runs, _ = inputs.open_runs(two_runs)
    by_spark, by_arrow = tables.measure(spark, runs), fallback.measure(runs)
    assert set(by_spark) == set(by_arrow)
    for name, table in by_arrow.items():
        assert by_spark[name].to_pylist() == table.to_pylist(), name
    wanted = [("r2", 9), ("r1", 1)]
    assert (
        tables.of_trials(spark, "trials", wanted).to_pylist() == fallback.of_trials(runs, "trials", wanted).to_pylist()
    )


@pytest.mark.slow
def test_spark_makes_tables_of_a_run_that_recorded_nothing(spark: Any, write_run: Any) -> None:
    runs, _ = inputs.open_runs([write_run("empty")])
    assert all(len(table) == 0 for table in tables.measure(spark, runs).values())
