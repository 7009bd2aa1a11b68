"""Who does not read costs little: what waits for a socket keeps its order, is offered seldom, and has its bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_port import FakePort

from pairproof.reference.core import command_peers
from pairproof.reference.core.calls import Calls
from pairproof.reference.core.command_peers import CommandPeers, HeldBytes
from pairproof.reference.core.unsent import PIECE, send_on
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command, CommandReader


class Socket(FakePort):
    """Takes ``room`` bytes; counts the bytes that it is offered."""

    def __init__(self, room: int | None) -> None:
        super().__init__(None)
        self.room = room
        self.offered = 0

    def send(self, conn: str, data: bytes) -> int:
        self.offered += len(data)
        return super().send(conn, data)


def peers(io: FakePort, on_command: Callable[[Any, Command], None] = lambda conn, command: None) -> CommandPeers:
    made = CommandPeers(io, on_command, lambda conn: None)
    for conn in ("a", "b", "c"):
        made.accept(conn)
    return made


def through_peers(io: FakePort) -> tuple[Callable[[bytes], None], Callable[[], None]]:
    made = peers(io)
    return lambda data: made.send("a", data), lambda: made.on_writable("a")


def through_calls(io: FakePort) -> tuple[Callable[[bytes], None], Callable[[], None]]:
    made = Calls(io)
    made.send_oneway("x:1", 10, {})
    made.on_connected("x:1", "a")
    io.sent.clear()
    made.on_writable("a")
    io.sent.clear()
    return lambda data: made._write(made.lines["x:1"], data), lambda: made.on_writable("a")


@pytest.mark.parametrize("through", [through_peers, through_calls])
def test_frames_behind_a_full_socket_go_out_in_order_and_are_not_offered_each_time(through: Any) -> None:
    io = Socket(None)
    send, on_writable = through(io)
    frames = [b"%04d" % number * 25 for number in range(1_000)]
    io.room, io.offered = 250, 0
    for frame in frames:
        send(frame)
    assert io.offered == 300, "three frames, of which the last was cut"
    io.room = 1_000
    on_writable()
    io.room = None
    on_writable()
    assert io.sent["a"] == b"".join(frames)
    assert io.offered < 3 * len(b"".join(frames))


def test_what_is_sent_on_is_offered_in_pieces() -> None:
    io = Socket(PIECE + 7)
    unsent = bytearray(range(256)) * (4 * PIECE // 256)
    whole = bytes(unsent)
    assert send_on(io, "a", unsent) == PIECE + 7
    assert io.offered == 2 * PIECE
    assert io.sent["a"] + unsent == whole
    assert send_on(io, "a", bytearray()) == 0


def test_those_that_have_got_no_further_for_the_longest_time_are_the_oldest() -> None:
    kept = HeldBytes()
    kept.note("a", 5, False)
    kept.note("b", 5, False)
    kept.note("a", 9, False)
    assert (kept.oldest, kept.total) == ("a", 14)
    kept.note("a", 3, True)
    assert (kept.oldest, kept.total) == ("b", 8)
    kept.note("b", 0, True)
    kept.note("c", 0, False)
    assert (kept.oldest, kept.total) == ("a", 3)
    kept.note("a", 0, False)
    assert (kept.sizes, kept.total) == ({}, 0)


def test_too_many_answers_for_all_cost_the_oldest_its_connection_and_never_who_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command_peers, "MAX_UNSENT_BY_ALL", 250)
    io = Socket(0)
    made = peers(io)
    made.send("a", bytes(100))
    made.send("b", bytes(100))
    io.room = 1
    made.on_writable("a")
    made.send("c", bytes(100))
    assert io.closed == ["b"], "a has read a little since b did"
    made.send("a", bytes(51))
    assert io.closed == ["b"]
    made.send("c", bytes(1))
    assert io.closed == ["b", "a"]


def test_too_many_half_frames_of_all_cost_the_oldest_its_connection_and_never_who_gets_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command_peers, "MAX_HELD_BY_ALL", 250)
    io = Socket(None)
    heard: list[Command] = []
    made = peers(io, lambda conn, command: heard.append(command))
    frame = remoting.encode(Command(1, 1, 0, {}, bytes(200)))
    made.on_bytes("a", frame[:100])
    made.on_bytes("b", frame[:100])
    made.on_bytes("a", frame[100:] + frame[:100])
    made.on_bytes("c", frame[:100])
    assert io.closed == ["b"], "a has sent a whole frame since b began"
    made.on_bytes("a", frame[100:])
    made.on_bytes("c", frame[100:])
    assert len(heard) == 3 and io.closed == ["b"]


def test_requests_that_waited_are_heard_when_the_answers_are_out() -> None:
    io = Socket(0)
    heard: list[int] = []

    def on_command(conn: Any, command: Command) -> None:
        heard.append(command.opaque)
        made.answer(conn, command, 0)

    made = peers(io, on_command)
    made.on_bytes("a", b"".join(remoting.encode(Command(1, opaque, 0, {})) for opaque in range(3)))
    assert heard == [0]
    io.room = None
    made.on_writable("a")
    assert heard == [0, 1, 2]
    assert [answer.opaque for answer in CommandReader().feed(io.sent["a"])] == [0, 1, 2]
