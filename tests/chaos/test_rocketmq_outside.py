"""Rows and events of a broker that traces nothing: from the files of its log, from its output, and dated by others."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pairproof.chaos.observers.stored_record import Filler
from pairproof.chaos.rocketmq import evidence_page
from pairproof.chaos.rocketmq.outside.dates import dated
from pairproof.chaos.rocketmq.outside.log import LogFollower
from pairproof.chaos.rocketmq.outside.view import OutsideView
from pairproof.chaos.rocketmq.outside.words import OutputFollower, Refusal
from pairproof.chaos.targets import rocketmq
from pairproof.harness.event_types.node import UNKNOWN
from pairproof.harness.history import MS, Event, Recorder, digest
from pairproof.harness.judging.judge import judge, laws
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.reference.wire.record import Message, encode, encode_blank

SIZE = 1024
PROCESS = resolve.lab("process")
STORED_MS = 5_000


def record(lo: int, key: str = "m0", size: int = 200, store_ms: int = STORED_MS) -> bytes:
    made = Message(topic="T", queue_id=0, body=b"", properties=b"KEYS\x01" + key.encode() + b"\x02")
    short = size - len(encode(made, 0, lo, store_ms))
    return encode(made._replace(body=b"x" * short), 0, lo, store_ms)


def log(folder: Path, *files: bytes, first: int = 0) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    for number, data in enumerate(files):
        (folder / f"{first + number * SIZE:020d}").write_bytes(data.ljust(SIZE, b"\0"))
    return folder


def found(follower: LogFollower) -> list[tuple[int, int]]:
    return [(what.lo, what.hi) for what, _ in follower.poll()]


# The log


def test_each_record_and_filler_is_found_once_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "commitlog"
    follower = LogFollower(folder)
    assert found(follower) == [] and follower.end is None
    first = record(0) + record(200, size=500)
    log(folder, first, b"")
    assert found(follower) == [(0, 200), (200, 700)] and found(follower) == []
    log(folder, first + encode_blank(SIZE - 700), b"")
    assert [type(what) for what, _ in follower.poll()] == [Filler]
    log(folder, first + encode_blank(SIZE - 700), record(SIZE))
    assert found(follower) == [(SIZE, SIZE + 200)] and (follower.begin, follower.end) == (0, SIZE + 200)


def test_a_file_that_has_no_size_yet_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / f"{0:020d}").touch()
    follower = LogFollower(folder)
    assert found(follower) == [] and follower.begin is None
    log(folder, record(0, size=SIZE))
    (folder / f"{SIZE:020d}").touch()
    assert found(follower) == [(0, SIZE)]
    shutil.rmtree(folder)
    assert found(follower) == [] and not follower.has_expired()


def half_written(whole: bytes) -> list[bytes]:
    body = bytearray(whole)
    body[120] ^= 1
    return [whole[:6], whole[:-1], bytes(body), record(0), whole[:4] + b"\0\0\0\7" + whole[8:]]


@pytest.mark.parametrize("torn", half_written(record(200)), ids=["head", "last byte", "crc", "place", "magic"])
def test_a_record_that_is_not_whole_waits_until_it_is(torn: bytes, tmp_path: Path) -> None:
    follower = LogFollower(log(tmp_path / "log", record(0) + torn))
    assert found(follower) == [(0, 200)]
    log(tmp_path / "log", record(0) + record(200))
    assert found(follower) == [(200, 400)]


def test_a_filler_that_closes_the_last_file_is_not_recovered_and_is_seen_again(tmp_path: Path) -> None:
    closed = record(0, size=SIZE - 50) + encode_blank(50)
    follower = LogFollower(log(tmp_path / "log", closed))
    assert follower.recover() == (0, SIZE - 50) and found(follower) == [(SIZE - 50, SIZE)]
    # With the next file there it is a part of the log.
    assert LogFollower(log(tmp_path / "log", closed, b"")).recover() == (0, SIZE)


def test_the_oldest_files_that_vanish_are_noticed_and_a_whole_log_that_vanishes_is_not_the_brokers_doing(
    tmp_path: Path,
) -> None:
    folder = log(tmp_path / "log", record(0, size=SIZE), record(SIZE))
    follower = LogFollower(folder)
    assert follower.recover() == (0, SIZE + 200) and not follower.has_expired()
    (folder / f"{0:020d}").unlink()
    assert follower.has_expired() and follower.begin == SIZE and not follower.has_expired()
    shutil.rmtree(folder)
    assert not follower.has_expired()


# What a view tells


class Place(SimpleNamespace):
    """Of a broker whose store is at ``path``."""


def place(path: Path) -> Any:
    return Place(incarnation=1, is_up=True, is_stopping=False, path=path, output=path / "out.log")


def view(at: Any, serves: list[bool], copies: bool = False) -> OutsideView:
    return OutsideView(at, lambda: serves[0], copies)


def test_a_start_has_the_range_that_the_files_held_when_its_process_began(tmp_path: Path) -> None:
    serves, folder = [False], log(tmp_path / "commitlog", record(SIZE), first=SIZE)
    it = view(place(tmp_path), serves)
    log(folder, record(SIZE) + record(SIZE + 200, "m1"), first=SIZE)
    assert it.read() == []
    serves[0] = True
    rows = [row[1:] for row in it.read()]
    assert rows[:2] == [["start", UNKNOWN, SIZE, SIZE + 200], ["ready"]]
    lo, hi = SIZE + 200, SIZE + 400
    assert rows[2:] == [["append", lo, hi, digest(record(lo, "m1")), "put", "m1"]]
    assert it.read() == []


def test_a_masters_record_is_dated_by_its_store_timestamp_and_a_slaves_by_when_it_was_read(tmp_path: Path) -> None:
    for copies in (False, True):
        folder = tmp_path / str(copies)
        log(folder / "commitlog", b"")
        it = view(place(folder), [True], copies)
        it.read()
        began = time.monotonic_ns()
        stored_ms = time.time_ns() // MS - 60_000
        log(folder / "commitlog", record(0, store_ms=stored_ms) + encode_blank(SIZE - 200))
        first, filler = it.read()
        assert (first[0] < began - 50_000 * MS) == (not copies) and filler[0] >= began
        assert [first[5], filler[5]] == (["replicate"] * 2 if copies else ["put", "filler"])
        assert first[6] == (None if copies else "m0")


def test_what_a_broker_writes_on_its_way_out_is_seen_and_nothing_of_its_next_life(tmp_path: Path) -> None:
    at = place(tmp_path)
    log(tmp_path / "commitlog", b"")
    it = view(at, [True])
    it.read()
    at.is_up, at.is_stopping = False, True
    log(tmp_path / "commitlog", record(0))
    assert [row[1:4] for row in it.read()] == [["append", 0, 200]]
    log(tmp_path / "commitlog", record(0) + record(200))
    at.is_stopping = False
    assert it.read() == []
    at.is_up, at.incarnation = True, 2
    assert it.read() == []


LINE = (
    "2026-11-22 10:00:00 WARN  RocketmqStore slave[/127.0.0.1:41556] request offset=13461 "
    "greater than local commitLog offset=0. "
)


def test_a_refusal_is_read_from_the_masters_log_once_its_line_is_whole(tmp_path: Path) -> None:
    output = tmp_path / "out.log"
    output.write_text(f"{LINE}\n")
    words = OutputFollower(output)
    assert words.poll() == ([], [])
    with output.open("a") as file:
        file.write(LINE)
        file.flush()
        assert words.poll() == ([], [])
        file.write("\nanother line\n")
    assert words.poll() == ([Refusal("127.0.0.1:41556", 13_461, 0)], []) and words.poll() == ([], [])
    assert OutputFollower(tmp_path / "none").poll() == ([], [])


def test_a_view_tells_of_expiry_and_refusals(tmp_path: Path) -> None:
    folder = log(tmp_path / "commitlog", record(0, size=SIZE), record(SIZE))
    it = view(place(tmp_path), [True])
    it.read()
    (folder / f"{0:020d}").unlink()
    (tmp_path / "out.log").write_text(f"{LINE}\n")
    assert [row[1:] for row in it.read()] == [
        ["expire", SIZE],
        ["refused", "127.0.0.1:41556", 13_461, 0, "its log said so"],
    ]


# When it was


def history(*rows: tuple[Any, ...], **more: Any) -> list[Event]:
    """Rows of time, kind, node and columns."""
    recorder = Recorder()
    for t, kind, node, columns in rows:
        recorder.add(t, kind, node, **columns)
    return recorder.events


def start(t: int, node: str, f: str = UNKNOWN) -> tuple[Any, ...]:
    return t, "start", node, {"incarnation": 1, "f": f, "lo": 0, "hi": 0}


def append(t: int, node: str, lo: int, message: str | None = None) -> tuple[Any, ...]:
    f = "replicate" if node == "slave" else "put"
    return t, "append", node, {"incarnation": 1, "lo": lo, "hi": lo + 100, "digest": 1, "f": f, "message": message}


def passed(t: int, kind: str, node: str, side: str, lo: int | None, hi: int) -> tuple[Any, ...]:
    columns = {"link": "ha:1", "side": side, "hi": hi} | ({"lo": lo, "digest": 1} if kind == "frame" else {})
    return t, kind, node, columns


def told(t: int, kind: str, message: str, **more: Any) -> tuple[Any, ...]:
    return t, kind, "master", {"process": 1, "op": 1, "f": "send", "message": message, **more}


BORN = {("master", 1): 0, ("slave", 1): 0}


def order(events: list[Event], born: dict[tuple[str, int], int] = BORN) -> list[tuple[str, str | None, int]]:
    return [(each.kind, each.node, each.t) for each in dated(events, born) if each.kind != "start"]


def test_a_masters_append_is_no_later_than_the_frame_or_the_answer_that_shows_it() -> None:
    rows = [start(1, "master"), append(900, "master", 0), append(950, "master", 100, "m1")]
    events = history(*rows, passed(500, "frame", "master", "m", 0, 100), told(700, "ok", "m1", lo=100, status="PUT_OK"))
    assert order(events) == [
        ("append", "master", 500), ("frame", "master", 500), ("append", "master", 700), ("ok", "master", 700),
    ]  # fmt: skip
    # A heartbeat's offset is only what the peer has said.
    events = history(*rows[:2], passed(500, "frame", "master", "m", 9_000, 9_000))
    assert order(events)[-1] == ("append", "master", 900)


def test_a_masters_append_comes_after_its_send_began_and_after_the_record_before_it() -> None:
    events = history(start(1, "master"), told(300, "invoke", "m1"), append(200, "master", 0, "m1"),
                     append(250, "master", 100))  # fmt: skip
    assert order(events) == [("invoke", "master", 300), ("append", "master", 301), ("append", "master", 301)]


def test_a_later_record_that_was_seen_dates_the_one_before_it() -> None:
    events = history(start(1, "master"), append(900, "master", 0), append(910, "master", 100),
                     passed(500, "frame", "master", "m", 0, 200))  # fmt: skip
    assert [t for _, _, t in order(events)] == [500, 500, 500]


def test_a_slaves_append_lies_between_the_frame_that_brought_it_and_the_report_that_covers_it() -> None:
    rows = [start(1, "slave"), passed(400, "frame", "slave", "s", 0, 150)]
    late = history(*rows, append(900, "slave", 0), passed(600, "report", "slave", "s", None, 150))
    assert order(late) == [("frame", "slave", 400), ("append", "slave", 600), ("report", "slave", 600)]
    # A filler that was cut at recovery stands in the file before it is sent again.
    early = history(*rows, append(300, "slave", 0), passed(600, "report", "slave", "s", None, 150))
    assert order(early)[1] == ("append", "slave", 401)
    # A report that does not cover all of it says nothing.
    short = history(*rows, append(900, "slave", 0), passed(600, "report", "slave", "s", None, 50))
    assert order(short)[-1] == ("append", "slave", 900)


def test_what_another_life_showed_dates_nothing_and_a_trace_is_not_touched() -> None:
    events = history(start(1, "master"), append(900, "master", 0), passed(500, "frame", "master", "m", 0, 100))
    assert order(events, {("master", 1): 600})[-1] == ("append", "master", 900)
    traced = history(start(1, "master", "normal"), append(900, "master", 0), passed(500, "frame", "master", "m", 0, 1))
    assert order(traced)[-1] == ("append", "master", 900)


def test_a_start_is_no_later_than_what_its_process_did() -> None:
    for first in (append(700, "master", 0, "m1"), told(700, "ok", "m1", lo=0, status="PUT_OK")):
        events = dated(history(start(1_000, "master"), first), BORN)
        assert next((each.kind, each.t) for each in events) == ("start", 700)


def seen_from_outside(connected_at: int, started_at: int) -> list[Event]:
    recorder = Recorder()
    recorder.add(0, "lab", f="process", value=0, detail="{}")
    for node, role in (("master", "SYNC_MASTER"), ("slave", "SLAVE")):
        told = {"brokerRole": role, "haMasterAddress": "127.0.0.1:1", "brokerName": "broker-a"}
        recorder.add(0, "config", node, detail=json.dumps(told))
    recorder.add(1, "start", "master", 1, f="unknown")
    recorder.add(connected_at, "connect", "slave", link="ha:1", side="s", f="slave")
    recorder.add(started_at, "start", "slave", 1, f="unknown")
    recorder.add(started_at + 15_000_000_000, "mark", f="end")
    return recorder.events


def starts(events: list[Event]) -> list[tuple[str | None, int]]:
    return [(each.node, each.t) for each in events if each.kind == "start"]


def test_a_slave_that_connects_before_it_says_that_it_serves_is_not_accused() -> None:
    events = seen_from_outside(2_000, 3_000)
    law, observes = laws(["ha-address-source"]), PROCESS.observes(rocketmq.V4)
    assert [each.verdict for each in judge(events, law, observes)] == [Verdict.VIOLATED]
    honest = dated(events, {("master", 1): 0, ("slave", 1): 1_500})
    assert [each.verdict for each in judge(honest, law, observes)] == [Verdict.HOLDS]
    assert starts(honest) == [("master", 1), ("slave", 2_000)]
    assert [each.kind for each in honest][-3:] == ["start", "connect", "mark"]


def test_a_connect_of_the_process_before_dates_nothing() -> None:
    events = seen_from_outside(2_000, 3_000)
    assert starts(dated(events, {("master", 1): 0, ("slave", 1): 2_500})) == [("master", 1), ("slave", 3_000)]
    # Nor does one that the broker made later, or a start that its own trace tells.
    assert starts(dated(seen_from_outside(4_000, 3_000), {("master", 1): 0, ("slave", 1): 0}))[1] == ("slave", 3_000)
    traced = [each._replace(f="normal") if each.kind == "start" else each for each in events]
    assert starts(dated(traced, {})) == [("master", 1), ("slave", 3_000)]


# The page


def test_the_page_of_evidence_is_what_targets_and_laws_say() -> None:
    written = (Path(__file__).parents[2] / "docs" / evidence_page.PAGE).read_text(encoding="utf-8")
    assert written == evidence_page.made(), "run .venv/bin/python -m pairproof.chaos.rocketmq.evidence_page"
    judged = {law.id for law in evidence_page.by_files()}
    assert {"ack-replicated", "ha-ack-identity", "log-grows"} <= judged
    assert {law for each in evidence_page.CONTROLS.values() for law in each.violated} <= judged


# What laws make of it


def test_a_slave_that_reports_a_part_of_a_record_is_not_accused_while_only_whole_records_are_known() -> None:
    rows = [
        start(1, "slave"), passed(10, "frame", "slave", "s", 0, 150), append(20, "slave", 0),
        passed(30, "report", "slave", "s", None, 150),
    ]  # fmt: skip
    law, observes = laws(["ha-report-monotone"]), PROCESS.observes(rocketmq.V4)
    assert [each.verdict for each in judge(history(*rows), law, observes)] == [Verdict.HOLDS]
    # A trace tells of every byte; and what was never received is seen of either.
    traced = history(start(1, "slave", "normal"), *rows[1:])
    assert [each.verdict for each in judge(traced, law, observes)] == [Verdict.VIOLATED]
    ahead = history(*rows[:-1], passed(25, "report", "slave", "s", None, 100),
                    passed(30, "report", "slave", "s", None, 150),
                    passed(40, "report", "slave", "s", None, 200))  # fmt: skip
    assert [each.verdict for each in judge(ahead, law, observes)] == [Verdict.VIOLATED]
