"""Calls to other nodes: many requests in flight, each ended exactly once.

One connection per address is opened on first use and reused. An outcome is ``ok`` for a successful answer, ``fail`` if
the call certainly did not happen, ``info`` if its effect is unknown. Requests that a peer sends over such a connection,
as brokers do, go to ``on_request``. Source: NettyRemotingClient.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import CodecError
from ..ports import MS, Conn, Effects
from ..wire import remoting
from ..wire.remoting import Command, CommandReader
from .unsent import send_on

CALL_TIMEOUT_NS = 10_000 * MS
MAX_CALLS = 10_000
MAX_UNSENT = 64 * 1024 * 1024
ANSWERS = {
    **remoting.SEND_STATUS,
    remoting.PULL_NOT_FOUND: "PULL_NOT_FOUND",
    remoting.PULL_RETRY_IMMEDIATELY: "PULL_RETRY_IMMEDIATELY",
    remoting.PULL_OFFSET_MOVED: "PULL_OFFSET_MOVED",
    remoting.QUERY_NOT_FOUND: "QUERY_NOT_FOUND",
}
"""Codes of successful calls: a message stored, a pull's next step, nothing found."""


class Outcome(NamedTuple):
    """How a call ended. ``phase``: ok, fail, info; ``status``: a code's name, timeout, disconnected or refused."""

    phase: str
    status: str
    answer: Command | None


Done = Callable[[Outcome], None]


@dataclass(slots=True, eq=False)
class _Line:
    """One connection and its calls by opaque. ``queued``: frames that wait for the connection."""

    address: str
    conn: Conn = None
    reader: CommandReader = field(default_factory=CommandReader)
    calls: dict[int, Done] = field(default_factory=dict)
    queued: dict[int, bytes] = field(default_factory=dict)
    unsent: bytearray = field(default_factory=bytearray)


class Calls:
    """All calls of one node. ``address`` is in the format of the shell's ``connect``.

    Timers have keys ``("call", address, opaque)``.
    """

    def __init__(self, io: Effects, on_request: Callable[[Conn, Command], None] | None = None) -> None:
        self.io = io
        self.on_request = on_request
        self.lines: dict[str, _Line] = {}
        self.by_conn: dict[Conn, _Line] = {}
        self.opaque = 0

    def __contains__(self, conn: Conn) -> bool:
        return conn in self.by_conn

    def connects_to(self, address: str) -> bool:
        line = self.lines.get(address)
        return line is not None and line.conn is None

    def call(
        self, address: str, code: int, fields: Mapping[str, str], body: bytes, done: Done,
        timeout_ns: int = CALL_TIMEOUT_NS,
    ) -> None:  # fmt: skip
        opaque = self.next_opaque()
        self.call_frame(
            address, opaque, remoting.encode(Command(code, opaque, 0, dict(fields), body)), done, timeout_ns
        )

    def send_oneway(self, address: str, code: int, fields: Mapping[str, str], body: bytes = b"") -> None:
        opaque = self.next_opaque()
        line = self._line(address)
        frame = remoting.encode(Command(code, opaque, remoting.ONEWAY_FLAG, dict(fields), body))
        if line.conn is not None:
            self._write(line, frame)
        elif len(line.queued) < MAX_CALLS:
            line.queued[opaque] = frame

    def next_opaque(self) -> int:
        self.opaque += 1
        return self.opaque

    def call_frame(
        self, address: str, opaque: int, frame: bytes, done: Done, timeout_ns: int = CALL_TIMEOUT_NS
    ) -> None:
        line = self._line(address)
        if len(line.calls) >= MAX_CALLS:
            done(Outcome("fail", "too many calls", None))
            return
        line.calls[opaque] = done
        self.io.timer(("call", address, opaque), self.io.now() + timeout_ns)
        if line.conn is None:
            line.queued[opaque] = frame
        else:
            self._write(line, frame)

    def close(self, address: str) -> None:
        line = self.lines.get(address)
        if line is not None:
            if line.conn is not None:
                self.io.close(line.conn)
                self.on_closed(line.conn)
            else:
                del self.lines[address]
                self._end(line, "fail", "refused")

    def close_all(self) -> None:
        """Close every connection without ending its calls."""
        for conn in list(self.by_conn):
            self.io.close(conn)
        for line in self.lines.values():
            for opaque in line.calls:
                self.io.cancel(("call", line.address, opaque))
        self.by_conn, self.lines = {}, {}

    def on_connected(self, address: str, conn: Conn) -> None:
        line = self.lines.get(address)
        if line is None or line.conn is not None:
            self.io.close(conn)
            return
        line.conn = conn
        self.by_conn[conn] = line
        queued, line.queued = line.queued, {}
        for frame in queued.values():
            if line.conn is conn:
                self._write(line, frame)

    def on_connect_failed(self, address: str) -> None:
        line = self.lines.get(address)
        if line is not None and line.conn is None:
            del self.lines[address]
            self._end(line, "fail", "refused")

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        line = self.by_conn.get(conn)
        if line is None:
            return
        try:
            for command in line.reader.feed(data):
                if command.is_response:
                    self._answered(line, command)
                elif self.on_request is not None:
                    self.on_request(conn, command)
                if line.conn is None:
                    return
        except CodecError:
            self.io.close(conn)
            self.on_closed(conn)

    def on_writable(self, conn: Conn) -> None:
        line = self.by_conn.get(conn)
        if line is not None:
            send_on(self.io, conn, line.unsent)

    def on_closed(self, conn: Conn) -> None:
        line = self.by_conn.pop(conn, None)
        if line is not None:
            line.conn = None
            self.lines.pop(line.address, None)
            self._end(line, "info", "disconnected")

    def on_timer(self, key: Hashable) -> None:
        assert isinstance(key, tuple)
        _, address, opaque = key
        line = self.lines.get(address)
        done = line.calls.pop(opaque, None) if line is not None else None
        if line is not None and done is not None:
            waiting = line.queued.pop(opaque, None) is not None
            done(Outcome("fail" if waiting else "info", "timeout", None))

    def _line(self, address: str) -> _Line:
        line = self.lines.get(address)
        if line is None:
            line = self.lines[address] = _Line(address)
            self.io.connect(address)
        return line

    def _write(self, line: _Line, frame: bytes) -> None:
        line.unsent += frame if line.unsent else frame[self.io.send(line.conn, frame) :]
        if len(line.unsent) > MAX_UNSENT:
            # Bound the memory that a peer which does not read can take.
            self.close(line.address)

    def _answered(self, line: _Line, answer: Command) -> None:
        done = line.calls.pop(answer.opaque, None)
        if done is None:
            return
        self.io.cancel(("call", line.address, answer.opaque))
        status = ANSWERS.get(answer.code)
        if status is not None:
            done(Outcome("ok", status, answer))
        else:
            done(Outcome("fail", remoting.RESPONSE_NAMES.get(answer.code, f"code {answer.code}"), answer))

    def _end(self, line: _Line, phase: str, status: str) -> None:
        calls, line.calls = line.calls, {}
        for opaque, done in calls.items():
            self.io.cancel(("call", line.address, opaque))
            done(Outcome(phase, status, None))
