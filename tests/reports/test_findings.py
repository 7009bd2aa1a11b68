"""What a finding's first paragraph says of the faults, and what the page says of the message."""

from __future__ import annotations

import pytest

from pairproof.harness.history import Event
from pairproof.reports.pages import under


def fault(seq: int, op: int, status: str, f: str = "kill", detail: str = '{"node": "slave"}') -> Event:
    return Event(seq, seq, "fault", op=op, f=f, status=status, detail=detail)


ON, OFF = fault(1, 0, "on"), fault(3, 0, "off", detail='{"connections_closed": 1}')
OTHER = fault(2, 1, "on", "stall", "{}")


@pytest.mark.parametrize(
    ("events", "at", "said"),
    [
        ([], 4, "without any fault"),
        ([ON, OFF], 0, "before any fault began"),
        ([ON, OFF], 2, "while fault kill (node slave) was active"),
        ([ON, OTHER, OFF], 2, "while faults kill (node slave) and stall were active"),
        ([ON, OTHER, OFF], 4, "while fault stall was active"),
        ([ON, OFF], 4, "after fault kill (node slave) had ended"),
        ([ON], None, "while fault kill (node slave) was active"),
    ],
)
def test_the_faults_are_those_at_the_event_that_broke_the_law(events: list[Event], at: int | None, said: str) -> None:
    assert under(events, at) == said
