"""Visits in which time passes, or which use several connections, of RocketMQ's own brokers and name server.

Those that take no minute are paid with the slow tests, the others at night.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from plain_sockets import EVERYBODY, OURS, Make
from processes import KINDS, READY_S, NameServer, Program
from visits import DERIVED_S, READS, read

from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.rocketmq import conversations
from pairproof.chaos.rocketmq.frames import Form, binary, plain
from pairproof.chaos.rocketmq.questions import Answered
from pairproof.chaos.rocketmq.sim_caller import OPAQUE
from pairproof.chaos.rocketmq.sim_long_conversations import Line
from pairproof.harness.rocketmq.conversations import IN_TIME, NAMES, SERVED, SLAVE, long
from pairproof.harness.rocketmq.conversations.served import NOTHING
from pairproof.harness.rocketmq.conversations.steps import CLOSES, HEARS, POSTS, Conversation, Step, named
from pairproof.harness.rocketmq.laws.questions.conversation_answered import ConversationAnswered
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_holds

pytestmark = pytest.mark.slow

QUICK_MS = 25_000
"""A visit that waits no longer than that is paid with the slow tests."""
HEARD_S = 5
"""For what has to come, and may be late on a loaded machine."""


class Conversing:
    """A visitor with a socket for each of its connections."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.address = host, int(port)
        self.lines: dict[int, tuple[socket.socket, Line]] = {}

    def line(self, number: int) -> tuple[socket.socket, Line]:
        if number not in self.lines:
            self.lines[number] = socket.create_connection(self.address, READY_S), Line()
        return self.lines[number]

    def close(self) -> None:
        for sock, _ in self.lines.values():
            sock.close()

    def does(self, step: Step, opaque: int, form: Form, before: Sequence[Answered]) -> Answered:
        sock, line = self.line(step.conn)
        if step.does == CLOSES:
            sock.close()
            return Answered(NOTHING, {}, b"")
        if step.does == HEARS:
            return self.heard(step)
        sock.sendall(conversations.framed(step, form, opaque, before))
        if step.does == POSTS:
            line.posted[opaque] = Request[step.asks.code]
            return Answered(NOTHING, {}, b"")
        limit = time.monotonic() + READY_S
        while time.monotonic() < limit and not line.is_closed and not line.has(opaque):
            take(sock, line, 0.1, opaque)
        return line.answer(opaque)

    def heard(self, step: Step) -> Answered:
        """What came, or is still on its way if something has to come."""
        sock, line = self.line(step.conn)
        allowed = SERVED[step.name].statuses
        limit = time.monotonic() + HEARD_S
        while True:
            take(sock, line, 0.05)
            found = line.received(Request[step.asks.code])
            if found.status in allowed or found.status != NOTHING or time.monotonic() > limit:
                return found


def take(sock: socket.socket, line: Line, within_s: float, asked: int | None = None) -> None:
    """What comes within this time."""
    sock.settimeout(within_s)
    try:
        data = sock.recv(65_536)
    except TimeoutError:
        return
    except ConnectionResetError:
        data = b""
    line.is_closed |= not data
    line.take(data, asked)


def visited(address: str, form: Form, steps: Conversation) -> H:
    """The history of one visit."""
    history, conversing, before = H(), Conversing(address), list[Answered]()
    # Not a number that the broker's own requests have.
    opaque = OPAQUE
    for step in steps:
        time.sleep(step.wait_ms / 1_000)
        limit = time.monotonic() + DERIVED_S
        while True:
            opaque += 1
            answered = conversing.does(step, opaque, form, before)
            if step.does in (POSTS, CLOSES):
                break
            said, right = read(step, answered, before), SERVED[step.name].right
            is_late = step.asks.code in READS and step.does != HEARS and right and said["detail"] not in right
            if not is_late or time.monotonic() > limit:
                history.add("conversation", node="master", f=step.name, **said)
                break
            time.sleep(0.01)
        before.append(answered)
    conversing.close()
    return history


def takes_ms(steps: Conversation) -> int:
    """How long a visit waits."""
    return sum(step.wait_ms for step in steps)


def sorted_out(found: Sequence[Conversation]) -> list[object]:
    """Those visits that wait for long are marked as such."""
    return [
        pytest.param(at, marks=pytest.mark.nightly if takes_ms(steps) > QUICK_MS else ())
        for at, steps in enumerate(found)
    ]


@pytest.mark.parametrize("whose", [OURS, "4.9.7", pytest.param("5.5.0", marks=pytest.mark.nightly)])
def test_visitors_of_masters(whose: str, broker: Make) -> None:
    address = broker(whose).address
    for form in (plain, binary):
        for number, steps in enumerate(long.OF_MASTERS):
            assert_holds(ConversationAnswered, visited(address, form, named(steps, f"{form.__name__}-{number}")))


@pytest.mark.parametrize("at", sorted_out(IN_TIME[SLAVE]))
@pytest.mark.parametrize("role", [{}, {"brokerRole": "SLAVE", "brokerId": 1}])
@pytest.mark.parametrize("whose", EVERYBODY)
def test_visitors_of_brokers(whose: str, role: dict[str, Any], at: int, broker: Make) -> None:
    address = broker(whose, **role).address
    assert_holds(ConversationAnswered, visited(address, plain, IN_TIME[SLAVE][at]))


@pytest.mark.parametrize("at", sorted_out(IN_TIME[NAMES]))
@pytest.mark.parametrize("whose", KINDS)
def test_visitors_of_name_servers(whose: str, at: int, tmp_path: Path, running: Callable[[Program], Program]) -> None:
    namesrv = NameServer(tmp_path / "namesrv", KINDS[whose])
    running(namesrv)
    assert_holds(ConversationAnswered, visited(namesrv.address, plain, IN_TIME[NAMES][at]))
