"""What is measured of a history, from hand-written ones whose figures stand beside them."""

from __future__ import annotations

import json
from typing import Any

from pairproof.harness.history import Event, Recorder
from pairproof.reports.traces.measured import measure
from pairproof.reports.traces.sends import Deployment, Send, deployment, sends

MS = 1_000_000


class Play:
    """A history in the making; ``at`` is in ms."""

    def __init__(self, role: str = "SYNC_MASTER") -> None:
        self.made = Recorder()
        self.ops = 0
        settings = json.dumps({"brokerRole": role, "flushDiskType": "SYNC_FLUSH"})
        self.at(0, "config", "master", detail=settings)

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

    @property
    def events(self) -> list[Event]:
        return self.made.events


def test_a_send_s_latency_is_told_under_the_faults_that_it_overlapped() -> None:
    play = Play().send(10, 15).on(20, 0, "stall")
    slow = play.asks(30)
    play.on(35, 1, "kill").answers(90, slow, status="FLUSH_SLAVE_TIMEOUT").off(100, 0, "stall")
    across = play.asks(105)
    play.off(110, 1, "kill").answers(120, across).send(130, 131)
    assert sends(play.events) == [
        Send("none", 1, 0, 0, 0, 5 * MS),
        Send("several faults", 0, 1, 0, 0, 60 * MS),
        Send("kill", 1, 0, 0, 0, 15 * MS),
        Send("none", 1, 0, 0, 0, 1 * MS),
    ]


def test_a_fault_that_hit_nothing_counts_for_no_send_and_one_that_never_ended_does() -> None:
    play = Play().on(0, 0, "down").send(1, 2).off(3, 0, "down", bit=0).on(4, 1, "latency").send(5, 9)
    assert [row.fault for row in sends(play.events)] == ["none", "latency"]


def test_sends_that_were_refused_or_not_answered_have_no_latency_and_are_counted() -> None:
    play = Play().send(1, 2, "fail", "SYSTEM_ERROR").send(3, 9, "info", "timeout")
    play.asks(10)
    play.send(11, 12, node="other")
    assert sends(play.events) == [
        Send("none", 0, 0, 1, 0, None),
        Send("none", 0, 0, 0, 1, None),
        Send("none", 0, 0, 0, 1, None),
    ], "and what another broker name's master answers is no send to the pair"


def test_a_deployment_is_what_the_master_promises() -> None:
    assert deployment(Play("ASYNC_MASTER").events) == Deployment("ASYNC_MASTER", "SYNC_FLUSH")


def test_a_history_without_anything_is_measured_too() -> None:
    deployed, rows = measure([])
    assert deployed == Deployment() and not any(rows.values())
