"""Traces: what a watcher hears is in the file before the node goes on, and comes back as it was."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.labs.real.trace import Trace, TraceReader
from pairproof.chaos.rocketmq.traced import KINDS, TraceWatcher
from pairproof.harness.errors import LabError
from pairproof.harness.history import digest
from pairproof.reference.shell.log import Log

RECORD = b"a record's fields, its body, its topic, then KEYS\x01m\"7\xc3\xa9\x02UNIQ_KEY\x01x\x02"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "master-1.jsonl"


@pytest.fixture
def trace(path: Path) -> Iterator[Trace]:
    made = Trace(path)
    yield made
    os.close(made.fd)


@pytest.fixture
def watcher(trace: Trace) -> TraceWatcher:
    return TraceWatcher(trace, Log(fd=-1), 1)


ASKED = {"brokerAddr": "c:4", "haServerAddr": "c:5"}
HEARD: list[tuple[Callable[[TraceWatcher], None], list[Any]]] = [
    (lambda w: w.appended(0, 9, RECORD, "put"), ["append", 0, 9, digest(RECORD), "put", 'm"7é']),
    (lambda w: w.appended(9, 12, b"abc", "put"), ["append", 9, 12, digest(b"abc"), "put", None]),
    (lambda w: w.appended(12, 20, RECORD, "replicate"), ["append", 12, 20, digest(RECORD), "replicate", None]),
    (lambda w: w.flushed(20), ["flush", 20]),
    (lambda w: w.dispatched(12), ["dispatch", 12]),
    (lambda w: w.synced("topics", "applied"), ["sync", "topics", "applied"]),
    (lambda w: w.persisted("offsets"), ["persist", "offsets"]),
    (lambda w: w.registered(None, {}), ["register", "failed", None, None, None]),
    (lambda w: w.registered({"masterAddr": "a:1"}, ASKED), ["register", "ok", "a:1", None, ":+1"]),
    (
        lambda w: w.registered({"masterAddr": "a:1", "haServerAddr": "a:2"}, {**ASKED, "haServerAddr": "b:7"}),
        ["register", "ok", "a:1", "a:2", "b:+3"],
    ),
    (lambda w: w.expired(8), ["expire", 8]),
    (lambda w: w.refused("127.0.0.1:7", 30, 20, "ahead"), ["refused", "127.0.0.1:7", 30, 20, "ahead"]),
]


def test_everything_a_watcher_hears_is_in_the_file_before_the_node_goes_on(path: Path, watcher: TraceWatcher) -> None:
    reader = TraceReader(path, KINDS)
    for hear, row in HEARD:
        before = time.monotonic_ns()
        hear(watcher)
        after = time.monotonic_ns()
        ((t, *rest),) = reader.read()
        assert rest == row and before <= t <= after
        assert len(rest) - 1 == len(KINDS[rest[0]])


def test_what_the_broker_s_log_says_is_said_all_the_same(trace: Trace, tmp_path: Path) -> None:
    with (tmp_path / "said").open("wb") as said:
        watcher = TraceWatcher(trace, Log(said.fileno()), 1)
        for hear, _ in HEARD:
            hear(watcher)
    told = (tmp_path / "said").read_text()
    for words in ("metadata: topics are", "does not answer", "the master is a:1", "starts at 8", "refused 127.0.0.1:7"):
        assert words in told


def test_a_line_without_end_waits_until_it_is_whole(path: Path) -> None:
    reader = TraceReader(path, KINDS)
    assert reader.read() == [], "there is no file yet"
    path.write_bytes(b'[1,"flush",8]\n[2,"flu')
    assert reader.read() == [[1, "flush", 8]]
    assert reader.read() == []
    with path.open("ab") as file:
        file.write(b'sh",9]\n')
    assert reader.read() == [[2, "flush", 9]]
    assert reader.read() == []


@pytest.mark.parametrize("line", [b"", b"{}", b"[1]", b'[1,"flush"]', b'[1,"nothing",2]', b'["1","flush",8]', b"\xff"])
def test_a_line_that_no_node_can_have_written_is_noticed(path: Path, line: bytes) -> None:
    path.write_bytes(b'[1,"flush",8]\n' + line + b"\n")
    with pytest.raises(LabError, match="not a line of a trace"):
        TraceReader(path, KINDS).read()


def test_incarnations_may_share_a_file(path: Path, trace: Trace) -> None:
    trace.note("ready")
    again = Trace(path)
    again.note("ready")
    os.close(again.fd)
    assert [row[1] for row in TraceReader(path, KINDS).read()] == ["ready", "ready"]


def test_a_trace_that_cannot_be_written_does_not_pass_for_one(trace: Trace) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, hard))
    try:
        with pytest.raises(LabError, match="disk"):
            trace.note("failed", "x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    full = Trace(Path(os.devnull).with_name("full"))
    with pytest.raises(LabError, match="No space"):
        full.note("ready")
    os.close(full.fd)


def test_an_append_s_line_is_what_json_would_have_made(path: Path, watcher: TraceWatcher) -> None:
    watcher.appended(0, 9, RECORD, "put")
    line = path.read_text()
    assert line == json.dumps(json.loads(line), separators=(",", ":")) + "\n"
