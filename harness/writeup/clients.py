"""The answers to clients' writes, and the final positions of these messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..event_types.text import outcome
from ..history import MS, Event
from .blocks import Block, Table, Text

MAX_ROWS = 12
WRITES = ("send", "write")
ABSENT = "not there"


class Write(NamedTuple):
    asked: Event
    answered: Event | None

    @property
    def outcome(self) -> str:
        if self.answered is None:
            return "never answered"
        remark = f" ({self.answered.detail})" if self.answered.detail else ""
        return f"{outcome(self.answered)}{remark}"


def writes(events: Sequence[Event]) -> list[Write]:
    """All calls that store a message, in the order of their beginnings."""
    ends = {
        (each.op, each.message): each for each in events if each.kind in ("ok", "fail", "info") and each.f in WRITES
    }
    begun = (each for each in events if each.kind == "invoke" and each.f in WRITES)
    return [Write(each, ends.get((each.op, each.message))) for each in begun]


def answers(events: Sequence[Event], concerned: Sequence[str]) -> Sequence[Block]:
    """The answers: those of the concerned messages, then the first others, and the number of each."""
    found = writes(events)
    if not found:
        return [Text("None: no client wrote anything.")]
    first = [each for each in found if each.asked.message in concerned]
    chosen = [*first, *(each for each in found if each not in first)][:MAX_ROWS]
    shown = sorted(chosen, key=lambda each: each.asked.seq)
    here = next((at for at, each in enumerate(shown) if each.asked.message in concerned[:1]), None)
    blocks: list[Block] = [
        Table(("message", "sent, ms", "answered, ms", "answer"), [_row(each) for each in shown], here)
    ]
    if len(found) > len(shown):
        counts = Counter(each.answered.status if each.answered else "no answer" for each in found)
        listed = ", ".join(f"{amount} × {status}" for status, amount in counts.most_common())
        blocks.append(Text(f"{len(found) - len(shown)} more are not shown. All {len(found)}: {listed}."))
    return blocks


def _row(each: Write) -> Sequence[str]:
    asked, answered = each.asked, each.answered
    when = "" if answered is None else f"{answered.t / MS:,.3f} ({(answered.t - asked.t) / MS:,.1f} later)"
    return (str(asked.message), f"{asked.t / MS:,.3f}", when, each.outcome)


def whereabouts(
    found: Mapping[str, Mapping[str, str]], nodes: Sequence[str], messages: Sequence[str]
) -> Iterator[Block]:
    """A table of where messages are, a column for each node. ``found``: of the nodes whose stores were read."""
    if not messages:
        yield Text("No message is concerned.")
        return
    rows = [(message, *(_place(found.get(node), message) for node in nodes)) for message in messages]
    yield Table(("message", *nodes), rows)
    if unread := [node for node in nodes if node not in found]:
        yield Text(f"The store of {', '.join(unread)} was not read at the end, so what it holds is unknown.")


def _place(held: Mapping[str, str] | None, message: str) -> str:
    if held is None:
        return "unknown"
    place = held.get(message)
    return ABSENT if place is None else place or "there"
