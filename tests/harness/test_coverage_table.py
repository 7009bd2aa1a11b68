"""The coverage table counts every event once per fault that is on, in the state in which it found its connection."""

from __future__ import annotations

from collections import Counter

from pairproof.harness.exploration.coverage_table import CoverageTable
from pairproof.harness.history import Recorder
from pairproof.harness.rocketmq import cluster, swarm, topology
from pairproof.harness.rocketmq.coverage import AT, OUTSIDE, cover
from pairproof.harness.rocketmq.coverage_cluster import (
    ABSENT,
    AT_MASTER,
    AT_SLAVE,
    BEHIND,
    IN_STEP,
    READERS,
    TABLES,
    UNSERVED,
    UNSYNCED,
)
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial


def _table(told: Recorder) -> CoverageTable:
    return cover(told.events)


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
    told.add(0, "connect", node="rogue_slave", link="ha:3", side="m", f="rogue_slave")
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


def test_merged_tables_say_what_the_tables_of_all_histories_say_together() -> None:
    lab, target = resolve.lab("sim"), resolve.target("reference")
    histories = [run_trial(lab, target, swarm.schedule("merged", number), laws=()).events for number in range(3)]
    together: Counter[tuple[str, str, str]] = Counter()
    merged = CoverageTable()
    for events in histories:
        together.update(cover(events).rows())
        merged.merge(cover(events))
    assert merged.rows() == together


def test_every_event_of_the_protocol_is_counted_in_every_trial() -> None:
    lab, target = resolve.lab("sim"), resolve.target("reference")
    table = CoverageTable()
    kinds: Counter[str] = Counter()
    for number in range(20):
        schedule = swarm.schedule("counted", number)
        quiet = schedule._replace(ops=tuple(op for op in schedule.ops if op.do not in ("fault", "arm")))
        events = run_trial(lab, target, quiet, laws=()).events
        table.merge(cover(events))
        kinds.update(each.kind for each in events if each.kind not in OUTSIDE)
    counted: Counter[str] = Counter()
    for (_, kind, fault), number in table.rows().items():
        assert fault == "none"
        counted[kind] += number
    assert counted == kinds


def _whole() -> Recorder:
    told = Recorder()
    told.add(0, "lab", f="sim", detail='{"lab.nameServer": 1}')
    told.add(0, "start", node="master", lo=0, hi=0)
    return told


def _of(told: Recorder, *states: str) -> list[tuple[str, str, str]]:
    """Rows of these states in cluster trials, however often they were counted."""
    return [row for row in _table(told).rows() if row[0] in states]


def test_a_trial_without_a_name_server_has_no_states_of_readers_and_tables() -> None:
    told = Recorder()
    told.add(0, "lab", f="sim", detail="{}")
    told.add(0, "consumer", process=1, group="g", status="on")
    told.add(0, "sync", node="slave", f="topics", status="applied")
    assert _table(told).rows() == {}
    assert _of(_whole(), *READERS, *TABLES) == [
        (ABSENT, "start master", "none"), (UNSYNCED, "start master", "none"),
    ]  # fmt: skip


def test_readers_go_from_absent_over_unserved_to_the_master_and_a_slave_and_away() -> None:
    told = _whole()
    told.add(0, "consumer", process=1, group="g", status="on")
    pull = {"process": 1, "group": "g", "f": "pull"}
    told.add(0, "ok", node="master", **pull)
    told.add(0, "deliver", node="master", process=1, group="g")
    told.add(0, "info", node="master", **pull)
    told.add(0, "route", process=1, group="g", detail='{"1": "slave"}')
    told.add(0, "ok", node="slave", **pull)
    told.add(0, "ok", node="other", **pull)
    told.add(0, "ok", node="slave", process=1, group="g", f="commit")
    told.add(0, "consumer", process=1, group="g", status="lost")
    told.add(0, "fail", node="slave", process=2, f="send")
    assert _of(told, *READERS) == [
        (ABSENT, "consumer on", "none"),
        (ABSENT, "send fail", "none"),
        (ABSENT, "start master", "none"),
        (AT_SLAVE, "commit ok", "none"),
        (AT_SLAVE, "consumer lost", "none"),
        (AT_MASTER, "deliver", "none"),
        (AT_MASTER, "pull info", "none"),
        (UNSERVED, "pull ok", "none"),
        (UNSERVED, "route: slaves only", "none"),
    ]


def test_a_slave_s_tables_are_in_step_until_they_change_or_a_sync_fails() -> None:
    told = _whole()
    for table in ("topics", "groups"):
        told.add(0, "sync", node="slave", f=table, status="asked")
        told.add(0, "sync", node="slave", f=table, status="applied")
    told.add(0, "sync", node="slave", f="offsets", status="applied")
    told.add(0, "ok", node="master", f="topic", process=3, message="t0")
    told.add(0, "ok", node="slave", f="pull", process=4)
    told.add(0, "sync", node="slave", f="topics", status="same")
    told.add(0, "persist", node="slave", f="topics")
    told.add(0, "sync", node="slave", f="groups", status="failed")
    told.add(0, "crash", node="slave", f="process")
    told.add(0, "wipe", node="slave", f="empty")
    told.add(0, "start", node="slave", f="empty")
    assert _of(told, *TABLES) == [
        (BEHIND, "crash slave", "none"),
        (BEHIND, "pull ok", "none"),
        (BEHIND, "sync applied", "none"),
        (BEHIND, "sync same", "none"),
        (IN_STEP, "persist", "none"),
        (IN_STEP, "sync applied", "none"),
        (IN_STEP, "sync failed", "none"),
        (IN_STEP, "topic ok", "none"),
        (UNSYNCED, "start master", "none"),
        (UNSYNCED, "start slave", "none"),
        (UNSYNCED, "sync applied", "none"),
    ]


def test_a_fault_at_a_place_of_whole_trials_counts_under_its_place_too() -> None:
    told = _whole()
    told.add(0, "fault", f="kill", status="on", node="names")
    told.add(0, "fault", f="down", status="on", link="meta")
    told.add(0, "fault", f="stall", status="on", link="ha")
    told.add(0, "consumer", process=1, group="g", status="on")
    for f, place in (("kill", {"node": "names"}), ("down", {"link": "meta"}), ("stall", {"link": "ha"})):
        told.add(0, "fault", f=f, status="off", **place)
    told.add(0, "route", process=1, group="g", detail="{}")
    assert [row for row in _of(told, *READERS) if "start" not in row[1]] == [
        (ABSENT, "consumer on", "at meta links"),
        (ABSENT, "consumer on", "at names"),
        (ABSENT, "consumer on", "down"),
        (ABSENT, "consumer on", "kill"),
        (ABSENT, "consumer on", "stall"),
        (UNSERVED, "route: nobody", "none"),
    ]
    assert set(AT) == topology.CLUSTER_ONLY


def test_whole_trials_are_counted_in_their_own_states_and_as_the_pairs_that_they_are() -> None:
    lab, target = resolve.lab("sim"), resolve.target("reference")
    table = CoverageTable()
    for number in range(12):
        table.merge(cover(run_trial(lab, target, cluster.schedule("counted", number), laws=()).events))
    states = {state for state, _ in table.pairs()}
    assert {*READERS, *TABLES} <= states and {"caught-up", "behind"} <= states
