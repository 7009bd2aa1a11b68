"""Connections that bring remoting commands: frames in, answers out, both bounded.

A peer that sends what is no frame is dropped, since nothing tells whom to answer; so is one that lets its answers pile
up. While a peer does not take its answers its next requests wait, unparsed. Where all of them together hold up too many
bytes, half frames or answers, those go that have got no further for the longest time: never whoever came last. Where
there are too many connections, an idle one makes room: first those that have never asked anything, the oldest first,
then those that have asked nothing for :data:`IDLE_NS`. What a command means is its node's business.
Source: NettyRemotingServer; its limits on memory and connections are ours.
"""

from collections.abc import Callable, Mapping

from ..errors import CodecError
from ..ports import Conn, Effects
from ..wire import remoting
from ..wire.remoting import Command, CommandReader
from .unsent import send_on

MAX_PEERS = 1_000
IDLE_NS = 90 * 1_000_000_000
"""Clients send heartbeats every 30 s, brokers register as often; a slave fetches tables every 60 s at the latest."""
MAX_UNSENT = 4 * 1024 * 1024
MAX_HELD = 2 * remoting.MAX_FRAME
"""Bytes that one peer may have sent and not seen taken."""
MAX_HELD_BY_ALL = 8 * remoting.MAX_FRAME
MAX_UNSENT_BY_ALL = 8 * remoting.MAX_FRAME


class Kept:
    """Bytes kept for each connection, those first that have got no further for the longest time, and their sum."""

    def __init__(self) -> None:
        self.sizes: dict[Conn, int] = {}
        self.total = 0

    def note(self, conn: Conn, size: int, got_on: bool) -> None:
        """So many are kept for it now. ``got_on``: some of those that were kept before are not any more."""
        self.total += size - self.sizes.get(conn, 0)
        if got_on or not size:
            self.sizes.pop(conn, None)
        if size:
            self.sizes[conn] = size

    @property
    def oldest(self) -> Conn:
        """Whose bytes have been kept for the longest time."""
        return next(iter(self.sizes))


class Seats:
    """The open connections, by who has to leave first when there are too many."""

    def __init__(self) -> None:
        # In order: who came first; who asked last longest ago.
        self.silent: dict[Conn, None] = {}
        self.asked: dict[Conn, int] = {}

    def __len__(self) -> int:
        return len(self.silent) + len(self.asked)

    def take(self, conn: Conn) -> None:
        self.silent[conn] = None

    def asks(self, conn: Conn, now: int) -> None:
        """It sends a whole command."""
        self.silent.pop(conn, None)
        self.asked.pop(conn, None)
        self.asked[conn] = now

    def leave(self, conn: Conn) -> None:
        self.silent.pop(conn, None)
        self.asked.pop(conn, None)

    def idle(self, now: int) -> Conn | None:
        """Who makes room; None if all have asked something lately."""
        if self.silent:
            return next(iter(self.silent))
        conn, last = next(iter(self.asked.items()))
        return conn if now - last >= IDLE_NS else None


class CommandPeers:
    """The open connections of one node. ``on_gone`` hears of each that ends, whoever ended it; ``version`` is told with
    every answer.
    """

    def __init__(
        self,
        io: Effects,
        on_command: Callable[[Conn, Command], None],
        on_gone: Callable[[Conn], None],
        version: int = remoting.VERSION,
    ) -> None:
        self.io = io
        self.version = version
        self.on_command = on_command
        self.on_gone = on_gone
        self._readers: dict[Conn, CommandReader] = {}
        self._seats = Seats()
        self._unsent: dict[Conn, bytearray] = {}
        self._unsent_sizes = Kept()
        self._held = Kept()
        self._feeds = False
        # In order and each once: a dict's keys.
        self._later: dict[Callable[[], None], None] = {}

    def __contains__(self, conn: Conn) -> bool:
        return conn in self._readers

    def __len__(self) -> int:
        return len(self._readers)

    def accept(self, conn: Conn) -> None:
        """Somebody connected: an idle connection makes room, if need be; where there is none this one is closed."""
        if len(self._readers) >= MAX_PEERS and not self.make_room():
            self.io.close(conn)
            return
        self._readers[conn] = CommandReader()
        self._seats.take(conn)

    def make_room(self) -> bool:
        """Close the connection that has been idle for the longest time; False if none is idle."""
        idle = self._seats.idle(self.io.now())
        if idle is not None:
            self.drop(idle)
        return idle is not None

    def feed(self, conn: Conn, data: bytes) -> None:
        """Bytes came: hand over the commands that are complete now, as long as their answers are taken."""
        self._feeds = True
        self._feed(conn, data)
        self._feeds = False
        later, self._later = self._later, {}
        for each in later:
            each()

    def when_through(self, what: Callable[[], None]) -> None:
        """Do it once, when the commands that came together have been handed over; now if none are being."""
        if self._feeds:
            self._later[what] = None
        else:
            what()

    def _feed(self, conn: Conn, data: bytes) -> None:
        reader = self._readers.get(conn)
        if reader is None:
            return
        got_on = False
        try:
            commands = reader.feed(data)
            while conn not in self._unsent:
                command = next(commands, None)
                if command is None:
                    break
                if not got_on:
                    got_on = True
                    self._seats.asks(conn, self.io.now())
                self.on_command(conn, command)
                if conn not in self._readers:
                    return
        except CodecError:
            self.drop(conn)
            return
        self._held.note(conn, reader.held, got_on)
        if reader.held > MAX_HELD:
            self.drop(conn)
        while self._held.total > MAX_HELD_BY_ALL:
            self.drop(self._held.oldest)

    def writable(self, conn: Conn) -> None:
        """The socket takes bytes again: first what is left of the answers, then what was asked meanwhile."""
        unsent = self._unsent.get(conn)
        if unsent is None:
            return
        taken = send_on(self.io, conn, unsent)
        self._unsent_sizes.note(conn, len(unsent), taken > 0)
        if not unsent:
            del self._unsent[conn]
            self.feed(conn, b"")

    def answer(
        self,
        conn: Conn,
        request: Command,
        code: int,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        remark: str | None = None,
    ) -> None:
        """Answer the request, unless it is one-way. An answer that is no frame is an error that says so."""
        if request.is_oneway:
            return
        try:
            frame = remoting.response(request, code, fields or {}, body, remark, self.version)
        except CodecError as why:
            remark = f"the answer cannot be written: {why}"
            frame = remoting.response(request, remoting.SYSTEM_ERROR, {}, b"", remark, self.version)
        self.send(conn, frame)

    def send(self, conn: Conn, data: bytes) -> None:
        """Send a frame, behind those that wait; nothing if the connection has ended."""
        if conn not in self._readers:
            return
        unsent = self._unsent.get(conn)
        if unsent is None:
            taken = self.io.send(conn, data)
            if taken == len(data):
                return
            unsent = self._unsent[conn] = bytearray(data[taken:])
        else:
            unsent += data
        self._unsent_sizes.note(conn, len(unsent), False)
        if len(unsent) > MAX_UNSENT + remoting.MAX_FRAME:
            self.drop(conn)
        while self._unsent_sizes.total > MAX_UNSENT_BY_ALL:
            self.drop(self._unsent_sizes.oldest)

    def drop(self, conn: Conn) -> None:
        if conn in self._readers:
            self.io.close(conn)
            self.closed(conn)

    def drop_all(self) -> None:
        for conn in list(self._readers):
            self.drop(conn)

    def closed(self, conn: Conn) -> None:
        if self._readers.pop(conn, None) is not None:
            self._seats.leave(conn)
            self._unsent.pop(conn, None)
            self._unsent_sizes.note(conn, 0, True)
            self._held.note(conn, 0, True)
            self.on_gone(conn)
