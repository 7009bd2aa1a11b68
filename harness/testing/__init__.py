"""Helpers for tests of plug-ins: histories written by hand, one law's verdicts on them, and a toy pair.

A history is a builder with a line for each event. Every method appends events and returns the builder:
``History().invoke("m0").ok("m0").crash("master")``. Time passes only by :meth:`History.after`.

:mod:`pairproof.harness.testing.toy` has a lab and a target for trials without a real system. RocketMQ's own events
(reports, frames, appends, audits) are in :mod:`pairproof.harness.rocketmq.testing`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Self

from ..history import MS, Event, Recorder
from ..judging.judge import Judge
from ..judging.law import Law
from ..judging.verdict import Judgement, Verdict


class History:
    def __init__(self) -> None:
        self.recorder = Recorder()
        self.t = 0
        self.ops = 0
        self.audits = 0
        self.began: dict[str, tuple[int, int]] = {}
        """By message: the number of its call, and whether it waits."""

    @property
    def events(self) -> list[Event]:
        return self.recorder.events

    def add(self, kind: str, **columns: object) -> Self:
        """Any event; columns are named as in docs/history.md."""
        self.recorder.add(self.t, kind, **columns)
        return self

    def after(self, ms: float) -> Self:
        self.t += int(ms * MS)
        return self

    def start(self, node: str) -> Self:
        return self.add("start", node=node, f="normal")

    def stop(self, node: str) -> Self:
        return self.add("stop", node=node)

    def crash(self, node: str, how: str = "process") -> Self:
        return self.add("crash", node=node, f=how, value=0)

    def wipe(self, node: str, f: str = "empty") -> Self:
        """The node goes down, and has another store when it is up again."""
        return self.crash(node).add("wipe", node=node, f=f)

    def pause(self, node: str, ms: float) -> Self:
        return self.add("pause", node=node).after(ms).add("resume", node=node)

    def fault(self, name: str, target: str, status: str = "on", detail: str | None = None) -> Self:
        """A fault at a node or a link begins or ends; one of each name and target at a time."""
        where = {"node" if target.startswith(("master", "slave")) else "link": target}
        op = sum(map(ord, name + target))
        return self.add("fault", op=op, f=name, status=status, detail=detail, **where)

    def real(self, instant_ms: int) -> Self:
        """Recorded in a real-time lab, in which a process may need so long for an immediate action."""
        return self.add("lab", f="process", value=0, detail=json.dumps({"instantNs": instant_ms * MS}))

    def stall(self, ms: float, f: str = "harness", node: str | None = None) -> Self:
        """The machine is late from now on, for so long; time itself passes only by :meth:`after`."""
        return self.add("stall", f=f, node=node, value=int(ms * MS), detail="waited for a CPU")

    def mark(self, f: str) -> Self:
        return self.add("mark", f=f)

    def invoke(self, message: str, wait: bool = True, f: str = "send", node: str = "master") -> Self:
        self.began[message] = (self.ops, int(wait))
        self.ops += 1
        op, value = self.began[message]
        return self.add("invoke", node=node, process=0, op=op, f=f, message=message, value=value)

    def ok(self, message: str, status: str = "OK") -> Self:
        return self.over(message, "ok", status)

    def over(self, message: str, phase: str, status: str, f: str = "send", node: str = "master") -> Self:
        """The end of that call: ``phase`` is ok, fail or info."""
        op, value = self.began[message]
        return self.add(phase, node=node, process=0, op=op, f=f, status=status, message=message, value=value)

    def promise(self, message: str, node: str = "master", survives: str | None = "process") -> Self:
        """The client of that call is promised that a node has its write; ``survives``: the node's worst end."""
        op, _ = self.began[message]
        return self.add("promise", node=node, process=0, op=op, message=message, status=survives)

    def written(self, message: str, copies: str = "slave", survives: str | None = "process") -> Self:
        """A write that is answered, and promised for the master and these copies."""
        self.invoke(message, f="write").over(message, "ok", "OK", f="write")
        for node in ("master", *copies.split()):
            self.promise(message, node, survives)
        return self

    def reading(self, node: str, *messages: str, f: str = "final") -> Self:
        """A reader reads everything on a node, in order."""
        self.audits += 1
        op = 1_000 + self.audits
        if f == "read":
            self.add("invoke", node=node, process=1, op=op, f="read")
        for at, message in enumerate(messages):
            self.add("held", node=node, op=op, message=message, queue_offset=at)
        return self.add("scanned", node=node, op=op, f=f, status="source" if node == "master" else "copy")


def judged(law: type[Law], events: Iterable[Event]) -> Judgement:
    """One law's judgement of a history in which everything is observed."""
    judge = Judge((law,))
    judge.feed_all(events)
    return judge.finish()[0]


def assert_holds(law: type[Law], history: History) -> Judgement:
    """The law had something to judge, and no violation."""
    found = judged(law, history.events)
    assert found.verdict is Verdict.HOLDS, (found.verdict, found.violations)
    return found


def assert_vacuous(law: type[Law], history: History) -> None:
    """The law had nothing to judge."""
    found = judged(law, history.events)
    assert found.verdict is Verdict.VACUOUS, (found.verdict, found.judged, found.violations)


def assert_broken(law: type[Law], history: History, saying: str, times: int = 1) -> None:
    """The law is violated ``times`` times, and the text of the first violation contains ``saying``."""
    found = judged(law, history.events)
    assert found.verdict is Verdict.VIOLATED, (found.verdict, found.judged)
    assert saying in found.violations[0].text, found.violations[0].text
    assert found.broken == times, [each.text for each in found.violations]
