"""What an ``await`` counts, from when, and that it looks at each event once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import pytest

from pairproof.chaos.labs.awaiting import Awaiting
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.rocketmq.operations.await_ import HAPPENED
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import Interpreter, run_trial
from pairproof.harness.trials.schedule import Op, Schedule

LAB = resolve.lab("sim")
TARGET = resolve.target("reference")

PUT = Event(0, 0, "ok", f="send", status="PUT_OK")
LATE = Event(0, 0, "ok", f="send", status="FLUSH_SLAVE_TIMEOUT")
LOST = Event(0, 0, "info", f="send", status="timeout")
PULLED = Event(0, 0, "ok", f="pull", status="FOUND")
OWN = Event(0, 0, "append", "master", f="put")
COPY = Event(0, 0, "append", "slave", f="replicate")
LEFT = Event(0, 0, "frame", "master", side="m")
CAME = Event(0, 0, "frame", "slave", side="s")
ALL = (PUT, LATE, LOST, PULLED, OWN, COPY, LEFT, CAME)


@pytest.mark.parametrize(
    ("what", "counted"),
    [("answered", {PUT, LATE, LOST}), ("acknowledged", {PUT}), ("replicated", {COPY}), ("frames", {CAME})],
)
def test_what_counts(what: str, counted: set[Event]) -> None:
    assert {each for each in ALL if HAPPENED[what](each)} == counted


def test_only_what_comes_after_it_began_counts() -> None:
    events = [PUT, PUT]
    awaiting = Awaiting(events, HAPPENED["acknowledged"], 2)
    events.append(PUT)
    assert not awaiting.reached() and awaiting.seen == 1
    events += [LATE, PUT, PUT]
    assert awaiting.reached() and awaiting.seen == 2


class Scanned(Sequence[Event]):
    """Counts how often an event is looked at."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.looks = 0

    def __len__(self) -> int:
        return len(self.events)

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Event]: ...
    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return self.events[at]


def test_each_event_is_looked_at_once_however_often_one_asks() -> None:
    seen = Scanned()
    awaiting = Awaiting(seen, HAPPENED["frames"], 1)
    for _ in range(100):
        seen.events.append(OWN)
        awaiting.reached()
        awaiting.reached()
    assert seen.looks == 100


def test_nothing_else_can_be_awaited() -> None:
    with pytest.raises(UsageError, match="nothing called 'rain' can be awaited; valid: answered, acknowledged"):
        Interpreter(LAB.open(TARGET, TARGET.settings({}), "await"), resolve.faults()).do(
            Op("await", {"what": "rain", "count": 1, "ms": 1})
        )


SENDS = tuple(Op("send", {"producer": each, "size": 100, "wait": True, "queue": 0}) for each in range(3))


def waited(
    *before: Op, what: str, count: int, ms: int, settings: Mapping[str, object] | None = None
) -> tuple[int, list[Event]]:
    """For how many ns the simulated pair waited, and what happened meanwhile."""
    session = LAB.open(TARGET, TARGET.settings(settings or {}), "await")
    session.warm_up()
    interpreter = Interpreter(session, resolve.faults())
    for op in before:
        interpreter.do(op)
    began, seen = session.now(), len(session.recorder.events)
    interpreter.do(Op("await", {"what": what, "count": count, "ms": ms}))
    assert interpreter.skipped == []
    return session.now() - began, session.recorder.events[seen:]


@pytest.mark.parametrize("what", ["answered", "acknowledged", "replicated"])
def test_time_passes_in_the_simulation_until_it_has_happened_often_enough(what: str) -> None:
    took, meanwhile = waited(*SENDS, what=what, count=2, ms=10_000)
    assert 0 < took < 1_000_000_000
    # Not an event longer than that.
    assert sum(map(HAPPENED[what], meanwhile)) == 2 and sum(map(HAPPENED[what], meanwhile[:-4])) < 2


@pytest.mark.parametrize("what", ["applied", "registered"])
def test_tables_and_registrations_can_be_awaited(what: str) -> None:
    took, meanwhile = waited(*SENDS, what=what, count=2, ms=120_000, settings={"lab.nameServer": 1})
    assert 0 < took < 120_000_000_000
    assert sum(map(HAPPENED[what], meanwhile)) == 2


def test_time_passes_until_the_limit_if_it_does_not_happen() -> None:
    down = Op("fault", {"name": "down", "link": "ha"})
    took, meanwhile = waited(down, *SENDS, what="replicated", count=1, ms=700)
    assert took == 700_000_000 and not any(map(HAPPENED["replicated"], meanwhile))
    assert waited(what="answered", count=0, ms=700)[0] == 0


def test_a_trial_with_it_is_the_same_twice() -> None:
    ops = (*SENDS, Op("await", {"what": "acknowledged", "count": 1, "ms": 1_000}), *SENDS)
    one, other = (run_trial(LAB, TARGET, Schedule({}, "s", ops)) for _ in range(2))
    assert one.events == other.events and not one.skipped
