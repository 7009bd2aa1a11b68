"""What a master pushes and counts under settings that RocketMQ's 4.9 defaults do not show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from master_play import FILE, MasterPlay

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.chaos.mutants.replicas import CountsConnections
from pairproof.reference.core.ha_master import HaMaster

FIVE = {"rocketmqVersion": "5.5.0"}
TIMEOUT = "FLUSH_SLAVE_TIMEOUT"


# Pushing flushed bytes only.


def test_only_flushed_bytes_leave_where_only_flushed_bytes_are_pushed(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=2, haPushes="flushed")
    play.accept("c", 0)
    assert play.port.frames("c") == []
    play.log.mark_flushed(500)
    play.ha.wake()
    assert play.port.frames("c") == [(0, 500)]
    play.flush()
    assert play.port.frames("c")[1:] == [(500, play.log.end - 500)]


def test_written_bytes_leave_at_once_otherwise(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=2)
    play.accept("c", 0)
    assert play.log.flushed == 0 and sum(size for _, size in play.port.frames("c")) == play.log.end


def test_fresh_slave_starts_at_the_last_file_that_holds_flushed_bytes(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=4, haPushes="flushed")
    play.flush()
    while play.log.end < 2 * FILE:
        play.put()
    play.accept("c", 0)
    frames = play.port.frames("c")
    assert frames[0][0] == 0 and sum(size for _, size in frames) == play.log.flushed < FILE


def test_slave_above_the_flushed_bytes_is_served_once_the_flush_has_passed_it(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=3, haPushes="flushed")
    play.accept("c", 500)
    play.at(5_000, "ha-heartbeat", "c")
    assert "c" not in play.port.sent and play.port.refusals == [] and play.port.closed == []
    play.at(10_000, "ha-heartbeat", "c")
    play.log.mark_flushed(500)
    play.at(15_000, "ha-heartbeat", "c")
    assert play.port.frames("c") == [(500, 0)]
    play.flush()
    assert play.port.frames("c")[1][0] == 500


@given(st.lists(st.sampled_from(["put", "flush", "half", "join", "beat"]), max_size=30))
@settings(max_examples=150)
def test_what_leaves_survives_every_power_loss_of_the_master(steps: list[str]) -> None:
    play = MasterPlay(SimDisk(), haPushes="flushed", haTransferBatchSize=300)
    for number, step in enumerate(steps):
        if step == "put":
            play.put()
            play.ha.wake()
        elif step == "join":
            play.accept(f"c{number}", play.log.flushed)
        elif step == "beat":
            for conn in play.ha.connections:
                play.at(5_000 * (number + 1), "ha-heartbeat", conn)
        else:
            upto = play.log.end if step == "flush" else (play.log.flushed + play.log.end) // 2
            play.log.mark_flushed(upto)
            play.ha.wake()
        for conn in play.port.sent:
            assert all(offset + size <= play.log.flushed for offset, size in play.port.frames(conn))


# In-sync replicas.


@pytest.mark.parametrize(("replicas", "slaves"), [(2, 1), (3, 2), (4, 3)])
def test_send_waits_for_as_many_slaves_as_in_sync_replicas_say(
    make_disk: Callable[..., Any], replicas: int, slaves: int
) -> None:
    play = MasterPlay(make_disk(), inSyncReplicas=replicas, **FIVE)
    for number in range(4):
        play.accept(f"s{number}", 0)
    end = play.put()
    answers = play.waiting(end)
    play.ha.wake()
    for number in range(slaves - 1):
        play.report(f"s{number}", end)
    play.report(f"s{slaves - 1}", end - 1)
    assert answers == []
    play.report(f"s{slaves - 1}", end)
    assert answers == ["PUT_OK"]


@pytest.mark.parametrize(("master", "fooled"), [(HaMaster, False), (CountsConnections, True)])
def test_two_connections_of_one_slave_are_one_replica(
    make_disk: Callable[..., Any], master: type[HaMaster], fooled: bool
) -> None:
    play = MasterPlay(make_disk(), master=master, inSyncReplicas=3, **FIVE)
    play.accept("s1#old", 0)
    answers = play.waiting(end := play.put())
    play.ha.wake()
    play.report("s1#old", end)
    play.accept("s1#new", end)
    assert answers == (["PUT_OK"] if fooled else [])
    play.accept("s2", end)
    assert answers == ["PUT_OK"]


def test_what_a_slave_says_on_its_newest_connection_overrules_what_it_said_before(
    make_disk: Callable[..., Any],
) -> None:
    play = MasterPlay(make_disk(), inSyncReplicas=3, **FIVE)
    play.accept("s1#old", 0)
    answers = play.waiting(end := play.put())
    play.ha.wake()
    play.report("s1#old", end)
    play.accept("s1#new", 100)
    play.accept("s2", end)
    assert answers == []
    play.report("s1#new", end)
    assert answers == ["PUT_OK"]


def test_word_of_a_slave_that_left_no_longer_counts(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), inSyncReplicas=3, **FIVE)
    play.accept("s1", 0)
    answers = play.waiting(end := play.put())
    play.ha.wake()
    play.report("s1", end)
    play.ha.on_closed("s1")
    play.accept("s2", end)
    assert answers == []


def test_fresh_slave_takes_no_hope_from_sends_that_another_slave_will_hold(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk())
    play.accept("s1", 0)
    older, newer = play.waiting(first := play.put(1_000)), play.waiting(second := play.put(1_000))
    play.ha.wake()
    play.accept("s2", 0)
    play.report("s2", second)
    assert (older, newer) == ([], ["PUT_OK"])
    play.report("s1", first)
    assert older == ["PUT_OK"]


def test_version_5_always_finds_a_slave_available_and_4_9_does_not(make_disk: Callable[..., Any]) -> None:
    assert MasterPlay(make_disk(), inSyncReplicas=2, **FIVE).ha.slave_available(100)
    assert not MasterPlay(make_disk()).ha.slave_available(100)


# Retention.


def test_slave_whose_next_bytes_expired_is_closed_and_named(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=1)
    play.accept("late", play.log.end)
    play.accept("bare")
    acked = play.log.end
    play.outrun(play.ha.connections["late"])
    assert play.port.refusals == [("late", acked, play.log.end)]
    assert play.port.closed == ["late"] and list(play.ha.connections) == ["bare"]


def test_slave_that_keeps_up_survives_the_expiry_of_old_files(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=1)
    play.accept("c", play.log.end)
    for _ in range(12):
        play.put()
        play.ha.wake()
    play.log.expire(1)
    play.ha.expired()
    assert play.log.start > 0 and play.port.closed == [] and play.port.refusals == []


def test_slave_that_comes_back_from_before_the_log_s_start_is_refused(make_disk: Callable[..., Any]) -> None:
    play = MasterPlay(make_disk(), messages=12)
    start = play.log.expire(1)
    play.accept("late", start - 1)
    play.accept("early", start)
    assert [conn for conn, _, _ in play.port.refusals] == ["late"]
