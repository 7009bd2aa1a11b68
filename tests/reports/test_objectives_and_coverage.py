"""What the pages of objectives, of coverage and of faults show, before a template says it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pairproof.harness.exploration.losses import SUMS
from pairproof.harness.rocketmq import topology
from pairproof.harness.rocketmq.coverage_cluster import AT_SLAVE, IN_STEP
from pairproof.reports import coverage, fault_places, objectives

Row = dict[str, Any]


def measured(what: str, most: int | None, **more: Any) -> Row:
    row = {"what": what, "target": "reference", "lab": "sim", "cause": "machine", "fault": "power_loss"}
    row |= {
        "role": "SYNC_MASTER",
        "flush": "ASYNC_FLUSH",
        "trials": 2,
        "times": 4,
        "open": 1,
        "p50": 0,
        "p99": most,
        "max": most,
    }
    return {**row, **more}


def test_what_was_at_stake_has_a_row_for_each_cause_fault_and_mode_with_median_and_largest() -> None:
    rows = [measured("rto_ns", 4_000_000_000, lab="process"), measured("rpo_messages", 1_200, lab="process", p50=3)]
    (row,) = objectives.at_stake(rows)
    assert (row["why"], row["rpo_messages"], row["rto_ns"]) == ("power lost", "3 to 1,200", "0 ms to 4 s; 1 open")
    assert row["rpo_bytes"] == "", "not measured"
    (row,) = objectives.at_stake([measured("rto_ns", None, p50=None, open=4, lab="process")])
    assert row["rto_ns"] == "–; 4 open"


def test_times_of_a_simulation_are_left_out() -> None:
    (row,) = objectives.at_stake([measured("rto_ns", 4_000_000_000), measured("rpo_messages", 3)])
    assert (row["rto_ns"], row["rpo_messages"]) == ("", "0 to 3")


def test_bars_grow_with_their_values_and_share_a_scale() -> None:
    rows = [measured("rto_ns", 10**9, p50=10**8), measured("rto_ns", 10**7, p50=10**7)]
    bars = [objectives.plot(row, 10**9) for row in rows]
    widths = [[float(each) for each in re.findall(r'rect [^>]*width="([\d.]+)"', bar)] for bar in bars]
    assert widths[0][0] == widths[0][1] > widths[0][2] > widths[1][0] == widths[1][2]
    assert widths[0][0] <= objectives.WIDTH, "never clipped"
    ticks = [float(each) for each in re.findall(r'line x1="([\d.]+)"', objectives.axis(10**9))]
    assert ticks == [0, *(pytest.approx(widths[0][0] * power / 3, abs=0.2) for power in (1, 2, 3))]
    assert re.findall(">([^<]+)</text>", objectives.axis(10**9)) == ["1 ms", "10 ms", "100 ms", "1 s"]
    never = objectives.plot(measured("rto_ns", None, p50=None), 0)
    assert "<rect" not in never and "never came" in never


def test_a_percentile_is_told_only_where_enough_values_bear_it() -> None:
    def told(times: int, open_: int) -> tuple[object, object, object]:
        row = objectives.known(measured("rto_ns", 9, p50=4, times=times, open=open_))
        return row["p50"], row["p99"], row["max"]

    assert told(100, 0) == (4, 9, 9) and told(100, 1) == (4, None, 9)
    assert told(20, 0) == (4, None, 9) and told(20, 1) == (None, None, 9)


def lost(**more: Any) -> Row:
    sums = dict.fromkeys(("unaudited", *SUMS), 0)
    row = {"target": "reference", "lab": "process", "mode": "SYNC_MASTER ASYNC_FLUSH", "fault": "kill", "of": "master"}
    return {**row, **sums, "trials": 2, "acknowledged": 10, "max": 2_000_000_000, "times": 2, "open": 0, **more}


def test_the_sentence_counts_put_ok_and_other_answers_apart() -> None:
    told = objectives.sentence([lost(lost=3, slave_only=2, master_only=1, other=5, other_lost=4), lost(removed=7)])
    assert told == (
        "Of 20 messages that were answered PUT_OK in 4 trials with a fault, 3 are lost and 3 are left on one broker "
        "only. Of 5 stored with another answer, 4 are lost. Retention removed 7, which are not counted as lost."
    )
    assert objectives.sentence([]) == ""
    assert objectives.sentence([lost(unaudited=1)]).endswith("1 trial cannot say it.")


def test_a_run_with_the_corpus_shows_every_class_and_others_none() -> None:
    rows = [
        lost(corpus=True, state="", unavailable_ns=10**9),
        lost(corpus=True, of="slave", state="not played", trials=0),
    ]
    run = {"run": "r", "target": "reference", "lab": "process", "losses": [*rows, lost(corpus=False)]}
    (found,) = objectives.corpora([run, {**run, "losses": None}, {**run, "losses": [lost(corpus=False)]}])
    assert [each["state"] for each in found["rows"]] == ["", "not played"]
    assert found["rows"][0]["unavailable"] == "1.0 s"
    assert found["more"] == {"trials": 2, "lost": 0}, "of faults that have no row"


def test_what_was_foreseen_stands_beside_what_was_seen_and_once_where_nothing_was_played() -> None:
    def foreseen(of: str) -> Row:
        return {"fault": "kill", "of": of, "lost": {"says": "none", "source": "contract"}}

    run = {
        "run": "r",
        "target": "t",
        "lab": "process",
        "configuration": {"faults": [foreseen("master"), foreseen("slave")]},
    }
    played = {**run, "losses": [lost(corpus=True, state="", unavailable_ns=0)]}
    (found,) = objectives.corpora([played, run])
    assert found["seen"] and [(row["of"], row["trials"], row["foreseen"]["of"]) for row in found["rows"]] == [
        ("master", 2, "master")
    ]
    (found,) = objectives.corpora([run, run])
    assert not found["seen"] and [(row["of"], row["trials"]) for row in found["rows"]] == [("master", 0), ("slave", 0)]
    assert objectives.corpora([{**run, "configuration": {}}]) == []


def covered(*rows: tuple[str, str, str, int]) -> coverage.Grid:
    return coverage.grid([dict(zip(("state", "event", "fault", "count"), row, strict=True)) for row in rows])


def test_a_grid_has_a_gap_where_nothing_was_seen_and_counts_it() -> None:
    grid = covered(("READY", "close", "none", 1), ("TRANSFER", "report", "kill", 500))
    assert grid.faults == ["none", "kill"]
    assert grid.pairs == [("READY", "close"), ("TRANSFER", "report")]
    assert set(grid.cells) == {("READY", "close", "none"), ("TRANSFER", "report", "kill")}
    assert grid.empty == 2
    assert grid.sentence == (
        "2 pairs of state and event occurred; of 4 combinations of such a pair with a fault, or with none, "
        "2 were never seen. Whether other pairs could occur is unknown."
    )


def test_more_is_darker() -> None:
    grid = covered(("A", "x", "none", 1), ("A", "y", "none", 100), ("A", "z", "none", 10**6))
    levels = [grid.levels["A", event, "none"] for event in "xyz"]
    assert levels == sorted(set(levels)) and levels[0] == 1 and levels[-1] == coverage.LEVELS


def test_states_stand_under_what_they_are_of_in_their_own_order_and_places_behind_faults() -> None:
    grid = covered(
        (IN_STEP, "sync same", "none", 1), (AT_SLAVE, "deliver", "kill", 1), ("behind", "append", "at meta links", 1),
        ("accepted", "report", "bandwidth", 1), ("unconnected", "start", "none", 1), ("another", "x", "none", 1),
    )  # fmt: skip
    assert [(title, [state for state, _ in pairs]) for title, pairs in grid.sections] == [
        ("HA connections", ["unconnected", "accepted", "behind"]),
        ("Consumers, in trials with a name server", [AT_SLAVE]),
        ("Slaves' topics and groups, in trials with a name server", [IN_STEP]),
        ("Others", ["another"]),
    ]
    assert grid.faults == ["none", "bandwidth", "kill", "at meta links"]


def placed(*rows: tuple[str, str, int, int]) -> fault_places.Grid:
    return fault_places.grid([dict(zip(("place", "name", "uses", "bit"), row, strict=True)) for row in rows])


def test_places_stand_under_what_they_are_of_and_those_that_no_fault_hurt_are_named() -> None:
    grid = placed(("meta", "down", 3, 1), ("meta", "down", 2, 2), ("names", "kill", 1, 0), ("", "rogue_slave", 9, 9))
    assert grid.sections == [("Name server, and links to it", ["names"]), ("Slaves' metadata sync", ["meta"])]
    assert grid.cells["meta", "down"] == (5, 3) and grid.faults == ["down", "kill"]
    assert grid.unhurt == ["names"] and {"master", "ha", "meta-fast", "other"} <= set(grid.untried)
    assert not {"names", "meta", "slave2", "names-slave2"} & set(grid.untried)


def test_every_place_that_a_trial_may_have_is_of_something() -> None:
    known = [place for _, of in fault_places.KINDS for place in of]
    assert sorted(known) == sorted({*topology.PROCESSES, *topology.LINKS})
