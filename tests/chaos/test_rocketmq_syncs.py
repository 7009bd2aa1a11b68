"""Syncs of a slave that traces nothing: asked and answered by the taps of its links, failed by its own log's lines."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_rocketmq_registrations import answer, outside, request, traced

from pairproof.chaos.labs.real.evidence import Evidence
from pairproof.chaos.labs.real.trace import TraceReader
from pairproof.chaos.plan import Place
from pairproof.chaos.rocketmq.calls_forwarder import TablesForwarder
from pairproof.chaos.rocketmq.outside.view import OutsideView
from pairproof.chaos.rocketmq.outside.words import Failure, OutputFollower
from pairproof.chaos.rocketmq.readings import TracedReadings
from pairproof.harness.history import MS, Event
from pairproof.harness.rocketmq import topology

CODES = {"topics": 21, "offsets": 43, "delays": 45, "groups": 201}
SYSTEM_ERROR = 1
LINE = "2026-11-22 {hour}:47:12,034 ERROR RocketmqBroker Sync{what} Exception, 127.0.0.1:10911\n"
STACK = "java.net.ConnectException: SyncTopicConfig Exception\n\tat org.apache.rocketmq.Some.method(Some.java:1)\n"


def over(evidence: Evidence, link: str = topology.META_LINKS[0]) -> TablesForwarder:
    assert evidence.listener is not None
    found = evidence.listener.forwarder("slave", link)
    assert isinstance(found, TablesForwarder)
    return found


def synced(evidence: Evidence) -> list[Event]:
    evidence.merge_traces()
    return [each for each in evidence.recorder.events if each.kind == "sync"]


def told(evidence: Evidence) -> list[tuple[str | None, str | None]]:
    return [(each.f, each.status) for each in synced(evidence)]


@pytest.mark.parametrize("link", [topology.META_LINKS[0], topology.FAST_LINKS[0]])
@pytest.mark.parametrize("table", CODES)
def test_a_request_for_a_table_and_its_answer_are_steps_of_a_sync(table: str, link: str) -> None:
    evidence = traced()
    evidence.process_started("slave", 1, outside())
    way = over(evidence, link)
    way.client_sent(request(5, CODES[table]) + request(6, code=10))
    way.server_sent(answer(5))
    way.client_receives(answer(6) + answer(5))
    assert told(evidence) == [(table, "asked"), (table, "answered")]
    assert {(each.node, each.incarnation) for each in evidence.recorder.events} == {("slave", 1)}


def test_a_table_is_copied_once_its_answer_arrives_and_dated_by_its_request() -> None:
    evidence = traced()
    evidence.process_started("slave", 1, outside())
    way, readings = over(evidence), evidence.readings
    assert isinstance(readings, TracedReadings)
    before = evidence.now()
    way.client_sent(request(5, CODES["topics"]))
    asked = evidence.now()
    evidence.poll()
    assert not readings.copies
    way.client_receives(answer(5))
    evidence.poll()
    assert before <= readings.copies["slave"]["topics"] <= asked


def test_an_answer_that_the_link_lost_or_that_refuses_says_nothing() -> None:
    evidence = traced()
    evidence.process_started("slave", 1, outside())
    way = over(evidence)
    way.client_sent(request(1, CODES["offsets"]) + request(2, CODES["delays"]))
    way.server_sent(answer(1))
    way.client_receives(answer(2, SYSTEM_ERROR))
    assert told(evidence) == [("offsets", "asked"), ("delays", "asked")]


def test_who_traces_its_syncs_is_not_told_of_twice(tmp_path: Path) -> None:
    evidence = traced()
    path = tmp_path / "slave-1.jsonl"
    evidence.process_started("slave", 1, TraceReader(path))
    path.write_text(f'[{time.monotonic_ns()},"sync","topics","asked"]\n')
    way = over(evidence)
    way.client_sent(request(1, CODES["topics"]))
    assert told(evidence) == [("topics", "asked")]


# What the log says.


@pytest.mark.parametrize("hour", [10, 2])
def test_lines_of_the_log_say_which_tables_a_slave_did_not_get_whatever_its_time_zone(
    tmp_path: Path, hour: int
) -> None:
    output = tmp_path / "out.log"
    output.write_text("")
    words = OutputFollower(output)
    kinds = ("TopicConfig", "ConsumerOffset", "DelayOffset", "SubscriptionGroup", "MessageRequestMode")
    output.write_text("".join(LINE.format(hour=f"{hour:02d}", what=what) + STACK for what in kinds))
    at_ms = (2 * 60 + 12) * 1_000 + 34
    assert words.poll() == ([], [Failure(table, at_ms) for table in CODES])


def test_a_slave_of_5_that_fails_over_the_absent_data_version_of_a_master_of_4_has_the_offsets(tmp_path: Path) -> None:
    output = tmp_path / "out.log"
    output.write_text("")
    words = OutputFollower(output)
    line = LINE.format(hour="10", what="ConsumerOffset")
    why = 'java.lang.NullPointerException: Cannot read field "timestamp" because "dataVersion" is null\n'
    output.write_text(
        f"{line}{why}\tat org.apache.rocketmq.remoting.protocol.DataVersion.assignNewOne(DataVersion.java:27)\n"
    )
    assert words.poll() == ([], [])
    with output.open("a") as file:
        file.write(f"{line}{why}\tat org.apache.rocketmq.Some.method(Some.java:1)\n")
    assert [each.table for each in words.poll()[1]] == ["offsets"]


@pytest.mark.parametrize(
    ("method", "tables"), [("syncTimerCheckPoint", []), ("syncSubscriptionGroupConfig", ["groups"])]
)
def test_what_5_0_says_of_the_timer_s_checkpoint_in_the_words_for_groups_is_no_failure(
    tmp_path: Path, method: str, tables: list[str]
) -> None:
    output = tmp_path / "out.log"
    output.write_text("")
    words = OutputFollower(output)
    stack = (
        "org.apache.rocketmq.client.exception.MQBrokerException: CODE: 1  DESC: The checkpoint is null\n"
        "For more information, please visit the url\n\tat org.apache.rocketmq.broker.out.BrokerOuterAPI.get(B.java:6)\n"
        f"\tat org.apache.rocketmq.broker.slave.SlaveSynchronize.{method}(SlaveSynchronize.java:194)\n"
    )
    output.write_text(LINE.format(hour="10", what="SubscriptionGroup") + stack)
    assert [each.table for each in words.poll()[1]] == tables


def test_a_failure_is_dated_by_its_line_however_late_that_is_read(tmp_path: Path) -> None:
    output = tmp_path / "out.log"
    output.write_text("")
    at: Any = SimpleNamespace(path=tmp_path, output=output, incarnation=1, is_up=True, is_stopping=False)
    place: Place = at
    view = OutsideView(place, lambda: True, copies=True)
    view.read()
    written = time.time() - 5
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(written)) + f",{int(written * 1_000) % 1_000:03d}"
    output.write_text(f"{stamp} ERROR RocketmqBroker SyncDelayOffset Exception, 127.0.0.1:10911\n")
    ((t, *row),) = view.read()
    assert row == ["sync", "delays", "failed"]
    assert time.monotonic_ns() - t >= 5_000 * MS - MS
    assert abs(t - (written * 1_000_000_000 - view._wall_ns)) < 2 * MS


# How both go together.


def steps(evidence: Evidence, *found: tuple[float, str, str]) -> list[tuple[str | None, str | None]]:
    """What is made of rows at these times, ms."""
    evidence.process_started("slave", 1, outside())
    (life,) = evidence._incarnations
    evidence._take(life, [evidence.base, "start", "unknown", 0, 0])
    for ms, table, status in found:
        evidence._take(life, [evidence.base + int(ms * MS), "sync", table, status])
    return told(evidence)


def test_a_failure_stands_behind_its_request_though_the_log_has_whole_milliseconds_only() -> None:
    rows = [(1_000.4, "topics", "asked"), (1_000, "topics", "failed"), (1_001.2, "offsets", "asked")]
    assert steps(traced(), *rows) == [("topics", "asked"), ("topics", "failed"), ("offsets", "asked")]


def test_a_failure_without_a_request_stays_where_it_is() -> None:
    rows = [(1_000, "topics", "failed"), (1_000.9, "offsets", "asked"), (11_000, "topics", "asked")]
    assert steps(traced(), *rows) == [("topics", "failed"), ("offsets", "asked"), ("topics", "asked")]


@pytest.mark.parametrize("failed", [20, 23])
def test_an_answer_that_its_slave_could_not_read_is_told_as_one_unread(failed: float) -> None:
    """5.5.0 does not read its master's offsets where those of pulls are beside them. Lines have whole milliseconds."""
    rows = [
        (0, "offsets", "asked"),
        (20.6, "offsets", "answered"),
        (failed, "offsets", "failed"),
        (25, "delays", "asked"),
    ]
    assert steps(traced(), *rows) == [("offsets", "asked"), ("offsets", "unread"), ("delays", "asked")]


def test_an_answer_that_came_too_late_is_a_failure() -> None:
    rows = [(0, "offsets", "asked"), (3_000, "offsets", "failed"), (3_010, "offsets", "answered")]
    assert steps(traced(), *rows) == [("offsets", "asked"), ("offsets", "failed")]


def test_a_failure_of_the_next_round_leaves_the_answers_of_the_one_before() -> None:
    rows = [(0, "groups", "asked"), (20, "groups", "answered"), *((10_000, each, "failed") for each in CODES)]
    assert steps(traced(), *rows)[:2] == [("groups", "asked"), ("groups", "answered")]


def test_an_answer_that_comes_after_its_slave_has_given_up_is_none() -> None:
    rows = [
        (0, "delays", "asked"),
        (3_000, "delays", "failed"),
        (3_001, "delays", "answered"),
        (3_002, "groups", "asked"),
    ]
    assert steps(traced(), *rows) == [("delays", "asked"), ("delays", "failed"), ("groups", "asked")]
