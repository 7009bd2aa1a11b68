"""What a lab cannot do on this machine is skipped with its reason: it neither began nor passed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pairproof.harness.errors import LabError, Unable
from pairproof.harness.exploration.coverage_table import CoverageTable
from pairproof.harness.history import Recorder
from pairproof.harness.rocketmq.coverage import cover
from pairproof.harness.trials.interpreter import Interpreter
from pairproof.harness.trials.schedule import Op

WHY = "no loop devices: needs root"
BEGIN = Op("fault", {"name": "full"})
END = Op("heal", {"name": "full"})


class Fills:
    def fill(self) -> None: ...


class Full:
    """A fault whose ability the lab has, at some times."""

    name = "full"
    needs = Fills
    arguments = {"node": ("master", "slave")}

    def start(self, session: FakeSession, args: Any) -> str:
        session.fill()
        return "handle"

    def stop(self, session: FakeSession, handle: str) -> dict[str, int]:
        if session.stuck:
            raise Unable(WHY)
        return {"files_refused": 2}


class FakeSession(Fills):
    def __init__(self, able: bool) -> None:
        self.recorder = Recorder()
        self.able = able
        self.stuck = False

    def now(self) -> int:
        return 7

    def fill(self) -> None:
        if not self.able:
            raise Unable(WHY)

    def join(self, group: int, consumer: int) -> None:
        self.fill()

    def leave(self, group: int, consumer: int, lost: bool) -> None:
        self.fill()

    def send(self) -> None: ...
    def pull(self) -> None: ...
    def advance(self) -> None: ...


def play(session: FakeSession, *ops: Op) -> Interpreter:
    found = Interpreter(session, {"full": Full()})  # type: ignore[arg-type, dict-item]
    for op in ops:
        found.do(op)
    return found


def test_a_fault_that_cannot_begin_is_skipped_for_its_reason_and_has_no_outcome() -> None:
    played = play(FakeSession(able=False), BEGIN, BEGIN, END)
    played.heal()
    assert played.skipped == [f"full: {WHY}"]
    assert played.outcomes == [] and played.active == []


def test_one_that_can_begin_has_an_outcome() -> None:
    played = play(FakeSession(able=True), BEGIN, END)
    assert played.skipped == [] and [each.bit for each in played.outcomes] == [1]


def test_in_the_history_it_ends_at_once_and_did_nothing() -> None:
    events = play(FakeSession(able=False), BEGIN).session.recorder.events
    assert [(each.f, each.status, each.node, each.op) for each in events] == [
        ("full", "on", "master", 0),
        ("full", "off", "master", 0),
    ]
    assert events[1].value == 0 and json.loads(events[1].detail or "") == {"unable": WHY}
    table = CoverageTable()
    table.merge(cover(events))
    assert "full" not in {fault for _, _, fault in table.rows()}


def test_another_operation_that_cannot_be_is_skipped_too() -> None:
    join = Op("join", {"group": 0, "consumer": 0})
    assert play(FakeSession(able=False), join).skipped == [f"join: {WHY}"]
    assert play(FakeSession(able=True), join).skipped == []


def test_a_fault_that_cannot_end_is_the_labs_failure() -> None:
    session = FakeSession(able=True)
    played = play(session, BEGIN)
    session.stuck = True
    with pytest.raises(LabError, match="no loop devices"):
        played.heal()
