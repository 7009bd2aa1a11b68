"""A pair that grows without bound ends its trial with a finding, in bounded time and memory; a busy one does not."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.labs.sim import disk as disks
from pairproof.chaos.labs.sim import world
from pairproof.chaos.labs.sim.disk import STORE_BYTES
from pairproof.chaos.labs.sim.lab import LAB
from pairproof.chaos.mutants import Mutant
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.errors import EXIT_VIOLATED
from pairproof.harness.exploration.finding import smallest
from pairproof.harness.history import STOPPED
from pairproof.harness.judging import judge as judging
from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.template import advance, fault, heal, send
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.runs.writer import finding_json
from pairproof.harness.trials import resolve, schedule_json
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Finding, Trial
from pairproof.reference.core.broker import Broker

FAILS = Op("fail_consume", {"consumer": 0, "every": 1, "times": 16, "level": 1, "most": 16})
LONG = Op("send", {"producer": 0, "size": 1_900, "wait": True, "queue": 0})
KILL = (advance(15_000), fault("kill", node="master"), heal("kill"))
REPEATED = Schedule({"lab.nameServer": 1}, "seed", (FAILS, advance(1_000), LONG, *KILL * 3, advance(15_000)))
"""Each kill multiplies what the mutant does."""
MUTANT = "reference+counts_no_retry"
MEMORY_BYTES = 1_000_000_000


class Hoards(Broker):
    """Fills its store in one step."""

    piece, begins = 1_000_000, 10

    def on_timer(self, key: Any) -> None:
        super().on_timer(key)
        for number in range(self.io.now() // 10**9 // self.begins * 1_000):
            self.io.disk.write_whole(f"config/{number}", bytes(self.piece))


class HoardsAtStart(Broker):
    """Does so whenever it starts anew."""

    def on_start(self) -> None:
        super().on_start()
        for number in range(1_000 if self.io.now() else 0):
            self.io.disk.write_whole(f"config/{number}", bytes(1_000_000))


def hoarding(node_class: type[Broker]) -> ReferenceTarget:
    return ReferenceTarget((Mutant("hoards", "master", node_class, "node-lives", ""),))


def broken(trial: Trial) -> dict[str, str]:
    return {each.law: each.violations[0].text for each in trial.judgements if each.broken}


@pytest.fixture
def few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MOST_RECORDED", 2_000), ("RECORDED_AN_OP", 10), ("RECORDED_A_S", 10)):
        monkeypatch.setattr(world, name, value)


@pytest.mark.usefixtures("few_events")
def test_a_trial_with_too_many_events_is_stopped_and_judged_so_far() -> None:
    trial = run_trial(LAB, resolve.target(MUTANT), REPEATED)
    assert len(trial.events) < 4_000 and trial.events[-1].f == STOPPED
    assert broken(trial)["node-lives"].startswith("master went on without end: it grows without bound: ")
    assert broken(trial).keys() == {"node-lives", "deliver-sent-back"}
    assert trial == run_trial(LAB, resolve.target(MUTANT), REPEATED)
    assert not [each for each in trial.judgements if each.verdict is Verdict.UNKNOWN]


@pytest.mark.usefixtures("few_events")
def test_such_a_finding_is_made_small_and_replays_from_its_file(tmp_path: Path) -> None:
    target = resolve.target(MUTANT)
    small = smallest(LAB, target, REPEATED, "node-lives")
    assert len(small.ops) < len(REPEATED.ops)
    shown = broken(run_trial(LAB, target, small))
    finding = Finding("node-lives", shown["node-lives"], MUTANT, "sim", 0, 0, small, len(REPEATED.ops))
    file = tmp_path / "finding.json"
    file.write_text(json.dumps(finding_json(finding, file)))
    told = json.loads(file.read_text())
    again = run_trial(LAB, target, schedule_json.from_json(told["schedule"]))
    assert broken(again)["node-lives"] == told["text"]


@pytest.mark.usefixtures("few_events")
def test_judging_its_history_again_gives_the_same_verdicts() -> None:
    trial = run_trial(LAB, resolve.target(MUTANT), REPEATED)
    again = judging.judge(trial.events, judging.laws_for(resolve.target(MUTANT)), LAB.observes(resolve.target(MUTANT)))
    assert [(each.law, each.verdict) for each in again] == [(each.law, each.verdict) for each in trial.judgements]


@pytest.mark.parametrize("node_class", [Hoards, HoardsAtStart])
def test_a_store_that_needs_more_than_its_disk_ends_the_trial(node_class: type[Broker]) -> None:
    ops = (send(0), fault("kill", node="master"), advance(20_000), heal("kill"), send(0), advance(30_000))
    trial = run_trial(LAB, hoarding(node_class), Schedule({}, "seed", ops))
    assert f"it grows without bound: its store needs more than {STORE_BYTES:,} bytes" in broken(trial)["node-lives"]
    assert trial.events[-1].f == STOPPED and broken(trial).keys() == {"node-lives"}


def test_a_store_has_room_for_what_clients_send(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (disks, world):
        monkeypatch.setattr(module, "STORE_BYTES", 20_000)
    large = Op("send", {"producer": 0, "size": 1_500, "wait": True, "queue": 0})
    trial = run_trial(LAB, resolve.target("reference"), Schedule({}, "seed", (large,) * 100))
    assert not broken(trial) and trial.events[-1].f == "end"


@pytest.mark.usefixtures("few_events")
def test_operations_and_time_have_room_for_their_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "MOST_RECORDED", 200)
    busy = Schedule({"lab.nameServer": 1}, "seed", tuple(send(number % 2) for number in range(100)))
    assert run_trial(LAB, resolve.target("reference"), busy).events[-1].f == STOPPED
    monkeypatch.setattr(world, "RECORDED_AN_OP", 100)
    assert run_trial(LAB, resolve.target("reference"), busy).events[-1].f == "end"


class Waits(Law):
    """Judges at the end."""

    id = "waits"
    promise = source = ""
    needs = frozenset()

    def end(self, last: Any) -> None:
        self.violate(last, "it never came")


@pytest.mark.parametrize(("f", "verdict"), [("end", Verdict.VIOLATED), (STOPPED, Verdict.VACUOUS)])
def test_no_law_misses_what_a_stopped_trial_could_not_bring(f: str, verdict: Verdict) -> None:
    (found,) = judging.judge(H().add("mark", f=f).events, [Waits], frozenset())
    assert found.verdict is verdict


@pytest.mark.nightly
def test_repeated_kills_of_a_mutant_that_counts_no_retry_end_in_bounded_memory(tmp_path: Path) -> None:
    finding = Finding("node-lives", "", MUTANT, "sim", 0, 0, REPEATED, len(REPEATED.ops))
    file = tmp_path / "mem-case.json"
    file.write_text(json.dumps(finding_json(finding, file)))
    bound: Callable[[], None] = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))  # noqa: E731
    command = [Path(sys.executable).with_name("pairproof"), "replay", file]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=bound, check=False)
    assert done.returncode == EXIT_VIOLATED, done.stdout + done.stderr
    assert "it grows without bound" in done.stdout
