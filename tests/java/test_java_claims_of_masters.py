"""What the claims page says of masters: 4.9.7, 5.5.0 and the reference in the same conversation with plain sockets.

Claims are named by their numbers in ``docs/claims.md``. No test waits for something not to happen, and none measures
time.
"""

from __future__ import annotations

import pytest
from plain_sockets import (
    ALONE,
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
    message,
    progress,
    pull,
    read,
    send,
    slave_of,
)
from processes import until

pytestmark = pytest.mark.slow

ONE_SLAVE = {"4.9.7": {}, "5.5.0": {"inSyncReplicas": 2}, OURS: {}}
"""What a SYNC_MASTER needs besides, so that it waits for one slave."""
MASTER = {"brokerId": 0, "haListenPort": 0}


@pytest.mark.parametrize("whose", EVERYBODY)
def test_a_first_report_says_where_the_copy_starts(broker: Make, whose: str) -> None:
    """C-109 to C-112."""
    master = broker(whose, brokerRole="ASYNC_MASTER", **MASTER)
    assert {send(master.address, b"x" * 3_000) for _ in range(30)} == {0}
    with slave_of(master, 0) as slave:
        assert frame(slave)[0] == FILE, "where the second and last file begins"
    with slave_of(master, 1_000) as slave:
        assert frame(slave)[0] == 1_000


@pytest.mark.parametrize(("whose", "start"), [("4.9.7", 1_000), ("5.5.0", 1_000), (OURS, 0)])
def test_of_two_reports_in_one_piece_only_ours_hears_the_first(broker: Make, whose: str, start: int) -> None:
    """C-100."""
    master = broker(whose, brokerRole="ASYNC_MASTER", **MASTER)
    assert send(master.address, b"x" * 3_000) == 0
    with slave_of(master, 0, 1_000) as slave:
        assert frame(slave)[0] == start


@pytest.mark.parametrize("whose", EVERYBODY)
def test_a_first_report_beyond_the_log_gets_heartbeats_from_rocketmq_and_nothing_from_ours(
    broker: Make, whose: str
) -> None:
    """C-103, C-109, C-121. Ours drops the peer when it has been silent long enough."""
    master = broker(whose, brokerRole="ASYNC_MASTER", haHousekeepingInterval=3_000, **MASTER)
    assert send(master.address) == 0
    with slave_of(master, 10 * FILE) as slave:
        assert read(slave, HEADER.size) == (b"" if whose == OURS else HEADER.pack(10 * FILE, 0))


@pytest.mark.parametrize(("whose", "answer"), [("4.9.7", 0), ("5.5.0", 0), (OURS, ALONE)])
def test_a_first_report_beyond_the_log_acknowledges_every_send_but_to_ours(
    broker: Make, whose: str, answer: int
) -> None:
    """C-103, C-148."""
    master = broker(whose, brokerRole="SYNC_MASTER", slaveTimeout=100, **ONE_SLAVE[whose], **MASTER)
    with slave_of(master, 5_000_000):
        until(lambda: send(master.address) == answer)


@pytest.mark.parametrize("whose", EVERYBODY)
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


@pytest.mark.parametrize("whose", ["4.9.7", OURS])
def test_a_slave_that_has_closed_is_none(broker: Make, whose: str) -> None:
    """C-125, C-131, C-132."""
    master = broker(whose, brokerRole="SYNC_MASTER", slaveTimeout=100, **MASTER)
    with slave_of(master, 0) as slave:
        assert frame(slave) == (0, 0)
        assert send(master.address) == LATE
    until(lambda: send(master.address) == ALONE)


@pytest.mark.parametrize("whose", EVERYBODY)
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
    [
        ("4.9.7", "ASYNC_MASTER", "7"),
        ("5.5.0", "ASYNC_MASTER", "7"),
        (OURS, "ASYNC_MASTER", "7"),
        ("4.9.7", "SLAVE", "0"),
        (OURS, "SLAVE", "0"),
    ],
)
def test_a_pull_commits_at_a_master_only(broker: Make, whose: str, role: str, kept: str) -> None:
    """C-205, C-206. A pull that may not be held commits, too."""
    node = broker(whose, brokerRole=role, brokerId=int(role == "SLAVE"), haListenPort=0)
    until(lambda: pull(node.address, commits=7).code == SERVED)
    assert progress(node.address) == kept
