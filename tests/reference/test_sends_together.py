"""Messages that came in one read leave for the slave together; each is answered as if it had come alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from broker_play import Shell, send

from pairproof.reference.core import puts
from pairproof.reference.wire import remoting
from pairproof.reference.wire.ha import FrameReader, encode_report

BIG = {"mappedFileSizeCommitLog": 1 << 20, "mappedFileSizeConsumeQueue": 6_000}


@pytest.fixture
def master(make_disk: Callable[..., Any]) -> Shell:
    """A SYNC_MASTER with a slave that holds all of its log: one message."""
    made = Shell(make_disk(), brokerRole="SYNC_MASTER", **BIG)
    made.put(wait=False)
    made.broker.on_accepted("s", "ha")
    made.broker.on_bytes("s", encode_report(made.broker.log.end))
    made.sent.clear()
    return made


def frames(master: Shell) -> list[tuple[int, int]]:
    """[lo, hi) of every frame that left for the slave."""
    read = FrameReader(1 << 20).feed(master.sent.get("s", b""))
    return [(offset, offset + len(body)) for offset, body in read]


def codes(master: Shell) -> list[tuple[int, int]]:
    return [(each.opaque, each.code) for each in master.answers()]


def test_messages_of_one_read_leave_in_one_frame_and_those_of_several_in_several(master: Shell) -> None:
    begin = master.broker.log.end
    master.ask(b"".join(send(number) for number in range(2, 6)))
    together = master.broker.log.end
    assert frames(master) == [(begin, together)]
    for number in range(6, 8):
        master.put(number)
    assert [hi for _, hi in frames(master)][-1] == master.broker.log.end and len(frames(master)) == 3


def test_each_of_them_is_answered_when_the_slave_has_it(master: Shell) -> None:
    begin = master.broker.log.end
    master.ask(b"".join(send(number) for number in range(2, 6)))
    size = (master.broker.log.end - begin) // 4
    master.broker.on_bytes("s", encode_report(begin + 2 * size))
    assert codes(master) == [(2, remoting.SUCCESS), (3, remoting.SUCCESS)]
    master.broker.on_bytes("s", encode_report(master.broker.log.end))
    assert codes(master) == [(number, remoting.SUCCESS) for number in range(2, 6)]


def test_of_a_long_read_the_first_messages_do_not_wait_for_the_last(master: Shell) -> None:
    left: list[int] = []
    original = master.send

    def seen(conn: str, data: bytes) -> int:
        if conn == "s":
            left.append(master.broker.log.end)
        return original(conn, data)

    master.send = seen  # type: ignore[method-assign]
    count = 40
    master.ask(b"".join(send(number, body=bytes(1_000)) for number in range(2, 2 + count)))
    assert left[0] < master.broker.log.end / 2
    assert 3 <= len(left) <= count // 4
    lows, highs = zip(*frames(master), strict=True)
    assert list(highs[:-1]) == list(lows[1:]) and highs[-1] == master.broker.log.end
    assert max(hi - lo for lo, hi in frames(master)) <= puts.MAX_KEPT_BACK + 2_000


def test_a_read_that_ends_in_garbage_still_sends_on_what_came_before(master: Shell) -> None:
    master.ask(send(2) + send(3) + b"\x7f" * 8)
    assert "c" in master.closed
    assert frames(master)[-1][1] == master.broker.log.end
