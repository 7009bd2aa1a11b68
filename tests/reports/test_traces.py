"""What is measured of a history, from hand-written ones whose figures stand beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pairproof.harness.history import Event, Recorder
from pairproof.reports.traces import calls, replication
from pairproof.reports.traces.calls import Call, Send
from pairproof.reports.traces.deployment import Deployment, deployment, shown
from pairproof.reports.traces.measured import measure
from pairproof.reports.traces.replication import CatchUp, Lag, Replicated

MS = 1_000_000


class Play:
    """A history in the making; ``at`` is in ms."""

    def __init__(self, role: str = "SYNC_MASTER", slaves: int = 1, masters: int = 1) -> None:
        self.made = Recorder()
        self.ops = 0
        settings = json.dumps({"brokerRole": role, "flushDiskType": "SYNC_FLUSH"})
        nodes = ["master", *("slave", "slave2", "slave3")[:slaves], *["other"][: masters - 1]]
        for node in nodes:
            self.at(0, "config", node, detail=settings)
        for node in nodes:
            self.at(0, "start", node, incarnation=1, f="empty", lo=0, hi=0)

    def at(self, ms: int, kind: str, node: str | None = None, **columns: Any) -> Play:
        self.made.add(ms * MS, kind, node, **columns)
        return self

    def send(self, asked: int, answered: int, kind: str = "ok", status: str = "PUT_OK", **columns: Any) -> Play:
        """A whole send; what happens in between is told by ``asks`` and ``answers``."""
        op = self.asks(asked, **columns)
        return self.answers(answered, op, kind, status, **columns)

    def asks(self, ms: int, f: str = "send", node: str = "master", **columns: Any) -> int:
        self.ops += 1
        self.at(ms, "invoke", node, op=self.ops, f=f, message=f"m{self.ops}", value=1)
        return self.ops

    def answers(
        self,
        ms: int,
        op: int,
        kind: str = "ok",
        status: str = "PUT_OK",
        node: str = "master",
        f: str = "send",
        **more: Any,
    ) -> Play:
        return self.at(ms, kind, node, op=op, f=f, status=status, message=f"m{op}", **more)

    def on(self, ms: int, op: int, name: str, node: str | None = None) -> Play:
        return self.at(ms, "fault", node, op=op, f=name, status="on", detail="{}")

    def off(self, ms: int, op: int, name: str, bit: int = 1) -> Play:
        return self.at(ms, "fault", op=op, f=name, status="off", value=bit, detail="{}")

    def appends(self, ms: int, node: str, lo: int, hi: int) -> Play:
        return self.at(ms, "append", node, f="put" if node == "master" else "replicate", lo=lo, hi=hi)

    def audits(self, ms: int, node: str, *messages: str) -> Play:
        self.ops += 1
        for message in messages:
            self.at(ms, "record", node, op=self.ops, message=message, lo=0, hi=1)
        return self.at(ms, "audit", node, op=self.ops, f="final", lo=0, hi=0, status="whole")

    @property
    def events(self) -> list[Event]:
        return self.made.events


# Latency and throughput.


def test_a_send_s_latency_is_told_under_the_faults_that_it_overlapped() -> None:
    play = Play().send(10, 15).on(20, 0, "stall")
    slow = play.asks(30)
    play.on(35, 1, "kill").answers(90, slow, status="FLUSH_SLAVE_TIMEOUT").off(100, 0, "stall")
    across = play.asks(105)
    play.off(110, 1, "kill").answers(120, across).send(130, 131)
    assert calls.measure(play.events)[1] == [
        Send("none", "out", 1, 0, 0, 0, 5 * MS),
        Send("several faults", "in", 0, 1, 0, 0, 60 * MS),
        Send("kill", "in", 1, 0, 0, 0, 15 * MS),
        Send("none", "out", 1, 0, 0, 0, 1 * MS),
    ]


def test_a_fault_that_hit_nothing_makes_no_window_and_one_that_never_ended_does() -> None:
    play = Play().on(0, 0, "down").send(1, 2).off(3, 0, "down", bit=0).on(4, 1, "latency").send(5, 9)
    assert [(row.fault, row.window) for row in calls.measure(play.events)[1]] == [("none", "out"), ("latency", "in")]


def test_sends_that_were_refused_or_not_answered_have_no_latency_and_are_counted() -> None:
    play = Play().send(1, 2, "fail", "SYSTEM_ERROR").send(3, 9, "info", "timeout")
    play.asks(10)
    play.send(11, 12, node="other")
    assert calls.measure(play.events)[1] == [
        Send("none", "out", 0, 0, 1, 0, None),
        Send("none", "out", 0, 0, 0, 1, None),
        Send("none", "out", 0, 0, 0, 1, None),
    ], "and what another broker name's master answers is no send to the pair"


def test_throughput_is_answers_over_the_time_from_the_first_call_to_the_last_answer() -> None:
    play = Play().send(1_000, 1_100).send(1_200, 1_500).on(2_000, 0, "kill")
    play.send(2_500, 2_600, "info", "timeout").send(2_900, 3_000).off(4_000, 0, "kill").send(4_500, 5_000)
    pull = play.asks(5_000, "pull")
    play.answers(5_250, pull, f="pull", status="FOUND")
    assert calls.measure(play.events)[0] == [
        Call("all", "in", 2, 1, 2_000 * MS),
        Call("all", "out", 4, 4, 2_250 * MS),
        Call("pull", "out", 1, 1, 250 * MS),
        Call("send", "in", 2, 1, 2_000 * MS),
        Call("send", "out", 3, 3, 2_000 * MS),
    ]


# Replication.


def test_lag_is_bytes_behind_at_an_append_and_the_time_until_the_slave_holds_it() -> None:
    play = Play().appends(10, "master", 0, 100).appends(12, "slave", 0, 100)
    play.appends(20, "master", 100, 250).on(21, 0, "stall").appends(30, "master", 250, 300)
    play.appends(40, "slave", 100, 250).appends(45, "slave", 250, 300).off(50, 0, "stall").appends(
        60, "master", 300, 310
    )
    found = replication.measure(play.events)
    assert found.lags == [
        Lag("none", "out", 100, 2 * MS),
        Lag("stall", "in", 150, 20 * MS),
        Lag("stall", "in", 200, 15 * MS),
        Lag("none", "out", 10, None),
    ]
    assert found.replicated == [Replicated("log", 1, 300, 35 * MS)]
    assert found.catch_ups == [], "no fault left the slave behind"


def test_catch_up_is_from_the_end_of_a_fault_until_the_slave_has_what_the_master_had_then() -> None:
    play = (
        Play(slaves=2).on(5, 0, "down").appends(10, "master", 0, 100).appends(11, "slave2", 0, 100).off(20, 0, "down")
    )
    play.appends(25, "master", 100, 180).appends(30, "slave", 0, 60).appends(42, "slave", 60, 180)
    assert replication.measure(play.events).catch_ups == [CatchUp("down", 100, 22 * MS)]
    play.on(50, 1, "kill").appends(55, "master", 180, 200).off(60, 1, "kill").on(61, 2, "stall").appends(
        70, "slave", 180, 200
    )
    assert replication.measure(play.events).catch_ups[1:] == [
        CatchUp("several faults", 20, 10 * MS), CatchUp("several faults", 100, None),
    ], "another fault began before they had caught up, and the second slave never did"  # fmt: skip


def test_bytes_that_the_master_lost_count_neither_as_lag_nor_for_the_slave_that_holds_them() -> None:
    play = Play().appends(10, "master", 0, 100).appends(11, "slave", 0, 100).appends(12, "master", 100, 200)
    play.appends(13, "slave", 100, 200).appends(14, "master", 200, 300)
    # Power loss: the master is back at 120, the slave still has the old bytes up to 200.
    play.at(20, "crash", "master", f="machine", value=180).at(30, "start", "master", incarnation=2, lo=0, hi=120)
    play.appends(40, "master", 120, 150)
    lags = replication.measure(play.events).lags
    assert lags == [
        Lag("none", "out", 100, MS), Lag("none", "out", 100, MS), Lag("none", "out", 30, None),
    ], "[200, 300) is nobody's any more, and [120, 150) is not what the slave has there"  # fmt: skip
    play.at(50, "cut", "slave", lo=120, hi=200).appends(51, "slave", 120, 150)
    assert replication.measure(play.events).lags[2] == Lag("none", "out", 30, 11 * MS)


def test_a_store_from_before_a_promotion_does_not_count_as_the_new_master_s_bytes() -> None:
    play = Play().appends(10, "master", 0, 100).appends(11, "slave", 0, 80).at(20, "crash", "master", f="process")
    play.at(21, "stop", "slave").at(22, "wipe", "master", f="image", hi=80, detail="slave")
    play.at(23, "wipe", "slave", f="image", hi=100, detail="master").at(24, "start", "master", lo=0, hi=80)
    play.appends(30, "master", 80, 95)
    assert replication.measure(play.events).lags[-1] == Lag("none", "out", 15, None)


def test_brokers_without_a_trace_are_measured_by_answers_and_reports() -> None:
    play = Play().at(1, "connect", "slave", link="ha:1", side="s", f="slave")
    play.at(1, "connect", "hostile", link="ha:2", side="m", f="hostile").at(2, "report", link="ha:1", side="s", hi=0)
    play.send(10, 14, lo=0, hi=200).at(15, "report", link="ha:2", side="m", hi=9_999)
    play.at(16, "report", link="ha:1", side="s", hi=200).at(17, "report", link="ha:1", side="m", hi=200)
    found = replication.measure(play.events)
    assert found.lags == [Lag("none", "out", 200, 2 * MS)]
    assert found.replicated == [Replicated("reports", 1, 200, 2 * MS)]


# All together.


@pytest.mark.parametrize(
    ("play", "said"),
    [
        (Play("ASYNC_MASTER", 0), "single master, no slave, ASYNC_MASTER SYNC_FLUSH"),
        (Play("SYNC_MASTER", 2, 2), "2 masters, 2 slaves, SYNC_MASTER SYNC_FLUSH"),
    ],
)
def test_a_deployment_is_who_is_configured_and_what_the_master_promises(play: Play, said: str) -> None:
    assert shown(*deployment(play.events)) == said


def test_a_history_without_anything_is_measured_too() -> None:
    deployed, rows = measure([])
    assert deployed == Deployment() and not any(rows.values())
