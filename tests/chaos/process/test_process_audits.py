"""An audit is of the moment at which the stores were read, and of one moment only."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from pairproof.chaos.labs.real import processes
from pairproof.chaos.labs.real.evidence import Evidence
from pairproof.chaos.labs.real.processes import Processes
from pairproof.chaos.labs.real.trace import TraceReader
from pairproof.chaos.plan import Plan
from pairproof.chaos.rocketmq.inspection import SNAPSHOTS, Inspection
from pairproof.chaos.rocketmq.readings import TracedReadings
from pairproof.harness.errors import LabError
from pairproof.harness.history import Event, Recorder
from pairproof.reference.core.config import BrokerConfig

PAIR = ("master", "slave")


@pytest.fixture(autouse=True)
def nothing_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes are no processes: none runs by itself, unless a test says so."""
    monkeypatch.setattr(processes, "_ran_ns", lambda node: 0)


class Node:
    """A node that goes on the moment it is let go, and traces that."""

    pid = 1
    incarnation = 1

    def __init__(self, name: str, trace: Path) -> None:
        self.name = name
        self.trace = trace
        self.pauses: list[object] = []
        self.still = False

    def note(self, kind: str, *columns: object) -> None:
        with self.trace.open("a") as file:
            file.write(json.dumps([time.monotonic_ns(), kind, *columns]) + "\n")

    def halt(self) -> None:
        self.note("dispatch", 100)
        self.still = True

    def go_on(self) -> None:
        self.still = False
        self.note("dispatch", 200)

    def files(self, prefixes: object) -> dict[str, bytes]:
        assert self.still
        return {"commitlog/" + "0" * 20: bytes(100)}


class World:
    """A pair of such nodes."""

    def __init__(self, folder: Path) -> None:
        self.evidence = Evidence(Recorder())
        self.evidence.readings = TracedReadings(self.evidence)
        self.plan = Plan((), (), PAIR)
        self.recorder = self.evidence.recorder
        self.nodes = {name: cast(Any, Node(name, folder / f"{name}.jsonl")) for name in PAIR}
        for name in PAIR:
            self.evidence.process_started(name, 1, TraceReader(folder / f"{name}.jsonl"))
        self.inspection = Inspection.__new__(Inspection)
        self.inspection.world = cast(Any, self)
        self.inspection.configs = {name: BrokerConfig() for name in PAIR}
        self.inspection.has_names = False
        self.processes = Processes(cast(Any, self))

    def aside(self, work: Callable[[], Any]) -> Any:
        return work()

    def node(self, name: str) -> Any:
        return self.nodes[name]

    def serves(self, node: object) -> bool:
        return True

    def now(self) -> int:
        return self.evidence.now()

    def audited(self) -> list[Event]:
        self.inspection.audit("final", *PAIR)
        self.evidence.merge_traces()
        return self.recorder.events


def test_what_nodes_do_after_they_were_let_go_comes_after_the_audit(tmp_path: Path) -> None:
    kinds = [(each.kind, each.hi) for each in World(tmp_path).audited() if each.kind in ("dispatch", "audit")]
    before, after = kinds.index(("audit", 0)), kinds.index(("dispatch", 200))
    assert kinds[:2] == [("dispatch", 100)] * 2 and before < after


def test_stores_are_read_again_where_somebody_else_let_their_nodes_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = iter([1, 1, 2, 1, *[2] * 100])
    monkeypatch.setattr(processes, "_ran_ns", lambda node: next(ran))
    world = World(tmp_path)
    assert [each.node for each in world.audited() if each.kind == "audit"] == list(PAIR)
    assert sum(each.kind == "dispatch" for each in world.recorder.events) == 8, "both stopped and went on twice"


def test_stores_that_are_never_left_alone_are_not_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = iter(range(1_000))
    monkeypatch.setattr(processes, "_ran_ns", lambda node: next(ran))
    with pytest.raises(LabError, match=r"master, slave cannot be read: a process outside the lab"):
        World(tmp_path).audited()
    assert next(ran) == 4 * SNAPSHOTS


def test_a_paused_node_stays_paused(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.nodes["slave"].pauses.append(object())
    world.audited()
    assert world.nodes["slave"].still and not world.nodes["master"].still


def test_a_crash_comes_after_all_that_its_node_traced(tmp_path: Path) -> None:
    world = World(tmp_path)
    now = world.now()
    world.nodes["slave"].note("dispatch", 300)
    world.evidence.poll()
    assert world.evidence.last_moment("slave", now) > now == world.evidence.last_moment("master", now)


def test_a_node_s_log_is_read_before_it_starts_unless_it_has_none_or_no_disk_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen(files: Callable[[object], dict[str, bytes]]) -> list[tuple[object, ...]]:
        world = World(tmp_path)
        monkeypatch.setattr(Node, "files", lambda node, prefixes: files(prefixes))
        world.inspection.starting("slave")
        return [(each.kind, each.node, each.incarnation, each.f, each.hi) for each in world.recorder.events]

    def without_power(prefixes: object) -> dict[str, bytes]:
        raise LabError("cannot read it: Input/output error")

    log = {"commitlog/" + "0" * 20: bytes(100)}
    assert seen(lambda prefixes: log) == [("found", "slave", 2, "orderly", 0)]
    assert seen(lambda prefixes: {**log, "abort": b""}) == [("found", "slave", 2, "crash", 0)]
    assert seen(lambda prefixes: {"abort": b""}) == [] == seen(without_power)
