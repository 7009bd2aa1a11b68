"""What the claims page says of RocketMQ 4.9.7, 5.5.0 and the reference where a plain socket can show it.

Each test has the same conversation with a broker of each and says how they differ. Claims are named by their numbers in
``docs/claims.md``. No test waits for something not to happen, and none measures time. A commit can change what ours
does and not what RocketMQ's jars do: most conversations with those are held at night (decision 56).
"""

from __future__ import annotations

import socket
from typing import Any

import pytest
from plain_sockets import (
    ALONE,
    BUSY,
    EVERYBODY,
    FILE,
    HEADER,
    LATE,
    OURS,
    REPORT,
    SERVED,
    Client,
    Make,
    frame,
    is_open,
    message,
    progress,
    pull,
    read,
    reported,
    send,
    slave_of,
)
from processes import HOST, READY_S, until
from real_brokers import free_port

pytestmark = pytest.mark.slow

ONE_SLAVE = {"4.9.7": {}, "5.5.0": {"inSyncReplicas": 2}, OURS: {}}
"""What a SYNC_MASTER needs besides, so that it waits for one slave."""
MASTER = {"brokerId": 0, "haListenPort": 0}


def java_at_night(*cases: Any) -> list[Any]:
    """Cases of a test, of which those of RocketMQ itself are played by ``make nightly`` only."""
    rows = [each if isinstance(each, tuple) else (each,) for each in cases]
    return [pytest.param(*row, marks=[] if OURS in row else [pytest.mark.nightly]) for row in rows]


@pytest.mark.parametrize("whose", java_at_night(*EVERYBODY))
def test_a_slave_that_knows_no_master_starts_and_listens_for_slaves_too(broker: Make, whose: str) -> None:
    """C-05, C-31, C-32, C-44."""
    own = free_port()
    slave = broker(whose, brokerRole="SLAVE", brokerId=1, haListenPort=own)
    taken = own if whose == "5.5.0" else slave.port + 1
    assert is_open(HOST, taken), "a slave listens where its own slaves would connect"
    assert [port for port in (own, slave.port + 1) if is_open(HOST, port)] == [taken]
    assert is_open("127.0.0.2", taken) == (whose != OURS), "RocketMQ binds every address"


@pytest.mark.parametrize(
    ("whose", "follows", "answer"),
    java_at_night(("4.9.7", "", SERVED), ("5.5.0", "", BUSY), (OURS, "4.9.7", SERVED), (OURS, "5.5.0", BUSY)),
)
def test_a_slave_is_asked_for_messages_by_default_settings(broker: Make, whose: str, follows: str, answer: int) -> None:
    """C-06, C-08."""
    named = {"rocketmqVersion": follows} if follows else {}
    slave = broker(whose, brokerRole="SLAVE", brokerId=1, **named)
    until(lambda: pull(slave.address).code == answer)


@pytest.mark.parametrize(("whose", "answer"), java_at_night(("4.9.7", LATE), (OURS, ALONE)))
def test_a_connection_that_says_nothing_is_a_slave_to_4_9_7_only(broker: Make, whose: str, answer: int) -> None:
    """C-19, C-40."""
    master = broker(whose, brokerRole="SYNC_MASTER", brokerId=0, slaveTimeout=100)
    assert send(master.address) == ALONE
    with socket.create_connection((HOST, master.port + 1)):
        until(lambda: send(master.address) == answer)


@pytest.mark.parametrize("whose", EVERYBODY)
def test_one_report_starts_a_stream_of_frames(broker: Make, whose: str) -> None:
    """C-52, C-56, C-58, C-59: one frame after the other, and perhaps a heartbeat, without a second report."""
    master = broker(whose, brokerRole="ASYNC_MASTER", brokerId=0, haTransferBatchSize=1_000, haListenPort=0)
    assert [send(master.address, b"x" * 3_000) for _ in range(3)] == [0, 0, 0]
    with socket.create_connection((HOST, master.port + 1), READY_S) as slave:
        slave.sendall(REPORT.pack(0))
        sizes: list[int] = []
        end = 0
        while end < 9_000:
            offset, size = HEADER.unpack(read(slave, HEADER.size))
            assert offset == end and size <= 1_000
            assert len(read(slave, size)) == size
            sizes, end = [*sizes, size], end + size
    assert len([size for size in sizes if size]) >= 9


@pytest.mark.parametrize("whose", ["4.9.7", OURS])
def test_a_slave_takes_an_offset_once_and_comes_back_after_a_mismatch(broker: Make, whose: str) -> None:
    """C-43, C-50, C-62, C-66, C-75, C-85, C-87 to C-91: a conversation with a slave in its master's place."""
    with socket.create_server((HOST, 0)) as rogue_master:
        rogue_master.settimeout(READY_S)
        address = f"{HOST}:{rogue_master.getsockname()[1]}"
        broker(whose, brokerRole="SLAVE", brokerId=1, haMasterAddress=address)
        with rogue_master.accept()[0] as slave:
            assert reported(slave) == 0
            # A lone header of twelve bytes is looked at, and while the log is empty any offset is taken.
            slave.sendall(HEADER.pack(3 * FILE, 0))
            assert reported(slave, behind=0) == 3 * FILE
            # Two frames, the second in pieces: each is reported when it is there.
            slave.sendall(HEADER.pack(3 * FILE, 8) + bytes(8) + HEADER.pack(3 * FILE + 8, 4) + bytes(3))
            assert reported(slave, behind=3 * FILE) == 3 * FILE + 8
            slave.sendall(bytes(1))
            assert reported(slave, behind=3 * FILE + 8) == 3 * FILE + 12
            # The header alone is enough to be refused.
            slave.sendall(HEADER.pack(3 * FILE + 99, 4))
            while read(slave, REPORT.size):
                pass
        with rogue_master.accept()[0] as slave:
            assert reported(slave) == 3 * FILE + 12


# Masters


@pytest.mark.parametrize("whose", java_at_night(*EVERYBODY))
def test_a_first_report_says_where_the_copy_starts(broker: Make, whose: str) -> None:
    """C-109 to C-112."""
    master = broker(whose, brokerRole="ASYNC_MASTER", **MASTER)
    assert {send(master.address, b"x" * 3_000) for _ in range(30)} == {0}
    with slave_of(master, 0) as slave:
        assert frame(slave)[0] == FILE, "where the second and last file begins"
    with slave_of(master, 1_000) as slave:
        assert frame(slave)[0] == 1_000


@pytest.mark.parametrize(("whose", "start"), java_at_night(("4.9.7", 1_000), ("5.5.0", 1_000), (OURS, 0)))
def test_of_two_reports_in_one_piece_only_ours_hears_the_first(broker: Make, whose: str, start: int) -> None:
    """C-100."""
    master = broker(whose, brokerRole="ASYNC_MASTER", **MASTER)
    assert send(master.address, b"x" * 3_000) == 0
    with slave_of(master, 0, 1_000) as slave:
        assert frame(slave)[0] == start


@pytest.mark.parametrize("whose", java_at_night(*EVERYBODY))
def test_a_first_report_beyond_the_log_gets_heartbeats_from_rocketmq_and_nothing_from_ours(
    broker: Make, whose: str
) -> None:
    """C-103, C-109, C-121. Ours drops the peer when it has been silent long enough."""
    master = broker(whose, brokerRole="ASYNC_MASTER", haHousekeepingInterval=3_000, **MASTER)
    assert send(master.address) == 0
    with slave_of(master, 10 * FILE) as slave:
        assert read(slave, HEADER.size) == (b"" if whose == OURS else HEADER.pack(10 * FILE, 0))


@pytest.mark.parametrize(("whose", "answer"), java_at_night(("4.9.7", 0), ("5.5.0", 0), (OURS, ALONE)))
def test_a_first_report_beyond_the_log_acknowledges_every_send_but_to_ours(
    broker: Make, whose: str, answer: int
) -> None:
    """C-103, C-148."""
    master = broker(whose, brokerRole="SYNC_MASTER", slaveTimeout=100, **ONE_SLAVE[whose], **MASTER)
    with slave_of(master, 5_000_000):
        until(lambda: send(master.address) == answer)


@pytest.mark.parametrize("whose", java_at_night(*EVERYBODY))
def test_one_slave_s_report_of_a_message_s_end_answers_its_send(broker: Make, whose: str) -> None:
    """C-133 to C-137: there are two slaves, and no report is above the end."""
    master = broker(whose, brokerRole="SYNC_MASTER", slaveTimeout=60_000, **ONE_SLAVE[whose], **MASTER)
    with slave_of(master, 0) as silent, slave_of(master, 0) as slave, Client(master.address) as client:
        assert frame(silent) == frame(slave) == (0, 0), "heartbeats: both are connected"
        client.ask(message())
        end = 0
        while not end:
            _, end = frame(slave)
        slave.sendall(REPORT.pack(end))
        assert client.answer().code == 0


@pytest.mark.parametrize("whose", java_at_night("4.9.7", OURS))
def test_a_slave_that_has_closed_is_none(broker: Make, whose: str) -> None:
    """C-125, C-131, C-132."""
    master = broker(whose, brokerRole="SYNC_MASTER", slaveTimeout=100, **MASTER)
    with slave_of(master, 0) as slave:
        assert frame(slave) == (0, 0)
        assert send(master.address) == LATE
    until(lambda: send(master.address) == ALONE)


@pytest.mark.parametrize("whose", java_at_night(*EVERYBODY))
@pytest.mark.parametrize(("splits", "suggested"), [("false", "0"), ("true", "1")])
def test_a_reader_that_lags_is_sent_to_the_slave_where_slaves_are_for_reading(
    broker: Make, whose: str, splits: str, suggested: str
) -> None:
    """C-165, C-166, C-170, C-172, C-173: any lag is too much here, and what lies in the log is 0.5 KB."""
    master = broker(whose, brokerRole="ASYNC_MASTER", slaveReadEnable=splits, accessMessageInMemoryMaxRatio=0, **MASTER)
    assert [send(master.address) for _ in range(2)] == [0, 0]
    until(lambda: pull(master.address).code == 0)
    assert pull(master.address).fields["suggestWhichBrokerId"] == suggested


@pytest.mark.parametrize(
    ("whose", "role", "kept"),
    java_at_night(
        ("4.9.7", "ASYNC_MASTER", "7"),
        ("5.5.0", "ASYNC_MASTER", "7"),
        (OURS, "ASYNC_MASTER", "7"),
        ("4.9.7", "SLAVE", "0"),
        (OURS, "SLAVE", "0"),
    ),
)
def test_a_pull_commits_at_a_master_only(broker: Make, whose: str, role: str, kept: str) -> None:
    """C-205, C-206. A pull that may not be held commits, too."""
    node = broker(whose, brokerRole=role, brokerId=int(role == "SLAVE"), haListenPort=0)
    until(lambda: pull(node.address, commits=7).code == SERVED)
    assert progress(node.address) == kept
