"""Simulated TCP through a simulated toxiproxy: ordered chunks, a bounded socket buffer, toxics per direction.

A *link* is a named way to a port (``ha``, ``client-master``, ``client-slave``); a connection has two *ends*. Toxics act
on bytes as toxiproxy's do: a stall holds them and loses nothing, latency delays them, limit_data passes n bytes of each
connection and then closes it, a cut closes connections orderly and refuses new ones, a reset closes them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pairproof.chaos.labs.sim.kernel import MS, Kernel

if TYPE_CHECKING:
    from pairproof.chaos.labs.sim.host import Host

Tap = Callable[[bytes], None]
Limit = list[int]
"""[bytes left] of one limit_data toxic on one connection."""


class Toxic:
    """One toxic on one direction, and what it has done so far."""

    __slots__ = ("amount", "direction", "effect", "kind")

    def __init__(self, kind: str, amount: int, direction: Direction) -> None:
        self.kind = kind
        self.amount = amount
        self.direction = direction
        self.effect: dict[str, int] = {}

    def count(self, what: str, amount: int) -> None:
        """Add to what it did."""
        self.effect[what] = self.effect.get(what, 0) + amount


class Direction:
    """One direction of a link: up (towards the server) or down."""

    __slots__ = ("latency", "limits", "slow", "stalls")

    def __init__(self, latency_ns: int) -> None:
        self.latency = latency_ns
        self.stalls: list[Toxic] = []
        self.slow: list[Toxic] = []
        self.limits: list[Toxic] = []


class Link:
    """A named way to one port of one host."""

    __slots__ = ("cuts", "down", "ends", "host", "name", "port", "up")

    def __init__(self, name: str, host: Host, port: str, latency_ns: int) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.up = Direction(latency_ns)
        self.down = Direction(latency_ns)
        self.cuts: list[Toxic] = []
        self.ends: list[End] = []

    def direction(self, name: str) -> Direction:
        """``up`` or ``down``."""
        return self.up if name == "up" else self.down


class End:
    """One end of a connection. ``outgoing`` is the direction that its bytes take."""

    __slots__ = (
        "held", "host", "in_flight", "label", "last_arrival", "limits", "link", "open", "outgoing", "peer", "tap_in",
        "tap_out", "wants_room",
    )  # fmt: skip

    def __init__(self, link: Link, host: Host, outgoing: Direction) -> None:
        self.link = link
        self.host = host
        self.outgoing = outgoing
        self.peer: End = self
        self.open = True
        self.in_flight = 0
        self.last_arrival = 0
        # Chunks that a stall holds, in order; None is the FIN.
        self.held: list[bytes | None] = []
        self.limits: list[tuple[Toxic, Limit]] = [(toxic, [toxic.amount]) for toxic in outgoing.limits]
        self.tap_in: Tap | None = None
        self.tap_out: Tap | None = None
        self.wants_room = False
        self.label = ""


class Network:
    """Carries bytes between ends. ``buffer`` bounds what one direction of a connection holds, bytes."""

    def __init__(self, kernel: Kernel, buffer: int) -> None:
        self.kernel = kernel
        self.buffer = buffer
        self.links: dict[str, Link] = {}

    # What a host does.

    def send(self, end: End, data: bytes) -> int:
        """Hand over bytes as to a non-blocking socket; how many were taken."""
        if not end.open:
            return len(data)
        room = self.buffer - end.in_flight
        if room < len(data):
            end.wants_room = True
            data = data[: max(0, room)]
        if data:
            end.in_flight += len(data)
            if end.tap_out is not None:
                end.tap_out(data)
            self._put_on_wire(end, data)
        return len(data)

    def close(self, end: End) -> None:
        """Close orderly: what was sent arrives, then the peer hears of it."""
        if end.open:
            end.open = False
            self._put_on_wire(end, None)
            self._forget(end)

    def reset(self, end: End) -> int:
        """Both ends are gone at once with all that was on the way; bytes lost."""
        lost = 0
        for each in (end, end.peer):
            lost += each.in_flight
            if each.open:
                each.open = False
                self._forget(each)
                self.kernel.at(self.kernel.now, _tell_closed, each)
        return lost

    def vanish(self, end: End) -> None:
        """The end's machine lost power: nobody tells the peer."""
        end.open = False
        end.held.clear()

    def _put_on_wire(self, end: End, chunk: bytes | None) -> None:
        direction = end.outgoing
        delay = direction.latency
        for toxic in direction.slow:
            delay += toxic.amount * MS
            toxic.count("bytes_delayed", len(chunk) if chunk else 0)
        arrival = self.kernel.now + delay
        if arrival < end.last_arrival:
            arrival = end.last_arrival
        end.last_arrival = arrival
        self.kernel.at(arrival, self._arrive, end, chunk)

    def _arrive(self, sender: End, chunk: bytes | None) -> None:
        if sender.outgoing.stalls or sender.held:
            sender.held.append(chunk)
            for toxic in sender.outgoing.stalls:
                toxic.count("bytes_held", len(chunk) if chunk else 0)
            return
        self._deliver(sender, chunk)

    def _deliver(self, sender: End, chunk: bytes | None) -> None:
        receiver = sender.peer
        if chunk is None:
            self._hear_close(receiver)
            return
        sender.in_flight -= len(chunk)
        if not receiver.open:
            self._answer_dead(sender, receiver)
            return
        exhausted = None
        if sender.limits:
            chunk, exhausted = _limited(sender, chunk)
        if chunk:
            if receiver.tap_in is not None:
                receiver.tap_in(chunk)
            receiver.host.hear(receiver, chunk)
        if exhausted is not None:
            exhausted.count("connections_closed", 1)
            self._close_both(sender)
        elif sender.wants_room and sender.open:
            sender.wants_room = False
            self.kernel.at(self.kernel.now, _tell_writable, sender)

    def _answer_dead(self, sender: End, receiver: End) -> None:
        """Bytes reached an end that is no more: a running machine answers with RST, a dead one with silence."""
        if sender.open and receiver.host.powered:
            sender.open = False
            self._forget(sender)
            self.kernel.at(self.kernel.now + receiver.outgoing.latency, _tell_closed, sender)

    def _hear_close(self, end: End) -> None:
        if end.open:
            end.open = False
            self._forget(end)
            _tell_closed(end)

    def _close_both(self, end: End) -> None:
        for each in (end, end.peer):
            if each.open:
                each.open = False
                self._forget(each)
                self.kernel.at(self.kernel.now, _tell_closed, each)

    def _forget(self, end: End) -> None:
        if end in end.link.ends:
            end.link.ends.remove(end)

    # What faults do.

    def add_toxic(self, link: Link, direction: str, kind: str, amount: int) -> Toxic:
        """Put a toxic on a direction; it acts on the connections that are open, too."""
        where = link.direction(direction)
        toxic = Toxic(kind, amount, where)
        {"stall": where.stalls, "latency": where.slow, "limit_data": where.limits}[kind].append(toxic)
        if kind == "limit_data":
            for end in link.ends:
                if end.outgoing is where:
                    end.limits.append((toxic, [amount]))
        return toxic

    def remove_toxic(self, link: Link, toxic: Toxic) -> None:
        """Take it off; what a stall held goes on its way, in order."""
        where = toxic.direction
        for each in (where.stalls, where.slow, where.limits):
            if toxic in each:
                each.remove(toxic)
        for end in list(link.ends):
            if end.outgoing is where:
                end.limits = [pair for pair in end.limits if pair[0] is not toxic]
        if toxic.kind == "stall" and not where.stalls:
            self._release(link, where)

    def _release(self, link: Link, where: Direction) -> None:
        # A closed end may still have bytes on the way, so the ends are found from both sides.
        for end in {id(e): e for one in link.ends for e in (one, one.peer)}.values():
            if end.outgoing is where and end.held:
                self.kernel.at(self.kernel.now, self._drain, end)

    def _drain(self, end: End) -> None:
        # Until the last held chunk is through, later ones queue behind it: TCP never reorders.
        while end.held and not end.outgoing.stalls:
            self._deliver(end, end.held.pop(0))

    def cut(self, link: Link) -> Toxic:
        """Close every connection of the link orderly and refuse new ones."""
        toxic = Toxic("down", 0, link.up)
        link.cuts.append(toxic)
        for end in list(link.ends):
            if end.open:
                toxic.count("connections_closed", 1)
                toxic.count("bytes_lost", end.in_flight + end.peer.in_flight)
                self._close_both(end)
        return toxic


def _limited(sender: End, chunk: bytes) -> tuple[bytes, Toxic | None]:
    exhausted = None
    for toxic, left in sender.limits:
        if len(chunk) >= left[0]:
            toxic.count("bytes_lost", len(chunk) - left[0])
            chunk = chunk[: left[0]]
            exhausted = toxic
        left[0] -= len(chunk)
    return chunk, exhausted


def _tell_closed(end: End) -> None:
    end.host.hear_closed(end)


def _tell_writable(end: End) -> None:
    if end.open:
        end.host.hear_writable(end)
