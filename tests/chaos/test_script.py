"""The script of a trial, played on a stage that answers as it is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pairproof.chaos.driver import Driver
from pairproof.chaos.labs import script
from pairproof.chaos.labs.script import Bounds
from pairproof.harness.history import MS, Recorder


class Clients:
    """Probe number n ends as ``phases`` says."""

    def __init__(self, *phases: str) -> None:
        self.phases = phases
        self.phase_of: dict[int, str] = {}

    def probe(self) -> int:
        op = len(self.phase_of)
        self.phase_of[op] = self.phases[op]
        return op

    def answered(self) -> bool:
        return True


class FakeContext(Driver):
    """Time passes only while something is waited for; ``waits``: how many looks consumers need."""

    bounds = Bounds(1, 2, 1_000 * MS, 30_000 * MS)
    all_nodes = ("names", "master", "slave")

    def __init__(self, *phases: str, ends: set[int | None] | None = None, waits: int | None = None) -> None:
        self.recorder = Recorder()
        self.driver = self
        self.clients = Clients(*phases)
        self.log_ends: set[int | None] = {7} if ends is None else ends
        self.waits = waits or 0
        self.has_names = waits is not None
        self.t = 0
        self.owes = True
        self.copies_at = 10**18
        self.did: list[str] = []

    def now(self) -> int:
        return self.t

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        ends = self.t + limit_ns
        while not reached() and self.t < ends:
            self.t = min(ends, self.t + 1_000 * MS)
        return reached()

    def idle(self, ns: int) -> None:
        self.t += ns

    def restart(self, node: str) -> None:
        self.did.append(f"restart {node}")

    def audit(self, f: str, *nodes: str) -> None:
        self.did.append(f"{f} {' '.join(nodes)}")

    def linked(self) -> bool:
        return True

    def ends(self) -> set[int | None]:
        return self.log_ends

    def resting(self) -> Callable[[], bool]:
        return self.agreed

    def derived(self) -> bool:
        return True

    def has_pending_copies(self) -> bool:
        return self.owes

    def copied(self, since_ns: int) -> bool:
        return self.t >= max(since_ns, self.copies_at)

    def caught_up(self) -> bool:
        self.waits -= 1
        return self.waits < 0

    def marks(self) -> list[str | None]:
        return [each.f for each in self.recorder.events]


def test_settling_starts_everybody_probes_and_ends_with_the_audit_of_everybody() -> None:
    stage = FakeContext("ok")
    script.settle(stage)
    assert stage.did == ["restart names", "restart master", "restart slave", "final names master slave"]
    assert stage.marks() == ["probe", "converged", "end"] and stage.t == 0


def test_it_probes_again_after_a_probe_that_is_not_stored_but_not_for_ever() -> None:
    again, never = FakeContext("info", "ok"), FakeContext(*["fail"] * 9)
    script.settle(again)
    script.settle(never)
    assert again.marks().count("probe") == 2 and never.marks().count("probe") == script.PROBES


@pytest.mark.parametrize("ends", [{7, 8}, {None}, {7, None}])
def test_logs_that_do_not_end_alike_within_the_bound_are_unsettled(ends: set[int | None]) -> None:
    stage = FakeContext("ok", ends=ends)
    script.settle(stage)
    assert stage.marks() == ["probe", "unsettled", "end"] and stage.t == stage.bounds.settle


@pytest.mark.parametrize(("waits", "looks"), [(0, 0), (5, 5), (10_000, 180)])
def test_with_a_name_server_consumers_catch_up_or_a_bound_passes_and_then_a_sync_period_is_quiet(
    waits: int, looks: int
) -> None:
    stage = FakeContext("ok", waits=waits)
    script.settle(stage)
    assert stage.t == looks * stage.bounds.look + stage.bounds.sync + script.CALLS_NS


def test_the_sync_period_ends_when_copies_are_seen_to_have_arrived() -> None:
    stage = FakeContext("ok", waits=0)
    stage.copies_at = 4_000 * MS
    script.settle(stage)
    assert stage.t == stage.copies_at + script.COPIED_NS


def test_nobody_waits_for_copies_of_what_nothing_has_touched() -> None:
    stage = FakeContext("ok", waits=0)
    stage.owes = False
    script.settle(stage)
    assert stage.t == 0


def test_a_master_without_slaves_is_audited_alone_and_each_record_is_listed_once() -> None:
    assert list(script.audited(("master",), ["master"])) == [("master", {"master"})]
    pair = ("master", "slave", "slave-2")
    assert list(script.audited(pair, pair)) == [("slave", {"master", "slave"}), ("slave-2", {"slave-2"})]
    assert list(script.audited(pair, ["slave-2"])) == [("slave-2", {"slave-2"})]
