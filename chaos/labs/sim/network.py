"""Simulated TCP through a simulated toxiproxy: ordered chunks, a bounded socket buffer, toxics per direction.

A *link* is a named path to a port (``ha``, ``client-master``, ``client-slave``); a connection has two *ends*. Bytes
cross the wire first and then the proxy, whose toxics (:mod:`toxics`, :mod:`pipe`) affect them. A connection without
toxics has no pipe and no cost. The proxy closes as toxiproxy does: the end of one direction reaches its receiver, and
reading from that one ends as well. A cut closes connections in an orderly way and refuses new ones; a reset ends them
at once.

A machine whose cable (:mod:`cable`) is pulled sends and receives nothing; proxies are on the far side of it.

A severed connection is half-open: one end has been notified of its end, the other receives nothing more.

If ``gather`` is not None, bytes that an end sends within that many ns of its first byte arrive as one piece, as from a
system that delays small segments; otherwise every send arrives separately.

Left out: half-closed connections (a close ends both directions), and the success of connects to a proxy whose server is
absent: they fail, or get no answer, as without a proxy. So a proxy's close towards a machine without its cable reaches
that machine only after it is plugged in again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from .active_fault import ActiveFault, count
from .kernel import Entry, Kernel
from .pipe import Pipe
from .toxics import KINDS, Toxic

if TYPE_CHECKING:
    from .host import Host

Tap = Callable[[bytes], None]


class Direction:
    """One direction of a link: up (towards the server) or down. ``toxics`` in the order added."""

    __slots__ = ("latency", "toxics")

    def __init__(self, latency_ns: int) -> None:
        self.latency = latency_ns
        self.toxics: list[Toxic] = []


class Link:
    """A named path to one port of one host."""

    __slots__ = ("cuts", "down", "ends", "host", "name", "port", "up")

    def __init__(self, name: str, host: Host, port: str, latency_ns: int) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.up = Direction(latency_ns)
        self.down = Direction(latency_ns)
        self.cuts: list[ActiveFault] = []
        self.ends: list[End] = []

    def direction(self, name: str) -> Direction:
        return self.up if name == "up" else self.down


class End:
    __slots__ = (
        "abrupt", "gathered", "host", "in_flight", "label", "link", "open", "outgoing", "peer", "pipe", "severed",
        "tap_in", "tap_out", "wants_room",
    )  # fmt: skip

    def __init__(self, link: Link, host: Host, outgoing: Direction) -> None:
        self.link = link
        self.host = host
        self.outgoing = outgoing
        self.peer: End = self
        self.open = True
        # The proxy's side of this socket ends with RST.
        self.abrupt = False
        self.in_flight = 0
        self.pipe: Pipe | None = None
        # For a half-open connection: the fault that severed it.
        self.severed: ActiveFault | None = None
        self.tap_in: Tap | None = None
        self.tap_out: Tap | None = None
        self.wants_room = False
        self.label = ""
        # The piece that is gathered, and the last time at which bytes may join it.
        self.gathered: Entry | None = None


class Network:
    """Carries bytes between ends. ``buffer``: limit of one direction's bytes in flight; ``gather``: ns."""

    def __init__(self, kernel: Kernel, buffer: int, gather: int | None = None) -> None:
        self.kernel = kernel
        self.buffer = buffer
        self.gather = gather
        self.sent_by_clients = 0
        self.links: dict[str, Link] = {}

    # Calls of a host.

    def join(self, link: Link, host: Host) -> tuple[End, End]:
        """A new connection over the link: the connecting end of ``host``, and the server's."""
        near, far = End(link, host, link.up), End(link, link.host, link.down)
        near.peer, far.peer = far, near
        link.ends += (near, far)
        if link.up.toxics or link.down.toxics:
            near.abrupt = far.abrupt = any(each.kind.abrupt for each in link.up.toxics + link.down.toxics)
            for end in (near, far):
                for toxic in end.outgoing.toxics:
                    self._pipe(end).add(toxic)
        return near, far

    def send(self, end: End, data: bytes) -> int:
        """Send as on a non-blocking socket; returns the number of accepted bytes."""
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
        elif end.tap_out is not None:
            # An observer also sees that the socket accepted nothing.
            end.tap_out(data)
        return len(data)

    def close(self, end: End) -> None:
        """Close in an orderly way: sent bytes arrive, then the peer is notified."""
        if end.open:
            end.open = False
            self._put_on_wire(end, None)
            self._forget(end)

    def reset(self, end: End) -> int:
        return self._end_both(end, "reset")

    def vanish(self, end: End) -> None:
        """The end's machine lost power and its socket's bytes; the peer is not notified."""
        end.open = False
        end.host.cable.forget(end)
        if end.pipe is not None:
            end.pipe.vanish()

    def _put_on_wire(self, end: End, chunk: bytes | None) -> None:
        if end.host.cable.pulled:
            end.host.cable.keep_outgoing(chunk, self._put_on_wire, end, chunk)
            return
        if self.gather is None:
            self.kernel.at(self.kernel.now + end.outgoing.latency, self._arrive, end, chunk)
        else:
            self._gather(end, chunk, self.gather)

    def _gather(self, end: End, chunk: bytes | None, within: int) -> None:
        """One piece leaves at its deadline; the end of the stream follows it."""
        now, latency, piece = self.kernel.now, end.outgoing.latency, end.gathered
        if piece is not None and piece[0] - latency >= now:
            if chunk is not None:
                piece[3] = end, piece[3][1] + chunk
                return
            self.kernel.at(piece[0], self._arrive, end, None)
            end.gathered = None
        elif chunk is None:
            self.kernel.at(now + latency, self._arrive, end, None)
        else:
            end.gathered = self.kernel.at(now + within + latency, self._arrive, end, chunk)

    def _arrive(self, sender: End, chunk: bytes | None) -> None:
        if sender.pipe is None:
            self._deliver(sender, chunk)
        else:
            sender.pipe.feed(chunk)

    def _deliver(self, sender: End, chunk: bytes | None) -> None:
        """At the receiver's machine, if its cable is plugged in."""
        receiver = sender.peer
        if sender.severed is not None:
            # Without an acknowledgement it stays in the sender's socket.
            count([sender.severed], "bytes_swallowed", len(chunk or b""))
        elif receiver.host.cable.pulled:
            receiver.host.cable.keep_incoming(chunk, self._deliver, sender, chunk)
        else:
            self._arrived(sender, chunk)

    def _arrived(self, sender: End, chunk: bytes | None) -> None:
        """In the receiver's socket, past any cable; otherwise later bytes would overtake it."""
        receiver = sender.peer
        if receiver.host.pauses and receiver.open:
            # It is in the socket's buffer: still in flight, so the sender has back-pressure.
            receiver.host.hold(self._arrived, sender, chunk)
            return
        if chunk is None:
            self._end_receiver(sender)
            return
        self._taken(sender, len(chunk))
        if receiver.open:
            if receiver.tap_in is not None:
                receiver.tap_in(chunk)
            receiver.host.receive(receiver, chunk)
        elif sender.open and receiver.host.powered:
            # A running machine answers with RST, which ends reading by the proxy; a dead one does not answer.
            self._put_on_wire(receiver, None)

    def _taken(self, sender: End, amount: int) -> None:
        sender.in_flight -= amount
        if sender.wants_room and sender.open:
            sender.wants_room = False
            self.kernel.at(self.kernel.now, _notify_writable, sender)

    def _close_receiver(self, sender: End) -> None:
        """One direction has ended: the proxy closes the receiver's socket, so nothing more is read from it."""
        receiver = sender.peer
        if receiver.host.cable.pulled:
            receiver.host.cable.keep_incoming(None, self._close_receiver, sender)
        else:
            self._end_receiver(sender)

    def _end_receiver(self, sender: End) -> None:
        receiver = sender.peer
        if receiver.open:
            receiver.open = False
            self._forget(receiver)
            _notify_closed(receiver, "reset" if receiver.abrupt else "peer")
        if receiver.pipe is not None:
            receiver.pipe.feed(None)
        elif sender.open:
            self.kernel.at(self.kernel.now, self._close_receiver, receiver)

    def _end_both(self, end: End, how: str) -> int:
        lost = 0
        for each in (end, end.peer):
            lost += each.in_flight
            if each.pipe is not None:
                lost += each.pipe.kill()
            if each.open:
                self._forget(each)
                self._end_one(each, how)
        return lost

    def _end_one(self, end: End, how: str) -> None:
        if end.host.cable.pulled:
            end.host.cable.keep_incoming(None, self._end_one, end, how)
        elif end.open:
            end.open = False
            self.kernel.at(self.kernel.now, _notify_closed, end, how)

    def _forget(self, end: End) -> None:
        if end in end.link.ends:
            end.link.ends.remove(end)

    # Calls of faults.

    def add_toxic(self, link: Link, direction: str, kind: str, attributes: Mapping[str, int], dice: Random) -> Toxic:
        """Append a toxic to a direction; it also affects open connections."""
        where = link.direction(direction)
        toxic = Toxic(KINDS[kind], attributes, dice)
        where.toxics.append(toxic)
        for end in _ends(link, where):
            self._pipe(end).add(toxic)
        return toxic

    def remove_toxic(self, link: Link, toxic: Toxic) -> None:
        """Remove it; held bytes continue in order."""
        where = link.up if toxic in link.up.toxics else link.down
        where.toxics.remove(toxic)
        for end in _ends(link, where):
            if end.pipe is not None:
                end.pipe.remove(toxic)
                self._drop_idle_pipe(end)

    def _pipe(self, end: End) -> Pipe:
        if end.pipe is None:
            end.pipe = Pipe(self.kernel, end.abrupt, partial(self._taken, end), partial(self._leave, end))
        return end.pipe

    def _leave(self, sender: End, chunk: bytes | None, counted: bool) -> None:
        if chunk is not None and not counted:
            # It left a channel of the proxy, and is next to the receiver.
            sender.in_flight += len(chunk)
        self._deliver(sender, chunk)
        self._drop_idle_pipe(sender)

    def _drop_idle_pipe(self, end: End) -> None:
        if end.pipe is not None and end.pipe.idle() and not end.pipe.ended:
            end.pipe = None

    def cut(self, link: Link) -> ActiveFault:
        fault = ActiveFault()
        link.cuts.append(fault)
        for end in standing(link):
            if end in link.ends:
                count([fault], "connections_closed")
                count([fault], "bytes_lost", self._end_both(end, "reset" if end.abrupt else "peer"))
        return fault

    def sever(self, link: Link, keeps: str) -> ActiveFault:
        """Its connections end for one side and stay open for the other (``keeps``: server or client)."""
        fault = ActiveFault()
        for end in standing(link):
            is_server = end.outgoing is link.down
            if is_server == (keeps == "server") or not end.peer.open:
                continue
            end.severed = end.peer.severed = fault
            end.open = False
            self._forget(end)
            count([fault], "connections_severed")
            self.kernel.at(self.kernel.now, _notify_closed, end, "reset")
        return fault

    def end_severed(self, link: Link, fault: ActiveFault) -> None:
        for end in standing(link):
            if end.severed is fault:
                self.reset(end)


def standing(link: Link) -> list[End]:
    """Ends of the link's connections that have not been notified of their end."""
    return [end for end in link.ends if end.open]


def _ends(link: Link, where: Direction) -> list[End]:
    """The sending ends of this direction. A closed one may still have bytes in flight: found by its peer."""
    return list({id(e): e for one in link.ends for e in (one, one.peer) if e.outgoing is where}.values())


def _notify_closed(end: End, how: str) -> None:
    end.host.receive_closed(end, how)


def _notify_writable(end: End) -> None:
    if end.open:
        end.host.receive_writable(end)
