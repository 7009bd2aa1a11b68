"""A small RocketMQ client, sans-IO: producers that send and readers that pull, many calls in flight at once.

One connection per (process, broker address), opened when first needed. The outcome of each call is told once:
``ok`` with the broker's answer, ``fail`` when it certainly did not happen, ``info`` when nobody knows. A process whose
call ended in ``info`` is not used again, as in Jepsen: its late answer could be taken for another's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from pairproof.reference.errors import CodecError
from pairproof.reference.ports import Conn, Effects
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command, CommandReader

MS = 1_000_000
CALL_TIMEOUT_NS = 10_000 * MS
MAX_CALLS = 10_000
ANSWERS = {
    **remoting.SEND_STATUS,
    remoting.PULL_NOT_FOUND: "PULL_NOT_FOUND",
    remoting.PULL_RETRY_IMMEDIATELY: "PULL_RETRY_IMMEDIATELY",
    remoting.PULL_OFFSET_MOVED: "PULL_OFFSET_MOVED",
}
"""Codes that say that a call did what it could: a message stored, or a pull that tells how to go on."""


class Outcome(NamedTuple):
    """How a call ended. ``phase``: ok, fail, info; ``status``: a code's name, timeout, disconnected or refused."""

    phase: str
    status: str
    answer: Command | None


class _Call(NamedTuple):
    frame: bytes
    done: Callable[[Outcome], None]


class _Line:
    """One connection and the calls on it, by opaque."""

    __slots__ = ("address", "calls", "conn", "queued", "reader", "unsent")

    def __init__(self, address: str) -> None:
        self.address = address
        self.conn: Conn = None
        self.reader = CommandReader()
        self.calls: dict[int, _Call] = {}
        self.queued: list[int] = []
        self.unsent = b""


class Client:
    """All clients of one host. ``address`` is whatever the shell's ``connect`` understands, made unique per process."""

    def __init__(self, io: Effects) -> None:
        self.io = io
        self.lines: dict[str, _Line] = {}
        self.by_conn: dict[Conn, _Line] = {}
        self.opaque = 0

    def send(
        self, address: str, topic: str, queue_id: int, body: bytes, properties: str, done: Callable[[Outcome], None]
    ) -> None:
        """Send one message."""
        opaque = self._next_opaque()
        frame = remoting.send_request(
            opaque,
            producer_group="pairproof",
            topic=topic,
            queue_id=queue_id,
            born_ms=self.io.wall_ms(),
            body=body,
            properties=properties,
        )
        self._call(address, opaque, _Call(frame, done))

    def pull(
        self, address: str, topic: str, queue_id: int, offset: int, max_messages: int, done: Callable[[Outcome], None]
    ) -> None:
        """Pull up to ``max_messages`` from ``offset`` on."""
        opaque = self._next_opaque()
        frame = remoting.pull_request(
            opaque,
            consumer_group="pairproof",
            topic=topic,
            queue_id=queue_id,
            offset=offset,
            max_messages=max_messages,
        )
        self._call(address, opaque, _Call(frame, done))

    # What the shell tells us.

    def on_start(self) -> None:
        """Nothing happens until a call is made."""

    def on_stop(self) -> None:
        """Close every connection."""
        for conn in list(self.by_conn):
            self.io.close(conn)

    def on_accepted(self, conn: Conn, port: str) -> None:
        """A client listens to nobody."""

    def on_connected(self, address: str, conn: Conn) -> None:
        """A connection stands: what was queued goes out."""
        line = self.lines.get(address)
        if line is None:
            self.io.close(conn)
            return
        line.conn = conn
        self.by_conn[conn] = line
        queued, line.queued = line.queued, []
        for opaque in queued:
            call = line.calls.get(opaque)
            if call is not None:
                self._write(line, call.frame)

    def on_connect_failed(self, address: str) -> None:
        """Nothing was sent: what was queued did not happen."""
        line = self.lines.pop(address, None)
        if line is not None:
            self._end(line, "fail", "refused")

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        """Answers, in any order."""
        line = self.by_conn.get(conn)
        if line is None:
            return
        try:
            for answer in line.reader.feed(data):
                self._answered(line, answer)
        except CodecError:
            self.io.close(conn)
            self.on_closed(conn)

    def on_writable(self, conn: Conn) -> None:
        """The socket takes bytes again."""
        line = self.by_conn.get(conn)
        if line is not None and line.unsent:
            self._write(line, b"")

    def on_closed(self, conn: Conn) -> None:
        """Whatever was on the way may have happened or not."""
        line = self.by_conn.pop(conn, None)
        if line is not None:
            self.lines.pop(line.address, None)
            self._end(line, "info", "disconnected")

    def on_timer(self, key: Hashable) -> None:
        """A call waited long enough."""
        assert isinstance(key, tuple)
        _, address, opaque = key
        line = self.lines.get(address)
        call = line.calls.pop(opaque, None) if line is not None else None
        if line is not None and call is not None:
            waiting = opaque in line.queued
            call.done(Outcome("fail" if waiting else "info", "timeout", None))

    def on_flushed(self, token: Hashable) -> None:
        """A client has no disk."""

    # How it is done.

    def _next_opaque(self) -> int:
        self.opaque += 1
        return self.opaque

    def _call(self, address: str, opaque: int, call: _Call) -> None:
        line = self.lines.get(address)
        if line is None:
            line = self.lines[address] = _Line(address)
            self.io.connect(address)
        if len(line.calls) >= MAX_CALLS:
            call.done(Outcome("fail", "too many calls", None))
            return
        line.calls[opaque] = call
        self.io.timer(("call", address, opaque), self.io.now() + CALL_TIMEOUT_NS)
        if line.conn is None:
            line.queued.append(opaque)
        else:
            self._write(line, call.frame)

    def _write(self, line: _Line, frame: bytes) -> None:
        data = line.unsent + frame
        taken = self.io.send(line.conn, data)
        line.unsent = data[taken:]

    def _answered(self, line: _Line, answer: Command) -> None:
        call = line.calls.pop(answer.opaque, None)
        if call is None:
            return
        self.io.cancel(("call", line.address, answer.opaque))
        status = ANSWERS.get(answer.code)
        if status is not None:
            call.done(Outcome("ok", status, answer))
        else:
            call.done(Outcome("fail", remoting.RESPONSE_NAMES.get(answer.code, f"code {answer.code}"), answer))

    def _end(self, line: _Line, phase: str, status: str) -> None:
        calls, line.calls = line.calls, {}
        for opaque, call in calls.items():
            self.io.cancel(("call", line.address, opaque))
            call.done(Outcome(phase, status, None))
