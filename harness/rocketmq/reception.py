"""The receptions of one message by consumers: the second part of its autopsy.

It shows the first delivery to each reader (a group; each consumer of a broadcasting group) and its repeats; pulls or
assignments that skip the message although the reader lacks it, or repeat it; and the first broker, and the first one
after its restart, that recorded that a group has passed it. For readers in normal order only the delivery is shown.

Left out: whether it was allowed, as in :mod:`pairproof.harness.rocketmq.autopsy`. Bounded by the consumers of one
trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..history import Event
from ..texts.content import level_of, payload
from . import topology
from .known.replay import Reader
from .naming import the

MAX_REPEATS = 8


class Reception(Reader):
    """``say`` adds a line at an event; ``events``: the trial's, to find the message's final position first."""

    def __init__(self, message: str, events: Iterable[Event], add: Callable[[Event, str], None]) -> None:
        super().__init__()
        self.message = message
        self.add = add
        self.home = topology.MASTER
        self.queue: str | None = None
        self.level = 0
        """For its delay; 0: none."""
        self.is_half = False
        self.offset: int | None = None
        self.brought_by: set[int | None] = set()
        """Pulls whose answers contained it; its deliveries may be recorded before or after the answer's end."""
        for event in events:
            if event.message == message:
                self._find(event)
        self.readers: dict[str, int] = {}
        self.broadcasting: set[int | None] = set()
        self.plain: set[tuple[int | None, str | None]] = set()
        self.noted: set[tuple[str, str]] = set()
        """Brokers that recorded that a group has passed it."""
        self.answers: dict[tuple[int | None, str | None], str] = {}
        """The broker that last gave a consumer its group's progress."""

    def is_elsewhere(self, event: Event) -> bool:
        """Whether this concerns brokers of the other name than the message's: their queues have the same names."""
        return (event.node == topology.OTHER) != (self.home == topology.OTHER)

    def _find(self, event: Event) -> None:
        if event.kind == "deliver":
            self.brought_by.add(event.op)
        if event.kind == "invoke" and event.f == "send":
            self.home = topology.OTHER if event.node == topology.OTHER else topology.MASTER
            self.queue = event.queue
            self.level = level_of(event)
            self.is_half = bool(payload(event.detail).get("half"))
        elif self.offset is None and event.queue == (self.queue or event.queue) and self._is_final(event):
            self.queue, self.offset = event.queue, event.queue_offset

    def _is_final(self, event: Event) -> bool:
        """Whether an event has its final position: the first answer to a waiting message has only its waiting
        position.
        """
        waits = self.level or self.is_half
        return event.kind in ("deliver", "record") or (event.kind == "ok" and event.f == "send" and not waits)

    def on_ok(self, event: Event) -> None:
        if event.group is not None and event.queue == self.queue and not self.is_elsewhere(event):
            if event.f == "query":
                self.answers[event.process, event.queue] = event.node or ""
            elif event.f == "commit":
                self._committed(event)
            elif event.f == "pull":
                self._pulled(event)

    def on_consumer(self, event: Event) -> None:
        if event.status == "on":
            if event.f == "broadcasting":
                self.broadcasting.add(event.process)
            self.readers.setdefault(self._reader(event), 0)

    def on_deliver(self, event: Event) -> None:
        if event.message != self.message:
            return
        if event.group is None:
            if (event.process, event.node) not in self.plain:
                self.plain.add((event.process, event.node))
                self.add(event, f"client {event.process} receives it from {the(event.node)}")
            return
        reader = self._reader(event)
        times = self.readers[reader] = self.readers.get(reader, 0) + 1
        if times <= MAX_REPEATS:
            again = "" if times == 1 else " again" if times == 2 else f" for the {times}th time"
            where = f"{event.queue} at {event.queue_offset}"
            self.add(event, f"{_who(event)} receives it{again} from {the(event.node)}, {where}")

    def on_assign(self, event: Event) -> None:
        """A consumer takes the queue, perhaps at an offset that repeats or skips the message."""
        answer = self.answers.pop((event.process, event.queue), None)
        if event.status != "on" or event.queue != self.queue or self.is_elsewhere(event):
            return
        self._goes_on(event, event.value, f"takes {event.queue}, to go on at", _by(answer))

    def on_crash(self, event: Event) -> None:
        self.noted = {each for each in self.noted if each[1] != event.node}

    on_stop = on_wipe = on_crash

    def _pulled(self, event: Event) -> None:
        if event.value is None or event.queue_offset is None or event.op in self.brought_by:
            return
        if self.offset is not None and (event.value <= self.offset) != (event.queue_offset <= self.offset):
            how = f"asks {the(event.node)} from {event.value} on and continues at"
            self._goes_on(event, event.queue_offset, how, "")

    def _goes_on(self, event: Event, at: int | None, how: str, why: str) -> None:
        if self.offset is None or at is None:
            return
        had = bool(self.readers.get(self._reader(event)))
        if had == (at <= self.offset):
            self.add(event, f"{_who(event)} {how} {at}, which {'repeats' if had else 'skips'} it{why}")

    def _committed(self, event: Event) -> None:
        key = (event.group or "", event.node or "")
        if self.offset is None or (event.queue_offset or 0) <= self.offset or key in self.noted:
            return
        self.noted.add(key)
        had = "" if self.readers.get(self._reader(event)) else ", though it has not received it"
        self.add(event, f"{the(event.node)} records that {event.group} has progressed to {event.queue_offset}{had}")

    def _reader(self, event: Event) -> str:
        name = event.group or ""
        return f"consumer {event.process} of {name}" if event.process in self.broadcasting else name

    def conclusion(self, stored: bool) -> list[str]:
        """For each reader its number of receptions; readers without one only if the message was ``stored``."""
        found = []
        for reader, times in sorted(self.readers.items()):
            if times:
                found.append(f"{reader} received it{'' if times == 1 else f' {times} times'}")
            elif stored:
                found.append(f"{reader} never received it")
        return found


def _who(event: Event) -> str:
    return f"consumer {event.process} of {event.group}"


def _by(node: str | None) -> str:
    return ", by its own choice" if node is None else f", from {the(node)}"
