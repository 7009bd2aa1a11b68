"""What the pages of objectives, of coverage and of faults show, before a template says it."""

from __future__ import annotations

import re
from typing import Any

from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.coverage_whole import AT_SLAVE, IN_STEP
from pairproof.reports import coverage, fault_places, objectives

Row = dict[str, Any]


def measured(what: str, most: int | None, **more: Any) -> Row:
    row = {"what": what, "target": "reference", "lab": "sim", "cause": "machine", "fault": "power_loss"}
    row |= {"role": "SYNC_MASTER", "flush": "ASYNC_FLUSH", "times": 4, "open": 1, "p50": 0, "p99": most, "max": most}
    return {**row, **more}


def test_sections_come_in_order_with_the_largest_value_first_and_units() -> None:
    rows = [measured("rto_ns", 4_000_000_000), measured("rpo_messages", 3), measured("rpo_messages", 1_200, fault="x")]
    found = objectives.sections(rows)
    assert [section["what"] for section in found] == ["rpo_messages", "rto_ns"]
    assert [row["max"] for row in found[0]["rows"]] == ["1,200", "3"]
    assert (found[1]["rows"][0]["max"], found[1]["rows"][0]["why"]) == ("4 s", "power lost")


def test_what_never_came_is_a_dash_and_draws_no_bar() -> None:
    (section,) = objectives.sections([measured("rto_ns", None, p50=None, open=4)])
    row = section["rows"][0]
    assert row["max"] == "–" and "<rect" not in row["plot"] and "never came" in row["plot"]
    assert objectives.worst([measured("rto_ns", None)]) == []


def test_bars_grow_with_their_values_and_share_a_scale() -> None:
    rows = objectives.sections([measured("rto_ns", 10**9, p50=10**6), measured("rto_ns", 10**5, p50=10**5)])[0]["rows"]
    widths = [[float(each) for each in re.findall(r'rect [^>]*width="([\d.]+)"', row["plot"])] for row in rows]
    assert widths[0][0] == widths[0][1] > widths[0][2] > widths[1][0] == widths[1][2]


def test_a_percentile_is_told_only_where_enough_values_bear_it() -> None:
    def told(times: int, open_: int) -> tuple[object, object, object]:
        row = objectives.known(measured("rto_ns", 9, p50=4, times=times, open=open_))
        return row["p50"], row["p99"], row["max"]

    assert told(100, 0) == (4, 9, 9) and told(100, 1) == (4, None, 9)
    assert told(20, 0) == (4, None, 9) and told(20, 1) == (None, None, 9)
    (section,) = objectives.sections([objectives.known(measured("rto_ns", 9))])
    assert (section["rows"][0]["p50"], section["rows"][0]["p99"]) == ("–", "–")
    assert 'class="share p' not in section["rows"][0]["plot"] and 'class="share max' in section["rows"][0]["plot"]
    assert objectives.worst([objectives.known(measured("rpo_messages", 3))])[0].endswith("of 3 values; 1 of 4 unknown)")


def test_the_worst_case_names_where_it_was_measured() -> None:
    (line,) = objectives.worst([measured("rpo_messages", 3), measured("rpo_messages", 9, fault="kill", open=0)])
    assert line == (
        "RPO in messages: at most 9 (power lost, fault kill, SYNC_MASTER ASYNC_FLUSH; p50 0; 1 of 8 unknown)"
    )


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
        "2 were never seen. Whether other pairs could occur is not known."
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
    grid = placed(("meta", "down", 3, 1), ("meta", "down", 2, 2), ("names", "kill", 1, 0), ("", "hostile", 9, 9))
    assert grid.sections == [("Name server, and links to it", ["names"]), ("Slaves' metadata sync", ["meta"])]
    assert grid.cells["meta", "down"] == (5, 3) and grid.faults == ["down", "kill"]
    assert grid.unhurt == ["names"] and {"master", "ha", "meta-fast", "other"} <= set(grid.untried)
    assert not {"names", "meta", "slave2", "names-slave2"} & set(grid.untried)


def test_every_place_that_a_trial_may_have_is_of_something() -> None:
    known = [place for _, of in fault_places.KINDS for place in of]
    assert sorted(known) == sorted({*places.PROCESSES, *places.LINKS})
