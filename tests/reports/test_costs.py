"""What a fault costs a deployment, in reports: rows of one history, sums over many, the table and the summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pairproof.chaos.scenarios import library
from pairproof.chaos.scenarios.play import Plan, play
from pairproof.chaos.scenarios.recording import Recording
from pairproof.harness.history import Recorder
from pairproof.harness.rocketmq.deployments import NAMES, Cost
from pairproof.harness.trials import resolve
from pairproof.reports import engines, inputs, model, summary, traced
from pairproof.reports.traces import measured

SCENARIO = "loss-asynchronous-slaves"
DISK_LOST = 2
"""The case in which the master's disk is destroyed and nobody promotes the slave."""


def history(*more: tuple[str, dict[str, Any]]) -> Recorder:
    made = Recorder()
    settings = json.dumps({"brokerRole": "ASYNC_MASTER", "flushDiskType": "SYNC_FLUSH"})
    call = {"op": 1, "f": "send", "message": "m1"}
    made.add(0, "config", node="master", detail=settings)
    made.add(1, "invoke", node="master", **call)
    made.add(2, "ok", node="master", status="PUT_OK", lo=0, hi=9, **call)
    for kind, columns in more:
        made.add(3, kind, **columns)
    return made


def costs(*more: tuple[str, dict[str, Any]]) -> list[Any]:
    return list(measured.measure(history(*more).events)[1]["costs"])


def test_a_history_has_one_cost_and_says_what_it_does_not_know() -> None:
    fault = {"op": 7, "f": "kill", "node": "master"}
    away = [("fault", fault | {"status": "on"}), ("crash", {"node": "master", "f": "process", "value": 0})]
    unknown = Cost("single master", "SYNC_FLUSH", "kill of the master", 1, 0, 0, 1, 0, 0, 1, 0, 0, 0)
    assert costs(*away) == [unknown]
    seen = [*away, ("invoke", {"node": "master", "op": 8, "f": "pull"}), ("fault", fault | {"status": "off"}),
            ("audit", {"node": "master", "op": 9, "f": "final"})]  # fmt: skip
    known = unknown._replace(lost=1, unaudited=0, unavailable=1, unread=0)
    assert costs(*seen) == [known]
    assert costs() == []


def test_what_no_trial_of_a_row_knows_is_no_number() -> None:
    row = {"deployment": "single master", "mode": "SYNC_FLUSH", "fault": "kill of the master", "trials": 2} | {
        "lost": 0, "stranded": 0, "unaudited": 2, "unavailable": 5, "readable": 1, "unread": 1,
    }  # fmt: skip
    (shown,) = traced.costs([row])
    assert (shown["lost"], shown["stranded"], shown["unavailable"], shown["readable"]) == ("–", "–", 5, 1)
    (shown,) = traced.costs([row | {"unread": 2, "unaudited": 0}])
    assert (shown["lost"], shown["unavailable"], shown["readable"]) == (0, "–", "–")


def test_deployments_that_keep_less_come_first() -> None:
    row = {"mode": "SYNC_FLUSH", "fault": "x", "trials": 1, "unaudited": 0, "unread": 0}
    told = traced.costs(row | {"deployment": name} for name in sorted(NAMES))
    assert [each["deployment"] for each in told] == list(NAMES)
    assert NAMES.index("several masters") < NAMES.index("several masters, synchronous slaves")


def recorded(runs: Path) -> Path:
    """A run of one case, twice."""
    scenario = library.shipped(SCENARIO)
    plan = Plan("sim", "reference", "costs")
    with Recording(runs, plan, [scenario]) as run:
        for again in range(2):
            seed = f"costs/{SCENARIO}/{DISK_LOST}/{again}"
            case = scenario.cases[DISK_LOST]
            run.take(scenario, play(scenario, case, resolve.lab("sim"), resolve.target("reference"), seed))
    return run.folder


def test_a_report_adds_up_what_a_deployment_lost_over_trials(tmp_path: Path) -> None:
    runs, corrupt = inputs.open_runs([recorded(tmp_path)])
    report = model.assemble(runs, corrupt, engines.here(runs).tables)
    (row,) = report.costs
    assert (row["deployment"], row["mode"]) == ("several masters, asynchronous slaves", "ASYNC_FLUSH")
    assert (row["fault"], row["trials"], row["target"]) == ("wipe of the master", 2, "reference")
    # The slave lags by what was sent in the last 40 ms, and has the rest; the other master goes on.
    assert row["lost"] >= 2 and row["stranded"] >= 60 and row["readable"] + row["unavailable"] == row["acknowledged"]
    assert row["unavailable"] == row["lost"] and 20 <= row["accepted"] < row["tried"]
    told = summary.text(report)
    assert "<summary>What each deployment loses</summary>" in told
    assert "| several masters, asynchronous slaves | ASYNC\\_FLUSH | wipe of the master |" in told
