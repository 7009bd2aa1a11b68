"""The autopsy of one message: its steps through one trial's events, a line each, and a conclusion.

A pure function of the history. It follows the message's bytes: sent, appended by the master at [lo, hi), flushed,
pushed in a frame, appended and reported by slaves, answered, and lost by a crash, a truncation, a wipe or retention;
then its deliveries (:mod:`pairproof.harness.rocketmq.reception`). The last audits show where it is at the end; without
one, the nodes' own trace. A delayed message is followed from its waiting queue into its own.

Left out: whether the steps were allowed, which the laws and the durability contract judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..history import BY_THEMSELVES, Event
from .contract import STORED
from .known.kept import Kept
from .known.replay import Reader
from .naming import all_of, ms, named, span, the
from .reception import Reception
from .topology import MASTER

HEAD, TAIL = 40, 20
"""The first and the last lines that are shown of a long autopsy."""

Place = tuple[int, int]


class Line(NamedTuple):
    """A step: the event's ``seq`` and time (ns since the trial began), and its text."""

    seq: int
    t: int
    text: str


class Autopsy(NamedTuple):
    message: str
    lines: tuple[Line, ...]
    conclusion: str


def autopsy(events: Sequence[Event], message: str) -> Autopsy:
    """The autopsy of ``message``; ``events`` are one trial's, in ``seq`` order. No lines if it never occurs."""
    steps = _Steps(message, events).read(events)
    steps.reception.read(events)
    steps.lines.sort(key=lambda line: line.seq)
    steps.find()
    lines = steps.lines
    if len(lines) > HEAD + TAIL:
        left = lines[HEAD]._replace(text=f"({len(lines) - HEAD - TAIL} lines left out)")
        lines = [*lines[:HEAD], left, *lines[-TAIL:]]
    return Autopsy(message, tuple(lines), steps.conclusion())


def messages(events: Iterable[Event]) -> list[str]:
    """The keys of all sent, stored or delivered messages, in the order of their first event."""
    return list(dict.fromkeys(event.message for event in events if event.message and _is_about_it(event)))


def _is_about_it(event: Event) -> bool:
    """Whether an event's ``message`` is one: in an administrator's call it is the name of a topic or a group."""
    return event.kind in ("append", "deliver", "record") or event.f == "send"


def message_of(events: Sequence[Event], seq: int | None, text: str) -> str | None:
    """The message of a violation: from its event (``seq``), else the first that its ``text`` names."""
    broken = next((event for event in events if event.seq == seq), None) if seq is not None else None
    if broken is not None and broken.message and _is_about_it(broken):
        return broken.message
    known = set(messages(events))
    return next((each for each in re.findall(r"[\w.-]+", text) if each in known), None)


class _Loss(NamedTuple):
    t: int
    how: str
    under: str
    """Other faults that were active."""
    last: bool


class _Steps(Reader):
    """Bounded by the connections, starts and crashes of one trial."""

    asks = frozenset(("fault",))

    def __init__(self, message: str, events: Sequence[Event]) -> None:
        super().__init__()
        self.message = message
        self.lines: list[Line] = []
        self.reception = Reception(message, events, self.add)
        self.asked: Event | None = None
        self.answer: Event | None = None
        self.copies_then: list[str] = []
        """Slaves that held it when it was answered."""
        self.place: Place | None = None
        self.got: dict[str, Place] = {}
        """By slave: its contiguous appended bytes around the message."""
        self.holds: set[str] = set()
        self.held: set[str] = set()
        self.losses: dict[str, _Loss] = {}
        self.went: dict[str, tuple[int, str]] = {}
        """Nodes that are down: since when, and why."""
        self.kept = Kept()
        self.durable: set[str] = set()
        self.peers: dict[str, str] = {}
        self.seen: set[tuple[str, ...]] = set()
        """Keys of steps that are shown once: (type, link, side), (report, ...), (deliver, ...)."""
        self.under_way: set[str] = set()
        self.replaced = False
        self.records: dict[str, Event] = {}
        self.audits: dict[str, Event] = {}

    def add(self, event: Event, text: str) -> None:
        self.lines.append(Line(event.seq, event.t, text))

    def once(self, *what: str) -> bool:
        if what in self.seen:
            return False
        self.seen.add(what)
        return True

    def on_invoke(self, event: Event) -> None:
        if event.message == self.message and event.f == "send":
            self.asked = event
            waits = "" if event.value is None else ", and waits for the store" if event.value else ", and does not wait"
            self.add(event, f"client {event.process} sends it to {the(event.node)}{waits}")

    def on_ok(self, event: Event) -> None:
        if event.message != self.message or event.f != "send":
            return
        self.answer = event
        self.copies_then = sorted(self.holds - {self.reception.home})
        since = f", {ms(event.t - self.asked.t)} after it was sent" if self.asked else ""
        outcome = {"ok": "answered", "fail": "refused with"}.get(event.kind, "outcome unknown to the client:")
        self.add(event, f"{outcome} {event.status}{since}")

    on_fail = on_info = on_ok

    def on_append(self, event: Event) -> None:
        node, lo, hi = event.node or "", event.lo or 0, event.hi or 0
        if self.reception.is_elsewhere(event):
            return
        self.kept.append(event)
        if event.message == self.message and (node == self.reception.home or event.f == "put"):
            # A slave that puts it itself breaks a law, and is shown like a master.
            self._master_appends(event, node, lo, hi)
        elif node == self.reception.home:
            if self.place and node not in self.holds and lo < self.place[1] and self.place[0] < hi:
                if not self.replaced:
                    self.add(event, f"{the(node)} writes {event.message or 'other bytes'} in its place")
                self.replaced = True
        elif self.place and not self.replaced and lo < self.place[1] and self.place[0] < hi:
            self._slave_appends(event, node, lo, hi)

    def _master_appends(self, event: Event, node: str, lo: int, hi: int) -> None:
        text = f"{the(node)} appends it at {span(lo, hi)}"
        if self.place and not self.replaced:
            # The second record of a delayed or committed message; slaves' copies are of the first.
            why = "it is committed" if self.reception.is_half else "its time has come"
            text = f"{why}: {text}, in its own queue"
            self.holds.clear()
            self.seen = {each for each in self.seen if each[0] not in ("frame", "report")}
        elif self.reception.level:
            text += f", to wait for delay level {self.reception.level}"
        elif self.reception.is_half:
            text += ", as the half of a transaction"
        self.place = (lo, hi)
        self.got.clear()
        self._gains(event, text)
        self.replaced = False

    def _slave_appends(self, event: Event, node: str, lo: int, hi: int) -> None:
        start, end = self.got.get(node, (lo, lo))
        self.got[node] = (start if end == lo else lo, hi)
        if not self._carries(lo, hi) or node in self.holds:
            return
        if self.place and self.got[node][0] > self.place[0]:
            # The bytes before it have diverged: the message is nowhere complete on this slave.
            self.add(event, f"{the(node)} appends the end of it only (bytes {span(lo, hi)})")
        else:
            self._gains(event, f"{the(node)} appends it (bytes {span(lo, hi)})")

    def _gains(self, event: Event, text: str) -> None:
        node = event.node or ""
        self.holds.add(node)
        self.held.add(node)
        self.losses.pop(node, None)
        self.durable.discard(node)
        self.add(event, text)

    def _carries(self, lo: int, hi: int) -> bool:
        """Whether bytes [lo, hi) complete the message."""
        own = self.reception.home == MASTER
        return own and self.place is not None and not self.replaced and lo < self.place[1] <= hi

    def on_flush(self, event: Event) -> None:
        node = event.node or ""
        if self.place and node in self.holds and node not in self.durable and (event.hi or 0) >= self.place[1]:
            self.durable.add(node)
            self.add(event, f"{the(node)} has flushed it: its log is durable up to {event.hi:,}")

    def on_connect(self, event: Event) -> None:
        self.peers[event.link or ""] = event.node or event.f or ""

    def on_frame(self, event: Event) -> None:
        link = event.link or ""
        lo, hi = event.lo or 0, event.hi or 0
        if not self._carries(lo, hi) or not self.once("frame", link, event.side or ""):
            return
        if event.side == "m":
            self.under_way.add(link)
            self.add(event, f"pushed on {link} to {self._peer(link)} in frame {span(lo, hi)}")
        else:
            self.under_way.discard(link)
            self.add(event, f"that frame reaches {the(event.node)} on {link}")

    def on_close(self, event: Event) -> None:
        link = event.link or ""
        if link in self.under_way:
            self.under_way.discard(link)
            self.add(event, f"{link} closes before that frame has reached {self._peer(link)}")

    def on_report(self, event: Event) -> None:
        if not self.place or self.replaced or self.reception.home != MASTER or (event.hi or 0) < self.place[1]:
            return
        link = event.link or ""
        if not self.once("report", link, event.side or ""):
            return
        if event.side == "m":
            self.add(event, f"the master receives report {event.hi:,} of {self._peer(link)} on {link}, which covers it")
        else:
            lacks = "" if event.node in self.holds else ", though it does not hold it"
            self.add(event, f"{the(event.node)} reports {event.hi:,} on {link}{lacks}")

    def _peer(self, link: str) -> str:
        return the(self.peers.get(link) or "slave")

    def on_crash(self, event: Event) -> None:
        node = event.node or ""
        waiting = node == self.reception.home and self.asked is not None and self.answer is None
        how = "own" if event.status in BY_THEMSELVES else event.f or ""
        what, noun = _DOWN.get(how if event.kind == "crash" else "stop", _DOWN["process"])
        lied = ", which its disk had called durable" if event.status == "lied" else ""
        self.went[node] = (event.t, f"{noun} of {the(node)}")
        lost = event.value if event.kind == "crash" else 0
        self.kept.move(event)
        gone = node in self.holds and bool(lost) and self._is_beyond(self.kept.end(node))
        if gone:
            self._loses(event, f"{the(node)} {what}{lied}: {lost:,} bytes of its log are lost, and it with them")
        elif node in self.holds or waiting:
            self.add(event, f"{the(node)} {what}{self._under()}")

    on_stop = on_crash

    def on_abort(self, event: Event) -> None:
        if event.node in self.holds:
            self.add(event, f"{the(event.node)} does not come up again{self._under()}")

    def on_start(self, event: Event) -> None:
        node, lo, hi = event.node or "", event.lo or 0, event.hi or 0
        self.kept.set(node, hi)
        if node in self.got and hi < self.got[node][1]:
            self.got[node] = (self.got[node][0], hi)
        if node in self.holds and self.place:
            if self._is_beyond(hi):
                self._loses(event, f"{the(node)} recovers a log that ends at {hi:,}, before it")
            elif lo > self.place[0]:
                self._loses(event, f"{the(node)} recovers a log that starts at {lo:,}, after it")
            elif node in self.went:
                self.add(event, f"{the(node)} is back, its log {span(lo, hi)} holds it")
        self.went.pop(node, None)

    def on_cut(self, event: Event) -> None:
        if event.node in self.holds and self._is_beyond(event.lo or 0):
            self._loses(event, f"recovery cuts the log of {the(event.node)} at {event.lo or 0:,}, before it")

    def on_wipe(self, event: Event) -> None:
        node, hi = event.node or "", event.hi or 0
        self.kept.move(event)
        if node in self.holds and self._is_beyond(hi):
            image = "an older image" if event.detail is None else f"that of {the(event.detail)}"
            new = f"{image}, which ends at {hi:,}" if event.f == "image" else "an empty one"
            self.went[node] = (event.t, f"the replaced store of {the(node)}")
            self._loses(event, f"the store of {the(node)} is replaced by {new}")

    def on_expire(self, event: Event) -> None:
        if event.node in self.holds and self.place and (event.lo or 0) > self.place[0]:
            self.went[event.node or ""] = (event.t, f"retention on {the(event.node)}")
            self._loses(event, f"{the(event.node)} deletes its oldest files, up to {event.lo:,}")
            del self.went[event.node or ""]

    def _is_beyond(self, end: int) -> bool:
        return self.place is not None and self.place[1] > end

    def _loses(self, event: Event, text: str) -> None:
        node = event.node or ""
        self.holds.discard(node)
        self.durable.discard(node)
        t, how = self.went.get(node, (event.t, f"the recovery of {the(node)}"))
        others = [each for each in self.known.disturbances.active.values() if each.node != node]
        under = f", with {named(others)} active," if others else ""
        self.losses[node] = _Loss(t, how, under, not self.holds)
        self.add(event, text + self._under())

    def _under(self) -> str:
        active = self.known.disturbances.active
        return f" [active: {named(active.values())}]" if active else ""

    def on_record(self, event: Event) -> None:
        if event.message == self.message and not self.reception.is_elsewhere(event):
            self.records[event.node or ""] = event

    def on_audit(self, event: Event) -> None:
        # Other audits list no records.
        if event.f in ("recovery", "final") and not self.reception.is_elsewhere(event):
            self.audits[event.node or ""] = event

    def find(self) -> None:
        """Look it up in the last audits, which are more reliable than the trace."""
        if not self.asked and not self.place and not self.records:
            return
        for node, audit in sorted(self.audits.items(), key=lambda each: each[1].seq):
            record = self.records.get(node)
            if record is not None and record.op == audit.op:
                self.holds.add(node)
                self.add(audit, f"the {audit.f} audit finds it on {the(node)} at {span(record.lo, record.hi)}")
            else:
                self.holds.discard(node)
                self.add(audit, f"the {audit.f} audit does not find it on {the(node)}")

    def conclusion(self) -> str:
        parts = [f"{self.message} {self._outcome()}"]
        if self.answer is not None and self.answer.kind == "ok" and self.answer.status in STORED and self.place:
            parts.append(f"{all_of(self.copies_then) or 'no slave'} held it then")
        lost = sorted(self.losses.items(), key=lambda each: each[1].t)
        for node, loss in lost:
            if node not in self.holds:
                copy = "the only copy" if loss.last and len(self.held) == 1 else "the last copy" if loss.last else ""
                took = "took it" if node == self.reception.home or copy else f"took the copy of {the(node)}"
                parts.append(f"{loss.how} at {ms(loss.t)}{loss.under} {took}{': ' if copy else ''}{copy}")
        parts.append(self._whereabouts())
        parts += self.reception.conclusion(stored=bool(self.held))
        return "; ".join(parts) + "."

    def _outcome(self) -> str:
        if self.answer is None:
            return "was sent, and never answered" if self.asked else "was sent by an unobserved client"
        how = {"ok": "was answered", "fail": "was refused with"}.get(self.answer.kind, "stayed unknown to its sender:")
        return f"{how} {self.answer.status} at {ms(self.answer.t)}"

    def _whereabouts(self) -> str:
        found = sorted(self.holds, key=lambda node: (node != MASTER, node))
        if found:
            without = sorted(node for node in {*self.audits, *self.held} - self.holds)
            return f"at the end it is on {all_of(found)}" + (f", not on {all_of(without)}" if without else "")
        if not self.held:
            return "no broker was observed to store it"
        return "at the end it is nowhere"


_DOWN = {
    "machine": ("loses power", "the power loss"),
    "process": ("is killed", "the kill"),
    "own": ("crashes by itself", "the crash"),
    "stop": ("stops", "the stop"),
}
