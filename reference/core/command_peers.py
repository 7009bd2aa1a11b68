"""Connections that carry remoting commands: frames in, answers out, both bounded.

A peer that sends a malformed frame is disconnected, since there is no request to answer; so is one that lets its
answers pile up. While a peer does not read its answers, its next requests wait unparsed. If all peers together hold too
many bytes (partial frames or answers), the peers without progress for the longest time are disconnected. If there are
too many connections, an idle one is closed: first those that never sent a command, oldest first, then those without a
command for :data:`IDLE_NS`. Source: NettyRemotingServer; the limits on memory and connections are ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..errors import CodecError
from ..ports import Conn, Effects
from ..wire import remoting
from ..wire.remoting import Command, CommandReader
from .unsent import send_on

MAX_PEERS = 1_000
IDLE_NS = 90 * 1_000_000_000
"""Clients send heartbeats every 30 s, brokers register as often; a slave fetches tables at least every 60 s."""
NEVER = -IDLE_NS
MAX_UNSENT = 4 * 1024 * 1024
MAX_HELD = 2 * remoting.MAX_FRAME
MAX_HELD_BY_ALL = 8 * remoting.MAX_FRAME
MAX_UNSENT_BY_ALL = 8 * remoting.MAX_FRAME


class HeldBytes:
    """Bytes held for each connection, in the order of their last progress, and their sum."""

    def __init__(self) -> None:
        self.sizes: dict[Conn, int] = {}
        self.total = 0

    def note(self, conn: Conn, size: int, got_on: bool) -> None:
        self.total += size - self.sizes.get(conn, 0)
        if got_on or not size:
            self.sizes.pop(conn, None)
        if size:
            self.sizes[conn] = size

    @property
    def oldest(self) -> Conn:
        return next(iter(self.sizes))


@dataclass(eq=False)
class CommandPeers:
    """The open connections of one node. ``on_gone`` is called for each that ends; every answer carries ``version``."""

    io: Effects
    on_command: Callable[[Conn, Command], None]
    on_gone: Callable[[Conn], None]
    version: int = remoting.VERSION
    _readers: dict[Conn, CommandReader] = field(default_factory=dict)
    _last: dict[Conn, int] = field(default_factory=dict)
    """When each sent its last command, ns."""
    _unsent: dict[Conn, bytearray] = field(default_factory=dict)
    _unsent_sizes: HeldBytes = field(default_factory=HeldBytes)
    _held: HeldBytes = field(default_factory=HeldBytes)
    _feeds: bool = False
    # An ordered set.
    _later: dict[Callable[[], None], None] = field(default_factory=dict)

    def __contains__(self, conn: Conn) -> bool:
        return conn in self._readers

    def accept(self, conn: Conn) -> None:
        if len(self._readers) >= MAX_PEERS and not self.make_room():
            self.io.close(conn)
            return
        self._readers[conn] = CommandReader()
        self._last[conn] = NEVER

    def make_room(self) -> bool:
        oldest = min(self._last, key=self._last.__getitem__)
        is_idle = self.io.now() - self._last[oldest] >= IDLE_NS
        if is_idle:
            self.drop(oldest)
        return is_idle

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        self._feeds = True
        self._feed(conn, data)
        self._feeds = False
        later, self._later = self._later, {}
        for each in later:
            each()

    def when_through(self, what: Callable[[], None]) -> None:
        """Call ``what`` once, after the commands of the current batch; now if there is none."""
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
                    self._last[conn] = self.io.now()
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

    def on_writable(self, conn: Conn) -> None:
        unsent = self._unsent.get(conn)
        if unsent is None:
            return
        taken = send_on(self.io, conn, unsent)
        self._unsent_sizes.note(conn, len(unsent), taken > 0)
        if not unsent:
            del self._unsent[conn]
            self.on_bytes(conn, b"")

    def answer(
        self,
        conn: Conn,
        request: Command,
        code: int,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        remark: str | None = None,
    ) -> None:
        """Answer a request unless it is one-way. An answer that cannot be encoded becomes an error."""
        if request.is_oneway:
            return
        try:
            frame = remoting.response(request, code, fields or {}, body, remark, self.version)
        except CodecError as why:
            remark = f"the answer cannot be written: {why}"
            frame = remoting.response(request, remoting.SYSTEM_ERROR, {}, b"", remark, self.version)
        self.send(conn, frame)

    def send(self, conn: Conn, data: bytes) -> None:
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
            self.on_closed(conn)

    def drop_all(self) -> None:
        for conn in list(self._readers):
            self.drop(conn)

    def on_closed(self, conn: Conn) -> None:
        if self._readers.pop(conn, None) is not None:
            del self._last[conn]
            self._unsent.pop(conn, None)
            self._unsent_sizes.note(conn, 0, True)
            self._held.note(conn, 0, True)
            self.on_gone(conn)
