"""Consume queues of a broker that traces nothing, followed in their files; what laws make of that."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from struct import Struct
from types import SimpleNamespace
from typing import Any

import pytest

from pairproof.chaos.observers.stored_record import Filler, LogRecord
from pairproof.chaos.rocketmq.configuration import Given
from pairproof.chaos.rocketmq.outside import queues
from pairproof.chaos.rocketmq.outside.dates import dated
from pairproof.chaos.rocketmq.outside.log import LogFollower
from pairproof.chaos.rocketmq.outside.queues import QueuesFollower
from pairproof.chaos.rocketmq.outside.view import OutsideView
from pairproof.chaos.targets import rocketmq
from pairproof.harness.event_types.node import UNKNOWN
from pairproof.harness.history import MS, Event, Recorder
from pairproof.harness.judging.judge import judge, laws
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.reference.wire.record import Message, encode

FILE = 80
"""Four entries."""
SIZE = 200
ENTRY = Struct(">qiq")
MARKER = ENTRY.pack(0, 0x7FFFFFFF, 0)
PREPARED = 4
OBSERVES = resolve.lab("process").observes(rocketmq.V4)
LAW = "queue-whole-records"


def entry(lo: int, size: int = SIZE, tags: int = 7) -> bytes:
    return ENTRY.pack(lo, size, tags)


def queue(store: Path, *entries: bytes, name: str = "T/0", first: int = 0) -> Path:
    """Write a queue's files; ``first``: queue offset of the first entry."""
    folder = store / "consumequeue" / name
    folder.mkdir(parents=True, exist_ok=True)
    data = b"".join(entries)
    for at in range(0, max(len(data), 1), FILE):
        (folder / f"{first * 20 + at:020d}").write_bytes(data[at : at + FILE].ljust(FILE, b"\0"))
    return folder


def encoded(lo: int, key: str = "m0", sys_flag: int = 0) -> bytes:
    made = Message(topic="T", queue_id=0, body=b"", sys_flag=sys_flag, properties=b"KEYS\x01" + key.encode() + b"\x02")
    short = SIZE - len(encode(made, 0, lo, 5_000))
    return encode(made._replace(body=b"x" * short), 0, lo, 5_000)


def record(lo: int, sys_flag: int = 0) -> LogRecord:
    return LogRecord(lo, lo + SIZE, 0, 0, encoded(lo, sys_flag=sys_flag), 0, 0, 0)


@pytest.fixture(autouse=True)
def at_every_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "REST_NS", 0)


def follower(store: Path, log_end: int = 0) -> QueuesFollower:
    return QueuesFollower(store / "consumequeue", log_end)


def reached(it: QueuesFollower) -> list[int]:
    return [each.hi for each in it.poll()]


def test_a_record_is_dispatched_once_its_entry_stands_in_the_queues_file(tmp_path: Path) -> None:
    it = follower(tmp_path)
    it.appended([record(0), record(200)])
    assert reached(it) == []
    queue(tmp_path, entry(0))
    assert reached(it) == [200] and reached(it) == []
    queue(tmp_path, entry(0), entry(200))
    assert reached(it) == [400]


def test_a_record_that_is_in_no_queue_holds_up_those_behind_it(tmp_path: Path) -> None:
    it = follower(tmp_path)
    it.appended([record(0), record(200)])
    queue(tmp_path, entry(200), name="T/1")
    assert reached(it) == []
    queue(tmp_path, entry(0))
    assert reached(it) == [200, 400]


def test_queues_go_on_in_the_next_file_and_are_found_when_they_are_made(tmp_path: Path) -> None:
    it = follower(tmp_path)
    it.appended(record(lo) for lo in range(0, 1_200, 200))
    queue(tmp_path, *map(entry, range(0, 1_000, 200)))
    queue(tmp_path, entry(1_000), name="U/3")
    assert reached(it) == [200, 400, 600, 800, 1_000, 1_200]


def test_a_filler_and_a_record_that_no_queue_lists_pass_with_what_is_before_them(tmp_path: Path) -> None:
    it = follower(tmp_path)
    it.appended([record(0), record(200, PREPARED), Filler(400, 1_024)])
    assert reached(it) == []
    queue(tmp_path, entry(0))
    assert reached(it) == [200, 400, 1_024]


def test_what_fills_a_queue_before_its_first_entry_is_passed_over(tmp_path: Path) -> None:
    it = follower(tmp_path)
    it.appended([record(0)])
    queue(tmp_path, MARKER, MARKER, entry(0))
    assert reached(it) == [200]


def test_entries_of_an_earlier_life_tell_nothing(tmp_path: Path) -> None:
    queue(tmp_path, entry(0), entry(200), entry(400))
    it = follower(tmp_path, log_end=400)
    assert reached(it) == [] and reached(it) == []
    # What its log has lost is overwritten by what comes in its place.
    it.appended([LogRecord(400, 650, 0, 0, encoded(400), 0, 0, 0)])
    assert reached(it) == [] and reached(it) == []
    queue(tmp_path, entry(0), entry(200), entry(400, 250))
    assert reached(it) == [650]


def test_an_entry_that_an_earlier_life_left_counts_once_the_log_has_just_that_record_again(tmp_path: Path) -> None:
    queue(tmp_path, entry(0), entry(200))
    it = follower(tmp_path, log_end=200)
    assert reached(it) == [] and reached(it) == []
    it.appended([record(200)])
    assert reached(it) == [400]


def test_a_half_written_entry_counts_when_it_is_whole(tmp_path: Path) -> None:
    it = follower(tmp_path)
    it.appended([record(0), record(200)])
    queue(tmp_path, entry(0), entry(0))
    assert reached(it) == [200]
    queue(tmp_path, entry(0), entry(200))
    assert reached(it) == [400]


def test_an_entry_of_no_record_in_the_log_counts_when_it_stays(tmp_path: Path) -> None:
    it = follower(tmp_path)
    queue(tmp_path, entry(0))
    assert reached(it) == []
    assert reached(it) == [200]


def test_a_queue_whose_oldest_files_expire_goes_on_and_one_that_is_made_anew_begins_again(tmp_path: Path) -> None:
    folder = queue(tmp_path, *map(entry, range(0, 1_000, 200)))
    it = follower(tmp_path, log_end=1_000)
    (folder / f"{0:020d}").unlink()
    it.appended([record(1_000), record(1_200)])
    queue(tmp_path, entry(800), entry(1_000), first=4)
    assert reached(it) == [1_200]
    shutil.rmtree(folder)
    assert reached(it) == []
    queue(tmp_path, entry(1_200))
    assert reached(it) == []
    assert reached(it) == [1_400]


def test_files_that_cannot_be_read_or_have_no_size_yet_tell_nothing(tmp_path: Path) -> None:
    folder = queue(tmp_path, entry(0))
    (folder / f"{0:020d}").write_bytes(b"")
    it = follower(tmp_path)
    it.appended([record(0)])
    assert reached(it) == []
    queue(tmp_path, entry(0))
    assert reached(it) == [200]


def test_a_row_is_dated_when_its_queue_was_last_seen_without_it(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    at: Any = SimpleNamespace(incarnation=1, is_up=True, is_stopping=False, path=tmp_path, output=tmp_path / "out")
    it = OutsideView(at, lambda: True, copies=False)
    (tmp_path / "commitlog" / f"{0:020d}").write_bytes(encoded(0).ljust(1_024, b"\0"))
    before = time.monotonic_ns()
    assert [row[1] for row in it.read()] == ["start", "ready", "append"]
    after = time.monotonic_ns()
    queue(tmp_path, entry(0))
    (row,) = it.read()
    assert row[1:] == ["dispatch", 200] and before < row[0] < after


def test_the_follower_of_the_log_hands_on_what_it_found(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}").write_bytes(encoded(0).ljust(1_024, b"\0"))
    it = follower(tmp_path)
    it.appended(what for what, _ in LogFollower(tmp_path).poll())
    queue(tmp_path, entry(0))
    assert reached(it) == [200]


# When it was, and what laws make of it


def history(dispatched: dict[str, list[tuple[int, int]]], ends_ms: int = 9_000) -> list[Event]:
    """Of a pair that is seen from outside and appends [0, 200) at 10 ms; by node: time, ms, and end of dispatches."""
    recorder = Recorder()
    recorder.add(0, "lab", f="process", value=0, detail="{}")
    for node in ("master", "slave"):
        role = "SYNC_MASTER" if node == "master" else "SLAVE"
        recorder.add(0, "config", node, detail=json.dumps({"brokerRole": role, "brokerName": "broker-a"}))
    for node, f in (("master", "put"), ("slave", "replicate")):
        recorder.add(MS, "start", node, 1, f=UNKNOWN, lo=0, hi=0)
        recorder.add(10 * MS, "append", node, 1, lo=0, hi=200, digest=1, f=f, message="m0" if f == "put" else None)
        for t_ms, hi in dispatched.get(node, ()):
            recorder.add(t_ms * MS, "dispatch", node, 1, hi=hi)
    recorder.add(ends_ms * MS, "mark", f="end")
    return dated(recorder.events, {("master", 1): 0, ("slave", 1): 0})


def verdict(events: list[Event]) -> tuple[Verdict, list[str]]:
    (found,) = judge(events, laws([LAW]), OBSERVES)
    return found.verdict, [each.text for each in found.violations]


ON_TIME = {"master": [(20, 200)], "slave": [(20, 200)]}


def test_a_dispatch_comes_after_the_append_that_it_reaches_and_after_the_one_before_it() -> None:
    events = history({"master": [(5, 200), (2, 300)]})
    assert [each.t // MS for each in events if each.kind == "dispatch"] == [10, 10]
    assert [each.kind for each in events if each.t == 10 * MS and each.node == "master"] == [
        "append", "dispatch", "dispatch",
    ]  # fmt: skip


def test_queues_that_are_on_time_hold() -> None:
    assert verdict(history(ON_TIME)) == (Verdict.HOLDS, [])


@pytest.mark.parametrize("node", ["master", "slave"])
@pytest.mark.parametrize("late", [[], [(3_000, 200)]], ids=["never", "late"])
def test_a_record_that_is_in_no_queue_for_a_second_is_held_against_its_node(
    node: str, late: list[tuple[int, int]]
) -> None:
    found, (text,) = verdict(history({**ON_TIME, node: late}))
    assert found is Verdict.VIOLATED and text.startswith(f"{node} had the record that ends at 200 for ")


@pytest.mark.parametrize("node", ["master", "slave"])
def test_what_is_in_a_queue_and_not_in_the_log_is_held_against_its_node(node: str) -> None:
    found, texts = verdict(history({**ON_TIME, node: [(20, 200), (30, 400)]}))
    assert found is Verdict.VIOLATED and texts == [f"{node} dispatched up to 400; its log ends at 200"]


def test_the_key_index_is_not_taken_to_have_what_only_the_queues_were_seen_to_have() -> None:
    events = history(ON_TIME, ends_ms=25)[:-1]
    recorder = Recorder()
    recorder.events.extend(events)
    for node, found in (("master", 1), ("slave", 2)):
        recorder.add(30 * MS, "keys", node, op=1, message="m0", digest=found)
    (judged,) = judge(recorder.events, laws(["queue-derived-equal"]), OBSERVES)
    assert judged.verdict is Verdict.VACUOUS


def test_queues_in_rocksdb_are_not_observed() -> None:
    assert "dispatch" in rocketmq.V5.observes()
    brought = Given({"slave.storeType": "defaultRocksDB"}, False)
    assert "dispatch" not in rocketmq.V5.given(brought).observes()
    assert "dispatch" in rocketmq.V5.given(Given({"slave.storeType": "default"}, False)).observes()
