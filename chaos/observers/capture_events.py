"""Parses the event lines of a capture's run.json about its brokers: start, end, kill, pause and resume.

People and recorders word these differently, so a line is parsed by its words: the brokers that it names, and either a
signal (``SIGKILL``, ``kill -9``, ``SIGTERM``, ``kill -STOP``, ...) or words such as *up*, *ended cleanly*, *killed*,
*paused*, *resumed*. A line is invalid, and reported, if it names no broker, has several meanings, or contradicts other
evidence: the resumption of a broker that was not paused, or a killed broker that continues to send. Remarks are lines
that begin with one of :data:`REMARKS`, or with the name of a process other than a broker, and mention no broker.

Left out: faults of networks, disks and clocks. Their lines are invalid.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...harness.rocketmq.topology import MASTER

START, STOP, KILL, PAUSE, RESUME, END = "start", "stop", "kill", "pause", "resume", "end"
"""``end`` alone does not specify how."""
REMARKS = frozenset({
    "admin", "before", "client", "clients", "consumer", "consumers", "explicit", "idle", "log", "note", "producer",
    "producers", "topics",
})  # fmt: skip
"""First words of lines about actions of the clients and the recorder."""
IN_SYNC = re.compile(r"in sync\b", re.IGNORECASE)
MAX_LINE = 1_000
LATE_NS = 1_000_000_000
"""A broker may end this long after its line: it sends nothing after that."""

_NUMBERS = {"9": KILL, "kill": KILL, "15": STOP, "term": STOP, "19": PAUSE, "stop": PAUSE, "18": RESUME, "cont": RESUME}
_SIGNAL = re.compile(
    r"\b(?:p?kill(?:all)?\s+-(?:s\s+)?(?:sig)?|sig-?)(9|kill|15|term|19|stop|18|cont)(?:l?ed|ped|inued|s)?\b"
)
_WORDS = {
    START: re.compile(r"\b(up|starts?|started|restarted|booted|launched|running|comes back|came back)\b"),
    STOP: re.compile(r"\b(ended cleanly|exited cleanly|shut ?down|stops?|stopped|(exit|exited|code|status) (0|143))\b"),
    KILL: re.compile(r"\b(kills?|killed|crash|crashed|crashes|oom|(exit|exited|code|status) 137)\b"),
    PAUSE: re.compile(r"\b(paused?|pauses|suspended|suspends|frozen|freezes?|froze)\b"),
    RESUME: re.compile(r"\b(resumed?|resumes|continued?|continues|unpaused?|thawed|unfrozen|goes on)\b"),
    END: re.compile(r"\b(ended|ends|gone|exited|exits|died)\b"),
}
_GOES_WITH = {
    KILL: {KILL, END, STOP}, STOP: {STOP, END, KILL}, PAUSE: {PAUSE, STOP}, RESUME: {RESUME, START},
}  # fmt: skip
"""Words that accompany a signal's meaning."""
_NOT = re.compile(r"\b(not|never|no|cannot|failed|fails|still|about to|will|uncleanly|unless|until)\b|n't\b")
_NAME = re.compile(r"[a-z0-9_.-]*[a-z0-9_]", re.IGNORECASE)
_NUMBER = re.compile(r"\(start (\d{1,6})\b")


class Happening(NamedTuple):
    """An event of a broker, ``t`` ns after t0."""

    t: int
    node: str
    what: str
    number: int | None = None
    """For a start: the number of earlier starts, if its line has it."""
    known: bool = True
    """False if no line has it, so that it is inferred."""
    line: str = ""


class Seen(NamedTuple):
    """One broker's activity on its connections, ns after t0."""

    sent: list[int]
    stood: list[tuple[int, int | None, bool]]
    """In order of opening: times of its connections' opening and closing, and whether it closed them."""


NOTHING = Seen([], [])


class ParsedEvents(NamedTuple):
    """The lines' events, in order of time."""

    happenings: list[Happening]
    in_sync: list[int]
    unread: list[str]
    """Invalid lines, with their times."""
    unended: list[str]
    """Faults without a line about their end."""
    notes: list[str]
    """Events that were inferred without a line."""

    def last_of(self, node: str) -> str | None:
        return next((each.what for each in reversed(self.happenings) if each.node == node), None)


def read_events(
    events: Iterable[tuple[int, str]], brokers: Collection[str], others: Collection[str],
    seen: Mapping[str, Seen],
) -> ParsedEvents:  # fmt: skip
    """Parse the lines, as (ns, text). ``others``: processes other than brokers; ``seen``: activity on connections."""
    reader = _Reader(brokers, others, seen)
    for t, text in sorted(events, key=lambda each: each[0]):
        reader.line(t, text)
    return reader.end()


def meaning(text: str) -> str | None:
    """The one event that a line reports of its node; None if it reports none or several, or denies it."""
    low = text.lower()
    signals = {_NUMBERS[each] for each in _SIGNAL.findall(low)}
    rest = _SIGNAL.sub(" ", low)
    words = {what for what, pattern in _WORDS.items() if pattern.search(rest)}
    if _NOT.search(rest) or len(signals) > 1:
        return None
    if signals:
        (signal,) = signals
        return signal if words <= _GOES_WITH[signal] else None
    if len(words) > 1:
        # The other word specifies the kind of end.
        words.discard(END)
    return words.pop() if len(words) == 1 and words != {END} else None


class _Reader:
    def __init__(self, brokers: Collection[str], others: Collection[str], seen: Mapping[str, Seen]) -> None:
        self.brokers = {each.lower(): each for each in brokers}
        self.others = {each.lower() for each in others}
        self.seen = seen
        self.told: list[Happening] = []
        self.in_sync: list[int] = []
        self.unread: list[tuple[int, str]] = []

    def line(self, t: int, text: str) -> None:
        text = "".join(each if each.isprintable() else " " for each in text[:MAX_LINE])
        names = [each.lower() for each in _NAME.findall(text)]
        named = [self.brokers[each] for each in dict.fromkeys(names) if each in self.brokers]
        what, first = meaning(text), re.split(r"[\s:-]", text.strip().lower(), maxsplit=1)[0]
        if named and what is not None:
            number = _NUMBER.search(text)
            count = int(number[1]) if number else None
            self.told += [Happening(t, node, what, count, line=text) for node in named]
        elif IN_SYNC.match(text.strip()):
            self.in_sync.append(t)
        elif first not in REMARKS and not self.others.intersection(names[:1]):
            self.unread.append((t, text))

    def end(self) -> ParsedEvents:
        found: list[Happening] = []
        unended: list[str] = []
        notes: list[str] = []
        for node in self.brokers.values():
            broker = _Broker(node, self.seen.get(node, NOTHING))
            for each, restarted in _with_next_start([one for one in self.told if one.node == node]):
                if not broker.take(each, restarted):
                    self.unread.append((each.t, f"{each.line} ({each.what} of {node}? what else is known contradicts)"))
            broker.end()
            found += broker.happenings
            unended += broker.unended
            notes += broker.notes
        shown = [f"{_seconds(t)}: {text}" for t, text in sorted(self.unread)]
        return ParsedEvents(sorted(found, key=lambda each: each.t), self.in_sync, shown, unended, notes)


class _Broker:
    """One broker's possible sequence of events."""

    def __init__(self, node: str, seen: Seen) -> None:
        self.node = node
        self.sent, self.stood = seen
        self.happenings: list[Happening] = []
        self.unended: list[str] = []
        self.notes: list[str] = []
        self.is_up = False
        self.paused: int | None = None
        """Start of the present pause."""

    def take(self, each: Happening, restarted: int | None) -> bool:
        """Add an event; False if it is impossible. ``restarted``: the next start."""
        again = None
        if each.what in (STOP, KILL):
            # Bytes are observed shortly after a line is written, and the line may come first.
            number = bisect_left(self.sent, restarted) if restarted is not None else len(self.sent)
            last = self.sent[number - 1] if number else each.t
            if last > each.t + LATE_NS:
                ended, again = self._ends_with_connection(each.t)
                if ended is None:
                    return False
                each = each._replace(t=ended)
            elif last > each.t:
                each = each._replace(t=last + 1)
            if not self._is_up(each.t):
                return False
        if each.what == START:
            if self.is_up:
                self.notes.append(f"{self.node} starts again at {_seconds(each.t)}, and no line says how it had ended")
                self._resumed(each.t, says_when=False)
                self.happenings.append(Happening(self._ended_before(each.t), self.node, KILL, known=False))
            self.is_up = True
        elif each.what == PAUSE:
            if self.paused is not None or not self._is_up(each.t):
                return False
            self.paused = each.t
        elif each.what == RESUME:
            if self.paused is None:
                return False
            self.paused = None
        else:
            # A paused broker cannot end in an orderly way: it was resumed before.
            self._resumed(each.t, says_when=each.what == KILL)
            self.is_up = False
        self.happenings.append(each)
        if again is not None:
            self.notes.append(f"no line says when {self.node} started again: taken to be {_seconds(again)}")
            self.happenings.append(Happening(again, self.node, START))
            self.is_up = True
        return True

    def _ended_before(self, t: int) -> int:
        """End of a broker that starts at ``t``: when it last closed a connection of this incarnation."""
        since = self.happenings[-1].t if self.happenings else 0
        closes = (end for _, end, itself in self.stood if itself and end is not None and since <= end <= t)
        return max(closes, default=t)

    def _ends_with_connection(self, t: int) -> tuple[int | None, int | None]:
        """Closing time of the connection that was open at ``t``, and opening time of the next one.

        It sends again after a line about its end: if no line has its restart, that was before.
        """
        closed = next((end for begin, end, _ in self.stood if begin <= t and (end is None or end >= t - LATE_NS)), None)
        if closed is None:
            return None, None
        ended = max(t, closed)
        again = next((begin for begin, *_ in self.stood if begin >= closed), None)
        return (ended, None) if again is None else (min(ended, again), again)

    def end(self) -> None:
        if not self.happenings and self.sent:
            self._is_up(self.sent[0])
        if self.paused is not None:
            self.unended.append(f"{self.node} stands still from {_seconds(self.paused)}, and no line says until when")

    def _is_up(self, t: int) -> bool:
        """Whether it runs at ``t``; without an earlier start line it is assumed to run from the beginning.

        A slave is restarted after the tap began to listen: it is assumed to run from its first connection before ``t``.
        """
        if not self.is_up and not self.happenings:
            first = 0 if self.node == MASTER else min((begin for begin, *_ in self.stood if begin <= t), default=0)
            since = f"its first connection, {_seconds(first)}" if first else "the beginning"
            self.notes.append(f"no line says when {self.node} started: taken to run from {since}")
            self.happenings.append(Happening(first, self.node, START, known=False))
            self.is_up = True
        return self.is_up

    def _resumed(self, t: int, says_when: bool) -> None:
        if self.paused is None:
            return
        if not says_when:
            self.unended.append(f"{self.node} stands still from {_seconds(self.paused)}, and no line says until when")
        self.paused = None
        self.happenings.append(Happening(t, self.node, RESUME, known=says_when))


def _with_next_start(happenings: Sequence[Happening]) -> list[tuple[Happening, int | None]]:
    """Each with the broker's next start."""
    found: list[tuple[Happening, int | None]] = []
    following: int | None = None
    for each in reversed(happenings):
        found.append((each, following))
        following = each.t if each.what == START else following
    return found[::-1]


def _seconds(t: int) -> str:
    return f"{t / 1e9:.3f} s"
