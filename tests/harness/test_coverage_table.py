"""The coverage table counts every event once per fault that is on, in the state in which it found its connection."""

from __future__ import annotations

from collections import Counter

from pairproof.harness import resolve
from pairproof.harness.coverage_table import OUTSIDE, CoverageTable
from pairproof.harness.history import Recorder
from pairproof.harness.interpreter import run_trial
from pairproof.harness.search import swarm


def _table(told: Recorder) -> CoverageTable:
    table = CoverageTable()
    table.count(told.events)
    return table


def _joining() -> Recorder:
    told = Recorder()
    told.add(0, "start", node="master", lo=0, hi=0)
    told.add(0, "connect", node="slave", link="ha:1", side="m", f="slave")
    told.add(0, "report", node="slave", link="ha:1", side="s", hi=0)
    told.add(0, "report", node="master", link="ha:1", side="m", hi=0)
    return told


def test_a_connection_goes_from_unconnected_over_accepted_to_caught_up_and_behind_and_back() -> None:
    told = _joining()
    told.add(0, "append", node="master", hi=50)
    told.add(0, "frame", node="slave", link="ha:1", side="s", lo=0, hi=50)
    told.add(0, "append", node="slave", hi=50)
    told.add(0, "report", node="master", link="ha:1", side="m", hi=50)
    told.add(0, "flush", node="slave", hi=50)
    told.add(0, "close", node="slave", link="ha:1", side="s", f="local")
    told.add(0, "invoke", node="master", f="send")
    assert _table(told).rows() == {
        ("accepted", "report", "none"): 2,
        ("behind", "append", "none"): 1,
        ("behind", "frame", "none"): 1,
        ("behind", "report", "none"): 1,
        ("caught-up", "append", "none"): 1,
        ("caught-up", "close", "none"): 1,
        ("caught-up", "flush", "none"): 1,
        ("unconnected", "connect", "none"): 1,
        ("unconnected", "invoke", "none"): 1,
        ("unconnected", "start", "none"): 1,
    }


def test_what_the_master_refuses_stays_refused_until_it_closes() -> None:
    told = _joining()
    told.add(0, "diverged", node="master", link="ha:1", hi=9, value=0)
    told.add(0, "report", node="master", link="ha:1", side="m", hi=0)
    told.add(0, "close", node="master", link="ha:1", side="m")
    rows = _table(told).rows()
    assert rows["refused", "report", "none"] == rows["refused", "close", "none"] == 1


def test_slaves_and_strangers_have_states_of_their_own() -> None:
    told = _joining()
    told.add(0, "connect", node="slave2", link="ha:2", side="m", f="slave")
    told.add(0, "connect", node="hostile", link="ha:3", side="m", f="hostile")
    told.add(0, "flush", node="slave", hi=0)
    told.add(0, "flush", node="slave2", hi=0)
    told.add(0, "flush", node="master", hi=0)
    told.add(0, "frame", link="ha:3", node="master", side="m", lo=0, hi=1)
    rows = _table(told).rows()
    assert rows["caught-up", "flush", "none"] == 2 and rows["accepted", "flush", "none"] == 1
    assert rows["accepted", "frame", "none"] == 1


def test_an_older_connection_that_ends_late_does_not_hide_the_newest() -> None:
    told = _joining()
    told.add(0, "connect", node="slave", link="ha:2", side="m", f="slave")
    told.add(0, "close", node="master", link="ha:1", side="m")
    told.add(0, "flush", node="slave", hi=0)
    assert _table(told).rows()["accepted", "flush", "none"] == 1


def test_faults_that_are_on_together_count_once_each() -> None:
    told = Recorder()
    for f in ("stall", "stall", "kill"):
        told.add(0, "fault", f=f, status="on")
    told.add(0, "invoke", node="master")
    told.add(0, "fault", f="stall", status="off")
    told.add(0, "ok", node="master")
    for f in ("stall", "kill"):
        told.add(0, "fault", f=f, status="off")
    told.add(0, "ok", node="master")
    assert _table(told).rows() == {
        ("unconnected", "invoke", "kill"): 1,
        ("unconnected", "invoke", "stall"): 1,
        ("unconnected", "ok", "kill"): 1,
        ("unconnected", "ok", "none"): 1,
        ("unconnected", "ok", "stall"): 1,
    }


def test_gaps_are_pairs_that_occurred_but_not_with_that_fault() -> None:
    told = Recorder()
    told.add(0, "invoke", node="master")
    told.add(0, "fault", f="stall", status="on")
    told.add(0, "ok", node="master")
    table = _table(told)
    assert table.gaps(["stall", "wipe"]) == {
        "stall": [("unconnected", "invoke")],
        "wipe": [("unconnected", "invoke"), ("unconnected", "ok")],
    }
    said = "2 pairs of state and event occurred; with each of 2 faults 1 of 4 (least: wipe 0, stall 1)"
    assert table.summary(["stall", "wipe"]) == said
    assert CoverageTable().summary([]).endswith("0 of 0 (least: none)")


def test_every_event_of_the_protocol_is_counted_in_every_trial() -> None:
    lab, target = resolve.lab("sim"), resolve.target("reference")
    table = CoverageTable()
    kinds: Counter[str] = Counter()
    for number in range(20):
        schedule = swarm.schedule("counted", number)
        quiet = schedule._replace(ops=tuple(op for op in schedule.ops if op.do not in ("fault", "arm")))
        events = run_trial(lab, target, quiet, laws=()).events
        table.count(events)
        kinds.update(each.kind for each in events if each.kind not in OUTSIDE)
    counted: Counter[str] = Counter()
    for (_, kind, fault), number in table.rows().items():
        assert fault == "none"
        counted[kind] += number
    assert counted == kinds
