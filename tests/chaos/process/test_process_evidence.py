"""What nodes trace and what taps and clients see becomes one history, in the order of the machine's clock."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pairproof.chaos.labs.real.evidence import Evidence
from pairproof.chaos.labs.real.trace import TraceReader
from pairproof.chaos.plan import SeenFromOutside
from pairproof.chaos.rocketmq.ha_events import MASTERS, SLAVES
from pairproof.chaos.rocketmq.ha_forwarder import HaForwarder
from pairproof.chaos.rocketmq.ha_listener import HaListener
from pairproof.chaos.rocketmq.planning import LISTENER
from pairproof.chaos.rocketmq.programs import JavaProgram, ReferenceProgram, shown
from pairproof.chaos.rocketmq.readings import TracedReadings
from pairproof.harness.history import Event, Recorder, digest
from pairproof.reference.core.config import BrokerConfig

FRAME = (0).to_bytes(8, "big") + (5).to_bytes(4, "big") + b"abcde"


class Written:
    """A node's trace that a test writes."""

    def __init__(self, evidence: Evidence, folder: Path, node: str = "master", incarnation: int = 1) -> None:
        self.base = evidence.base
        self.path = folder / f"{node}-{incarnation}.jsonl"
        evidence.process_started(node, incarnation, TraceReader(self.path))

    def note(self, t: int, kind: str, *columns: Any) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps([self.base + t, kind, *columns]) + "\n")


def traced(recorder: Recorder) -> Evidence:
    """Of a trial of brokers."""
    found = Evidence(recorder, LISTENER, {"sizes": {"master": 16}})
    found.readings = TracedReadings(found)
    return found


def readings(evidence: Evidence) -> TracedReadings:
    assert isinstance(evidence.readings, TracedReadings)
    return evidence.readings


@pytest.fixture
def evidence() -> Evidence:
    return traced(Recorder())


def history(evidence: Evidence) -> list[Event]:
    evidence.merge_traces()
    return evidence.recorder.events


def test_traces_and_live_events_are_merged_by_time(evidence: Evidence, tmp_path: Path) -> None:
    trace = Written(evidence, tmp_path)
    evidence.add(20, "invoke", "master", op=0, f="send")
    evidence.add(40, "ok", "master", op=0, f="send", lo=0)
    trace.note(10, "start", "empty", 0, 0)
    trace.note(30, "append", 0, 100, 7, "put", "m0")
    found = history(evidence)
    assert [each.kind for each in found] == ["start", "invoke", "append", "ok"]
    assert [each.seq for each in found] == [0, 1, 2, 3]
    assert found[3].hi == 100, "the record's end is what the master's trace says"


@pytest.mark.parametrize(
    ("program_class", "memory", "given", "told"),
    [
        (ReferenceProgram, 5_000, True, 5_000),
        (ReferenceProgram, BrokerConfig.totalMemory, True, BrokerConfig.totalMemory),
        (ReferenceProgram, BrokerConfig.totalMemory, False, None),
        (JavaProgram, 5_000, False, None),
    ],
)
def test_memory_is_told_only_where_the_trial_gives_it(
    evidence: Evidence, program_class: type[ReferenceProgram | JavaProgram], memory: int, given: bool, told: int | None
) -> None:
    program = program_class.__new__(program_class)
    if isinstance(program, ReferenceProgram):
        program.memory_given = given
    config = BrokerConfig(totalMemory=memory, slaveReadEnable=True)
    evidence.config("master", json.dumps(shown(config, program.memory_given)))
    (event,) = history(evidence)
    found = json.loads(event.detail or "")
    assert found.get("totalMemory") == told
    assert found["slaveReadEnable"] is True and len(found) == len(asdict(config)) - (told is None)


def test_a_shorter_log_after_a_start_is_a_cut(evidence: Evidence, tmp_path: Path) -> None:
    first, second = Written(evidence, tmp_path), Written(evidence, tmp_path, incarnation=2)
    first.note(1, "start", "empty", 0, 0)
    first.note(2, "append", 0, 100, 7, "put", "m0")
    second.note(9, "start", "abnormal", 0, 60)
    cuts = [each for each in history(evidence) if each.kind == "cut"]
    assert [(each.node, each.incarnation, each.lo, each.hi) for each in cuts] == [("master", 2, 60, 100)]


def test_a_replaced_store_is_no_cut(evidence: Evidence, tmp_path: Path) -> None:
    first, second = Written(evidence, tmp_path), Written(evidence, tmp_path, incarnation=2)
    first.note(1, "append", 0, 100, 7, "put", "m0")
    evidence.add(5, "wipe", "master", f="empty", hi=0)
    second.note(9, "start", "empty", 0, 0)
    assert [each.kind for each in history(evidence)] == ["append", "wipe", "start"]


def test_addresses_of_a_registration_are_told_as_nodes(evidence: Evidence, tmp_path: Path) -> None:
    evidence.addresses["127.0.0.1:5"] = "master"
    trace = Written(evidence, tmp_path, "slave")
    trace.note(1, "register", "ok", "127.0.0.1:5", "127.0.0.1:6", ":+1")
    trace.note(2, "register", "failed", None, None, None)
    known, unknown = history(evidence)
    assert json.loads(known.detail or "") == {"master": "master", "ha": "127.0.0.1:6"}
    assert (unknown.status, unknown.detail) == ("failed", "{}")
    assert ("slave", 1) in readings(evidence).registered


def forwarder(evidence: Evidence, tapped: bool = True) -> HaForwarder:
    assert isinstance(evidence.listener, HaListener)
    found = evidence.listener.forwarder("slave", "ha")
    assert isinstance(found, HaForwarder)
    found.wires.append(_Wire())  # type: ignore[arg-type]
    found.tapped = tapped
    found.stand()
    return found


class _Wire:
    transport = None

    def go_on(self) -> None:
        """Nothing to read."""


def test_frames_are_recorded_at_both_ends_with_what_the_store_holds(evidence: Evidence, tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / f"{0:020d}").write_bytes(b"abcdX" + bytes(11))
    evidence.stores["master"] = tmp_path
    link = forwarder(evidence)
    link.server_sent(FRAME)
    link.client_receives(FRAME[:9])
    link.client_receives(FRAME[9:])
    found = history(evidence)
    frames = [each for each in found if each.kind == "frame"]
    assert [(each.side, each.lo, each.hi, each.digest) for each in frames] == [
        (MASTERS, 0, 5, digest(b"abcde")),
        (SLAVES, 0, 5, digest(b"abcde")),
    ]
    source = next(each for each in found if each.kind == "source")
    assert source.digest == digest(b"abcdX"), "the store holds something else, and that is seen"
    assert [each.value for each in found if each.kind == "partial"] == [9]


def test_a_black_boxs_log_ends_where_it_reports_also_within_a_record(evidence: Evidence, tmp_path: Path) -> None:
    at: Any = SimpleNamespace(incarnation=1, is_up=True, is_stopping=False)
    evidence.process_started("slave", 1, SeenFromOutside(at, lambda: False))
    evidence.log_ends["slave"] = 230
    link = forwarder(evidence)
    for offset in (230, 237, 237):
        link.client_sent(offset.to_bytes(8, "big"))
    assert evidence.log_ends == {"slave": 237}
    # Files tell of the whole records only, and late.
    readings(evidence)._note(evidence._incarnations[-1], 0, "append", [0, 230, 1, "replicate", None])
    assert evidence.log_ends == {"slave": 237}
    # What traces itself is believed; so are a new process's files.
    Written(evidence, tmp_path, "slave", 2).note(1, "start", "abnormal", 0, 230)
    evidence.poll()
    link.client_sent((500).to_bytes(8, "big"))
    assert evidence.log_ends == {"slave": 230}


def test_an_impostors_end_is_not_the_masters(evidence: Evidence) -> None:
    link = forwarder(evidence, tapped=False)
    link.server_sent(FRAME)
    link.client_receives(FRAME)
    sides = {each.side for each in history(evidence) if each.kind in ("connect", "frame")}
    assert sides == {SLAVES}


def test_a_refusal_is_told_by_the_connection_that_it_ended(evidence: Evidence, tmp_path: Path) -> None:
    link = forwarder(evidence)
    trace = Written(evidence, tmp_path)
    trace.note(time.monotonic_ns() - evidence.base, "refused", link.address, 500, 100, "ahead")
    diverged = next(each for each in history(evidence) if each.kind == "diverged")
    assert (diverged.link, diverged.hi, diverged.value, diverged.detail) == ("ha:1", 500, 100, "ahead")
    assert readings(evidence).refusals["slave"] == 1


def test_unfinished_bytes_are_told_at_the_close(evidence: Evidence) -> None:
    link = forwarder(evidence)
    link.client_receives(FRAME[:10])
    link.closed("client", "local")
    link.closed("client", "local")
    closes = [each for each in history(evidence) if each.kind == "close"]
    assert [(each.side, each.f, each.value) for each in closes] == [(SLAVES, "local", 10)]


def test_what_is_above_the_limit_is_counted() -> None:
    evidence = traced(Recorder(limit=3))
    for t in range(3):
        evidence.add(t, "mark", f="warm")
    evidence.traced += [Event(0, 1, "flush", "master", 1, hi=1)] * 2
    assert len(history(evidence)) == 3
    assert evidence.recorder.dropped == 2
