"""Deadlines: what is late, which time does not count, and what voids one."""

from __future__ import annotations

from pairproof.harness.event_types.machine import Fault
from pairproof.harness.event_types.node import Crash
from pairproof.harness.history import Event
from pairproof.harness.rocketmq import law as rocketmq
from pairproof.harness.rocketmq.known.deadlines import Deadline, Deadlines
from pairproof.harness.rocketmq.known.model import Known


class Law:
    """One that notes what it is called for."""

    def __init__(self) -> None:
        self.known = Known()
        self.late: list[tuple[int, str, int]] = []
        self.abstained: list[str] = []
        self.due = Deadlines[str](self, self._late)

    def abstain(self, reason: str) -> None:
        self.abstained.append(reason)

    def _late(self, event: Event, subject: str, due: Deadline) -> None:
        self.late.append((event.t, subject, due.since))


def at(t: int) -> Event:
    return Event(t, t, "mark")


def test_what_comes_in_time_is_met_and_what_comes_later_is_late() -> None:
    law = Law()
    law.due.begin("a", 10, 5)
    assert law.due.renew(at(15), "a") and law.due.close(at(20), "a") and not law.late
    assert not law.due.renew(at(21), "a") and not law.due.close(at(21), "a")
    law.due.begin("a", 30, 5)
    assert law.due.renew(at(36), "a") and not law.due.close(at(42), "a")
    assert law.late == [(36, "a", 30), (42, "a", 36)]


def test_while_its_node_stands_still_or_it_is_on_hold_no_time_passes() -> None:
    law = Law()
    law.due.begin("a", 10, 5, node="slave")
    law.known.disturbances.pause("slave", 12)
    law.known.disturbances.resume("slave", 50)
    law.due.hold(at(53), "a")
    law.due.renew(at(90), "a")
    assert not law.late
    law.due.hold(at(96), "a")
    assert law.late == [(96, "a", 90)]


def test_a_disturbance_of_a_place_voids_a_deadline_also_in_the_time_before_it() -> None:
    law = Law()
    law.known.disturbances.fault(Fault(3, 3, "fault", "master", op=0, f="any", status="on"))
    law.known.disturbances.fault(Fault(4, 4, "fault", "master", op=0, f="any", status="off"))
    law.due.begin("a", 10, 5, "master")
    law.due.begin("b", 10, 5, "master", settled=6)
    law.due.begin("c", 10, 6, "master")
    law.due.report_missed(at(16))
    assert law.late == [(16, "a", 10)] and list(law.due) == ["c"]
    assert law.abstained == ["disturbed"]


def test_a_nodes_end_closes_its_deadlines_and_the_historys_end_all() -> None:
    law = Law()
    law.due.begin("a", 10, 5, node="slave")
    law.due.begin("b", 10, 5, node="master")
    law.due.disturbed(Crash(20, 20, "crash", "slave"))
    assert list(law.due) == ["b"]
    rocketmq.Law.end(law, at(30))  # type: ignore[arg-type]
    assert law.late == [(20, "a", 10), (30, "b", 10)] and not law.due
