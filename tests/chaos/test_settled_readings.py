"""A reading of a table is evidence only if the table cannot have changed while it was read."""

from __future__ import annotations

import pytest

from pairproof.chaos.rocketmq.settled import settled
from pairproof.harness.history import Event, kinds


def event(t: int, kind: str, node: str, **columns: object) -> Event:
    return kinds()[kind](0, t, kind, node, **columns)  # type: ignore[arg-type]


def reading(t: int, asked: int | None) -> Event:
    return event(t, "table", "slave", f="topics", hi=asked, detail="{}")


@pytest.mark.parametrize(
    "other",
    [
        event(50, "sync", "slave", f="topics", status="applied"),
        event(50, "persist", "slave", f="topics"),
        event(50, "invoke", "slave", f="commit"),
        event(50, "ok", "slave", f="topic"),
        event(50, "start", "slave"),
    ],
)
def test_a_reading_during_which_its_node_changed_is_left_out(other: Event) -> None:
    assert list(settled([other, reading(60, 40)])) == [other]
    assert len(list(settled([other, reading(60, 51)]))) == 2
    assert len(list(settled([reading(49, 40), other]))) == 2
    elsewhere = other._replace(node="master")
    assert len(list(settled([elsewhere, reading(60, 40)]))) == 2


def test_a_reading_for_which_nobody_waits_stays_and_none_tells_when_it_was_asked_for() -> None:
    sync = event(50, "sync", "slave", f="topics", status="applied")
    assert list(settled([sync, reading(50, None)])) == [sync, reading(50, None)]
    assert list(settled([reading(60, 40)])) == [reading(60, None)]
