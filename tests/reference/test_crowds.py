"""Who has to go where too many have come, and who stays whatever a crowd of strangers does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fake_port import MS, FakePort
from master_play import MasterPlay

from pairproof.reference.core.command_peers import IDLE_NS, CommandPeers
from pairproof.reference.core.ha_master import MAX_CONNECTIONS, MAX_PER_ADDRESS
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command

CROWD = 70
ASK = remoting.encode(Command(105, 1, 0, {"topic": "T"}))


@pytest.fixture
def play(disk: Any) -> MasterPlay:
    return MasterPlay(disk, messages=2)


def crowd(play: MasterPlay, name: str, report: int | None, number: int = CROWD, addresses: int = 1) -> list[str]:
    """So many strangers come, one a millisecond, and report this; those that are still there."""
    came = []
    for each in range(number):
        play.port.time += MS
        came.append(f"{name}{each}@{name}{each % addresses}" if addresses > 1 else f"{name}{each}")
        play.accept(came[-1], report)
    return [each for each in came if each in play.ha.connections]


def replicates(play: MasterPlay, conn: str) -> None:
    """What is put now reaches the slave, and its word answers the send."""
    end = play.put()
    answers = play.waiting(end)
    play.ha.wake()
    play.report(conn, end)
    assert answers == ["PUT_OK"]


@pytest.mark.parametrize("report", [None, 0, 10_000_000, "end"])
def test_a_slave_with_the_address_of_seventy_strangers_gets_in_and_stays(play: MasterPlay, report: Any) -> None:
    say = play.log.end if report == "end" else report
    assert len(crowd(play, "before", say)) == MAX_PER_ADDRESS
    play.accept("slave", 0)
    replicates(play, "slave")
    assert len(crowd(play, "after", say)) == MAX_PER_ADDRESS - 1
    replicates(play, "slave")


def test_an_idle_slave_goes_only_after_all_strangers_that_got_no_further(play: MasterPlay) -> None:
    play.accept("slave", 0)
    replicates(play, "slave")
    play.port.time += 3_600_000 * MS
    crowd(play, "late", play.log.end)
    replicates(play, "slave")


def test_of_those_that_got_on_the_one_goes_that_did_so_longest_ago(play: MasterPlay) -> None:
    # What one slave left behind, half open, when its cable was pulled again and again.
    left = [f"slave#{number}" for number in range(MAX_PER_ADDRESS)]
    for conn in left:
        play.port.time += 5_000 * MS
        play.accept(conn, 0)
        replicates(play, conn)
    play.accept("slave#now", 0)
    assert [conn for conn in left if conn in play.ha.connections] == left[1:]
    replicates(play, "slave#now")


def test_strangers_of_many_addresses_crowd_out_each_other_and_no_lone_slave(play: MasterPlay) -> None:
    play.accept("slave@home", 0)
    for name in ("a", "b", "c"):
        assert crowd(play, name, 0, 4 * MAX_CONNECTIONS, addresses=20)
        assert len(play.ha.connections) == MAX_CONNECTIONS
    replicates(play, "slave@home")


def test_strangers_that_each_have_an_address_crowd_out_no_slave_that_has_got_on(play: MasterPlay) -> None:
    play.accept("slave@home", 0)
    replicates(play, "slave@home")
    crowd(play, "a", 0, 4 * MAX_CONNECTIONS, addresses=4 * MAX_CONNECTIONS)
    assert len(play.ha.connections) == MAX_CONNECTIONS
    replicates(play, "slave@home")


class Seated:
    """A port for clients with three places."""

    def __init__(self) -> None:
        self.port = FakePort(None)
        self.gone: list[str] = []
        self.peers = CommandPeers(self.port, lambda conn, command: None, self.gone.append)

    def come(self, *conns: str) -> list[str]:
        """They connect; who had to go since the start."""
        for conn in conns:
            self.peers.accept(conn)
        return self.port.closed

    def ask(self, *conns: str) -> None:
        for conn in conns:
            self.peers.on_bytes(conn, ASK)


@pytest.fixture
def seated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seated]:
    monkeypatch.setattr("pairproof.reference.core.command_peers.MAX_PEERS", 3)
    yield Seated()


def test_the_oldest_client_that_never_asked_anything_makes_room(seated: Seated) -> None:
    seated.come("member", "idle", "late")
    seated.ask("member")
    seated.peers.on_bytes("idle", ASK[:-1])
    assert seated.come("new") == seated.gone == ["idle"], "half a frame is no question"
    assert seated.come("newer") == ["idle", "late"]
    assert "member" in seated.peers


def test_a_client_that_asked_long_ago_makes_room_and_one_that_asked_lately_does_not(seated: Seated) -> None:
    seated.come("a", "b", "c")
    seated.ask("a", "b", "c")
    seated.port.time = IDLE_NS - 1
    assert seated.come("early") == ["early"], "all have asked something lately, so this one is closed"
    seated.ask("a")
    seated.port.time = IDLE_NS
    assert seated.come("new") == ["early", "b"]
    assert seated.come("newer") == ["early", "b", "new"], "who has never asked goes before who has"
