"""Conversations with the HA master and slave over a fake port: what is said to them, what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from master_play import FILE, MasterPlay, Port

from pairproof.reference.core import ha_master, ha_slave
from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.ha_slave import HaSlave
from pairproof.reference.wire.ha import encode_header

MS = 1_000_000


class SlavePlay:
    def __init__(self, disk: Any, port: type[Port] = Port, **settings: Any) -> None:
        self.port = port(disk)
        self.log = CommitLog(disk, FILE)
        self.log.recover(True)
        config = BrokerConfig(
            brokerRole="SLAVE", brokerId=1, haMasterAddress="ha", mappedFileSizeCommitLog=FILE, **settings
        )
        self.ha = HaSlave(config, self.log, self.port, self.port)
        self.ha.start()
        self.ha.on_connected("c1")

    def frame(self, offset: int, body: bytes) -> None:
        self.ha.on_bytes(encode_header(offset, len(body)) + body)

    def reports(self, conn: str = "c1") -> list[int]:
        sent = self.port.sent.get(conn, b"")
        return [int.from_bytes(sent[at : at + 8], "big") for at in range(0, len(sent), 8)]

    def at(self, ms: int, what: str) -> None:
        self.port.time = ms * MS
        self.ha.on_timer((what, None))


@pytest.mark.parametrize("module", [ha_master, ha_slave])
def test_every_row_of_the_phase_table_names_a_known_phase_and_a_closed_phase_has_none(module: Any) -> None:
    for (phase, heard), following in module.NEXT.items():
        assert isinstance(phase, module.Phase) and isinstance(heard, module.Received)
        assert isinstance(following, module.Phase)
    ends = {"CLOSED"} if module is ha_master else set()
    assert {phase.name for phase, _ in module.NEXT} == set(module.Phase.__members__) - ends


def test_every_master_row_is_walked(make_disk: Callable[..., Any]) -> None:
    walked = set()
    for phase, heard in ha_master.NEXT:
        play = MasterPlay(make_disk(), messages=2)
        play.accept("c")
        if phase is not ha_master.Phase.ACCEPTED:
            play.report("c", play.log.end if phase is ha_master.Phase.TRANSFER else play.log.end + 1)
        peer = play.ha.connections["c"]
        assert peer.phase is phase
        if heard is ha_master.Received.VALID_REPORT:
            play.report("c", play.log.end)
        elif heard is ha_master.Received.INVALID_REPORT:
            play.report("c", play.log.end + 9)
        elif heard is ha_master.Received.SILENCE:
            play.at(20_000, "ha-silence", "c")
        elif heard is ha_master.Received.EXPIRED:
            play.outrun(peer)
        else:
            play.ha.on_closed("c")
        assert peer.phase is ha_master.NEXT[phase, heard]
        walked.add((phase, heard))
    assert walked == set(ha_master.NEXT)


def test_master_says_nothing_before_the_first_report(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=3)
    play.accept("c")
    play.ha.wake()
    assert "c" not in play.port.sent
    play.report("c", play.log.end)
    play.put()
    play.ha.wake()
    assert play.port.frames("c")


def test_fresh_slave_starts_at_the_masters_last_file(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=8)
    assert play.log.end > FILE
    play.accept("c", 0)
    assert play.port.frames("c")[0][0] == play.log.end - play.log.end % FILE


def test_frames_are_contiguous_bounded_and_never_cross_a_file(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=12)
    play.accept("c", 392)
    at = 392
    for offset, size in play.port.frames("c"):
        assert offset == at and 0 < size <= 512
        assert offset // FILE == (offset + size - 1) // FILE
        at += size
    assert at == play.log.end


@pytest.mark.parametrize("excess", [1, 5_000_000])
def test_slave_ahead_of_the_master_is_refused_for_good(make_disk: Callable[..., Any], excess: int) -> None:
    play = MasterPlay(make_disk(), messages=2)
    claimed = play.log.end + excess
    play.accept("c", claimed)
    assert play.port.refusals == [("c", claimed, play.log.end)]
    while play.log.end < min(claimed, 3_000):
        play.put()
    play.ha.wake()
    play.report("c", play.log.end)
    assert "c" not in play.port.sent and play.ha.push_offset == 0
    assert not play.ha.slave_available(play.log.end)


@pytest.mark.parametrize("reported", [-1, -(2**63), 2**63 - 1])
def test_absurd_first_reports_are_refused(make_disk: Callable[..., Any], reported: int) -> None:
    play = MasterPlay(make_disk(), messages=2)
    play.accept("c", reported)
    assert "c" not in play.port.sent and play.ha.push_offset == 0


def test_report_above_what_was_sent_closes_and_answers_nobody(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=2)
    play.accept("c", play.log.end)
    answers: list[str] = []
    play.ha.group_transfer.add(play.log.end + 100, answers.append)
    play.report("c", play.log.end + 100)
    assert play.port.closed == ["c"] and answers == []


def test_bare_connection_is_no_slave(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=1)
    play.accept("c")
    assert not play.ha.slave_available(play.log.end)
    play.report("c", 0)
    assert play.ha.slave_available(play.log.end)


def test_slave_too_far_behind_is_not_available(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=1, haSlaveFallbehindMax=1_000)
    play.accept("c", play.log.end)
    assert play.ha.slave_available(play.log.end + 999)
    assert not play.ha.slave_available(play.log.end + 1_000)


def test_one_report_answers_every_send_that_it_covers_and_no_other(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk())
    play.accept("c", 0)
    ends = [play.put() for _ in range(3)]
    answers: list[tuple[int, str]] = []
    for end in ends:
        play.ha.group_transfer.add(end, lambda status, end=end: answers.append((end, status)))  # type: ignore[misc]
    play.ha.wake()
    play.report("c", ends[1])
    assert answers == [(ends[0], "PUT_OK"), (ends[1], "PUT_OK")]
    play.at(2_999, "ha-transfer", None)
    assert len(answers) == 2
    play.at(3_000, "ha-transfer", None)
    assert answers[2] == (ends[2], "FLUSH_SLAVE_TIMEOUT")


def test_new_slave_cannot_vouch_for_files_that_it_never_gets(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk())
    answers: list[str] = []
    older = play.put(1_000)
    play.ha.group_transfer.add(older, answers.append)
    newer = play.put(1_000)
    play.ha.group_transfer.add(newer, lambda status: answers.append(f"newer {status}"))
    assert older <= FILE < newer
    play.accept("c", 0)
    play.report("c", FILE)
    assert answers == []
    play.report("c", newer)
    assert answers == ["newer PUT_OK"]
    play.at(3_000, "ha-transfer", None)
    assert answers == ["newer PUT_OK", "FLUSH_SLAVE_TIMEOUT"]


def test_unfinished_frame_goes_on_before_anything_else(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=2)
    play.port.room = 5
    play.accept("c", 392)
    assert len(play.port.sent["c"]) == 5
    play.at(6_000, "ha-heartbeat", "c")
    play.port.room = None
    play.ha.on_writable("c")
    assert play.port.frames("c") == [(392, 392)]


def test_idle_link_carries_heartbeats_and_a_silent_peer_is_dropped(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=1)
    play.accept("c", play.log.end)
    play.at(4_999, "ha-heartbeat", "c")
    assert play.port.frames("c") == []
    play.at(5_000, "ha-heartbeat", "c")
    assert play.port.frames("c") == [(play.log.end, 0)]
    play.at(19_999, "ha-silence", "c")
    assert play.port.closed == []
    play.at(20_000, "ha-silence", "c")
    assert play.port.closed == ["c"] and not play.ha.connections


def test_slave_reports_nothing_on_connect_and_its_end_after_one_interval(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    assert play.reports() == []
    play.at(5_000, "ha-report")
    assert play.reports() == [0]


def test_slave_appends_whole_frames_and_reports_each(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    data = encode_header(0, 10) + b"a" * 10 + encode_header(10, 5) + b"b" * 5
    for at in range(len(data)):
        play.ha.on_bytes(data[at : at + 1])
    assert play.log.end == 15 and play.reports() == [10, 15]


def test_incomplete_frame_leaves_nothing(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    play.ha.on_bytes(encode_header(0, 10) + b"a" * 9)
    play.ha.on_lost()
    assert play.log.end == 0 and play.port.appends == []


@pytest.mark.parametrize("whole", [True, False])
def test_mismatched_frame_closes_even_before_its_body_arrives(make_disk: Callable[..., Any], whole: bool) -> None:
    play = SlavePlay(make_disk())
    play.frame(0, b"a" * 10)
    play.ha.on_bytes(encode_header(11, 4) + (b"late" if whole else b""))
    assert play.port.closed == ["c1"] and play.log.end == 10 and play.reports() == [10]


def test_frame_before_a_mismatched_one_is_reported_before_the_close(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    play.ha.on_bytes(encode_header(0, 10) + b"a" * 10 + encode_header(11, 4) + b"late")
    assert play.log.end == 10 and play.reports() == [10] and play.port.closed == ["c1"]


def test_frame_that_brings_nothing_new_is_not_reported(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    play.frame(0, b"a" * 10)
    play.frame(10, b"")
    assert play.reports() == [10] and play.ha.reported == 10
    play.at(5_000, "ha-report")
    assert play.reports() == [10, 10]


def test_heartbeat_at_another_offset_closes(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    play.frame(0, b"a" * 10)
    play.frame(10, b"")
    assert play.port.closed == []
    play.frame(9, b"")
    assert play.port.closed == ["c1"]


def test_empty_slave_takes_any_first_offset_even_from_a_heartbeat(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    play.frame(3 * FILE, b"")
    assert play.log.end == play.log.start == 3 * FILE and play.reports() == [3 * FILE]


@pytest.mark.parametrize("junk", [encode_header(0, -1), encode_header(-1, 4), encode_header(0, 2**31 - 1)])
def test_hostile_header_closes_the_connection(make_disk: Callable[..., Any], junk: bytes) -> None:
    play = SlavePlay(make_disk())
    play.ha.on_bytes(junk)
    assert play.port.closed == ["c1"] and play.log.end == 0


def test_full_disk_ends_the_connection_instead_of_losing_a_frame(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk(0))
    play.frame(0, b"a" * 10)
    assert play.port.closed == ["c1"] and play.reports() == []


def test_silent_master_is_noticed_and_reconnects_are_five_seconds_apart(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    play.at(19_999, "ha-silence")
    assert play.port.closed == []
    play.at(20_000, "ha-silence")
    assert play.port.closed == ["c1"]
    assert play.port.timers["ha-reconnect", None] == 20_000 * MS
    play.at(20_000, "ha-reconnect")
    play.ha.on_lost()
    assert play.port.timers["ha-reconnect", None] == 25_000 * MS and len(play.port.connects) == 2


class Reluctant(Port):
    """Its sockets take ``at_a_time`` bytes with a write."""

    at_a_time = 1
    sends = 0

    def send(self, conn: str, data: bytes) -> int:
        self.sends += 1
        return super().send(conn, data[: self.at_a_time])


class LessReluctant(Reluctant):
    at_a_time = 3


@pytest.mark.parametrize("version", ["4.4.0", "4.9.2", "4.9.7", "5.5.0"])
def test_report_that_three_writes_cannot_finish_closes_the_connection(
    make_disk: Callable[..., Any], version: str
) -> None:
    play = SlavePlay(make_disk(), Reluctant, rocketmqVersion=version)
    play.frame(0, b"a" * 10)
    assert play.port.sends == 3 and len(play.port.sent["c1"]) == 3  # type: ignore[attr-defined]
    assert play.port.closed == ["c1"] and play.log.end == 10 and ("ha-reconnect", None) in play.port.timers


def test_report_that_takes_three_writes_is_whole(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk(), LessReluctant)
    play.frame(0, b"a" * 10)
    assert play.port.sends == 3 and play.reports() == [10] and play.port.closed == []  # type: ignore[attr-defined]


def test_what_comes_behind_a_frame_whose_report_failed_is_not_appended(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    play.port.room = 3
    play.ha.on_bytes(encode_header(0, 10) + b"a" * 10 + encode_header(10, 5) + b"b" * 5)
    assert play.port.closed == ["c1"] and play.log.end == 10


def test_timed_report_that_does_not_leave_closes_too(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk())
    play.port.room = 0
    play.at(5_000, "ha-report")
    assert play.port.closed == ["c1"] and play.port.connects == ["ha"]
    play.port.room = None
    play.at(5_000, "ha-reconnect")
    play.ha.on_connected("c2")
    play.at(10_000, "ha-report")
    assert play.reports("c2") == [0]


def test_slave_that_is_told_to_wait_finishes_a_cut_report_before_the_next(make_disk: Callable[..., Any]) -> None:
    play = SlavePlay(make_disk(), haCutReports="waits")
    play.port.room = 3
    play.frame(0, b"a" * 10)
    play.frame(10, b"a" * 10)
    play.port.room = None
    play.ha.on_writable()
    assert play.reports() == [10, 20]
