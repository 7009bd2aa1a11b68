"""Real processes that crash, hang or do not come up are findings; what others do to them is the lab's failure."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.labs.process.nodes import NodeProcess
from pairproof.chaos.labs.real.session import RealSession
from pairproof.chaos.plan import Cause, Command, Fork, Program, Status
from pairproof.chaos.rocketmq.programs import JavaProgram, ReferenceProgram
from pairproof.chaos.targets.reference import TARGET, ReferenceTarget
from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Scalar, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reference.core.config import BrokerConfig

pytestmark = pytest.mark.slow

SEND = Op("send", {"producer": 0, "size": 900, "wait": True, "queue": 0})
LATER = Op("advance", {"ms": 500})
LAWS = judge.laws(["node-lives", "live-converges"])


def fault(name: str, node: str, **more: Scalar) -> tuple[Op, Op]:
    return Op("fault", {"name": name, "node": node, **more}), Op("heal", {"name": name})


def play(lab: ProcessLab, target: ReferenceTarget, *ops: Op) -> Trial:
    return run_trial(lab, target, Schedule({"brokerRole": "ASYNC_MASTER"}, "lives", ops), laws=LAWS)


def violated(trial: Trial) -> dict[str, str]:
    return {each.law: each.violations[0].text for each in trial.judgements if each.violations}


def kinds(events: list[Event], *wanted: str) -> list[Event]:
    return [event for event in events if event.kind in wanted]


def test_a_process_whose_code_raises_is_a_finding_and_its_log_is_kept(lab: ProcessLab) -> None:
    trial = play(lab, TARGET.mutant("trips_over_fillers"), SEND, SEND, SEND, LATER)
    assert set(violated(trial)) == {"node-lives"}
    assert violated(trial)["node-lives"].startswith("master ended by itself: exited 1; last output: KeyError: ")
    assert (
        "pairproof.chaos.mutants.incarnations:" in violated(trial)["node-lives"] and "Traceback" in trial.logs["master"]
    )
    (crash,) = kinds(trial.events, "crash")
    assert (crash.node, crash.f, crash.status) == ("master", "process", "own")


@pytest.mark.parametrize(
    ("mutant", "ops", "f"),
    [
        ("refuses_after_kill", fault("kill", "slave"), "refused"),
        ("forgets_after_stop", fault("restart", "master"), "ended"),
    ],
)
def test_a_process_that_does_not_come_up_on_its_own_store_is_a_finding(
    lab: ProcessLab, mutant: str, ops: tuple[Op, ...], f: str
) -> None:
    trial = play(lab, TARGET.mutant(mutant), SEND, *ops, LATER)
    assert set(violated(trial)) == {"node-lives"}
    aborts = kinds(trial.events, "abort")
    assert aborts and {each.f for each in aborts} == {f} and {each.status for each in aborts} == {None}


def opened(lab: ProcessLab) -> RealSession:
    session = lab.open(TARGET, TARGET.settings({}), "lives")
    session.warm_up()
    return session


def lives(session: RealSession, lab: ProcessLab) -> str:
    session.settle()
    (found,) = judge.judge(session.recorder.events, judge.laws(["node-lives"]), lab.observes(TARGET))
    return found.violations[0].text if found.verdict is Verdict.VIOLATED else found.verdict.value


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_signal_that_a_process_gets_for_what_it_does_itself_is_a_finding(lab: ProcessLab, number: int) -> None:
    session = opened(lab)
    pid = session.nodes["slave"].pid
    assert pid is not None
    os.kill(pid, number)
    session.run_until(lambda: not session.nodes["slave"].is_up, 10**10)
    assert lives(session, lab).startswith(f"slave ended by itself: killed {int(number)}; last output: ")


def test_a_process_that_lives_and_never_serves_is_ended_and_is_a_finding(
    lab: ProcessLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, launch = opened(lab), NodeProcess.launch
    session.on_nodes.kill("slave")

    def hangs(self: NodeProcess, what: Command | Fork) -> int:
        pid = launch(self, what)
        os.kill(pid, signal.SIGSTOP)
        return pid

    monkeypatch.setattr(NodeProcess, "launch", hangs)
    monkeypatch.setattr(Program, "ready_s", 1)
    session.on_nodes.restart("slave")
    monkeypatch.undo()
    assert not session.nodes["slave"].is_up
    (abort,) = kinds(session.recorder.events, "abort")
    assert (abort.node, abort.f, abort.incarnation) == ("slave", "stuck", 2)
    assert "it did not serve after 1 s" in str(abort.detail)


def test_a_process_that_does_not_stop_is_a_finding(lab: ProcessLab, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(lab)
    monkeypatch.setattr("pairproof.chaos.labs.real.node_faults.STOP_S", 1.0)
    pid = session.nodes["slave"].pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    session.on_nodes.stop("slave")
    (crash,) = kinds(session.recorder.events, "crash")
    assert (crash.status, crash.node) == ("stuck", "slave") and not session.nodes["slave"].is_up
    assert not kinds(session.recorder.events, "stop")


class Disk:
    """A store whose disk fails, or does not."""

    path = Path("/")

    def __init__(self, is_failing: bool) -> None:
        self.is_failing = is_failing


REFERENCE, JAVA = ReferenceProgram("reference", BrokerConfig()), JavaProgram("4.9.7", BrokerConfig())


@pytest.mark.parametrize(
    ("program", "status", "failing", "cause"),
    [
        (REFERENCE, Status("exited", 1), False, Cause.OWN),
        (REFERENCE, Status("exited", 1), True, Cause.OWN),
        (REFERENCE, Status("exited", 0), False, Cause.OWN),
        (REFERENCE, Status("exited", 4), False, Cause.OWN),
        (REFERENCE, Status("exited", 4), True, Cause.DISK),
        (REFERENCE, Status("exited", 5), False, Cause.REFUSED),
        (REFERENCE, Status("exited", 2), True, Cause.LAB),
        (REFERENCE, Status("exited", 3), False, Cause.LAB),
        (REFERENCE, Status("killed", signal.SIGBUS), True, Cause.DISK),
        (REFERENCE, Status("killed", signal.SIGBUS), False, Cause.OWN),
        (REFERENCE, Status("killed", signal.SIGKILL), True, Cause.LAB),
        (JAVA, Status("exited", 253), False, Cause.OWN),
        (JAVA, Status("exited", 253), True, Cause.DISK),
        (JAVA, Status("exited", 5), False, Cause.OWN),
        (JAVA, Status("killed", signal.SIGABRT), False, Cause.OWN),
        (JAVA, Status("killed", signal.SIGABRT), True, Cause.DISK),
        (JAVA, Status("exited", 143), False, Cause.LAB),
        (JAVA, Status("killed", signal.SIGKILL), False, Cause.LAB),
    ],
)
def test_how_a_process_ended_says_who_was_behind_it(
    program: Program, status: Status, failing: bool, cause: Cause
) -> None:
    node = object.__new__(NodeProcess)
    node.program, node.store = program, Disk(failing)  # type: ignore[assignment]
    assert node.cause(status) is cause
