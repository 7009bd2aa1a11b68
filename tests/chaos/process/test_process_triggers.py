"""Faults that begin where a node passes a point: it stands still there until they have, and not for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_labs import events, goes_on, opened, play, sends, violated

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.labs.real.control import STOP_S, Control
from pairproof.harness.errors import UsageError
from pairproof.harness.ports.timing import POINTS, CanArm
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted, can, lacking
from pairproof.harness.trials.schedule import Op
from pairproof.harness.trials.trial import Trial

WAIT = Op("advance", {"ms": 400})


def arm(node: str, point: str, nth: int, name: str = "kill") -> Op:
    return Op("arm", {"node": node, "point": point, "nth": nth, "name": name})


def before_the_crash(trial: Trial, node: str, kind: str) -> int:
    """How often this was seen of the node behind the warm-up, before its first crash."""
    begun = next(each.seq for each in trial.events if each.kind == "mark" and each.f == "warm")
    crash = next(each.seq for each in trial.events if each.kind == "crash" and each.node == node)
    return sum(each.kind == kind and each.node == node and begun < each.seq < crash for each in trial.events)


@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_node_is_killed_at_its_nth_append_and_no_later(lab: ProcessLab, node: str, nth: int) -> None:
    trial = play(lab, [arm(node, "append", nth), *sends(5), WAIT, Op("heal", {"name": "kill"}), WAIT])
    assert not violated(trial) and before_the_crash(trial, node, "append") == nth


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_trigger_fires_once_at_its_point(lab: ProcessLab, node: str, point: str) -> None:
    trial = play(lab, [arm(node, point, 2), *sends(3), WAIT, WAIT], flushDiskType="SYNC_FLUSH")
    assert not violated(trial)
    assert [each.node for each in trial.events if each.kind == "crash"] == [node]


def test_what_is_about_to_leave_does_not(lab: ProcessLab) -> None:
    trial = play(lab, [arm("slave", "recv", 1), *sends(1), WAIT])
    assert before_the_crash(trial, "slave", "append") == 0


def test_several_triggers_at_one_point_fire_each_at_its_own_passing(lab: ProcessLab) -> None:
    session = opened(lab)
    fired: list[tuple[int, int]] = []
    for nth in (3, 1):
        session.triggers.arm(
            "master", "append", nth, lambda nth=nth: fired.append((nth, len(events(session, "append", "master"))))
        )
    goes_on(session)
    assert [nth for nth, _ in fired] == [1, 3]
    session.close()


def test_what_is_forgotten_never_fires_and_holds_nobody_up(lab: ProcessLab) -> None:
    session = opened(lab)
    session.triggers.arm("master", "append", 1, lambda: pytest.fail("it was forgotten"))
    session.triggers.disarm()
    goes_on(session)
    assert not session.triggers.is_due()
    session.close()


@pytest.mark.parametrize(("node", "point"), [("slave2", "send"), ("names", "send"), ("slave", "lunch")])
def test_where_nothing_can_be_armed_the_valid_places_are_named(lab: ProcessLab, node: str, point: str) -> None:
    session = opened(lab)
    with pytest.raises(UsageError, match=r"nodes \(lab.slaves\): master, slave; points: append, flush, send, recv"):
        session.triggers.arm(node, point, 1, lambda: None)
    session.close()


def test_nodes_without_seams_have_none_and_those_with_the_agent_do() -> None:
    process = resolve.lab("process")
    found = [can(Hosted(process, resolve.target(name)), CanArm) for name in ("reference", "rocketmq-4.9.7")]
    assert found == [True, False] and can(Hosted(process, resolve.target("rocketmq@4.9.7+agent")), CanArm)
    plain = Hosted(process, resolve.target("rocketmq-4.9.7"))
    assert lacking(plain, [arm("master", "send", 1)], resolve.faults(), resolve.operations()) == [CanArm]


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    made = Control(tmp_path / "control")
    yield made
    made.close()


def test_a_node_stands_still_until_the_lab_has_seen_it(control: Control) -> None:
    control.set("send_at", 2)
    control.pass_point("send")
    control.pass_point("recv")
    assert (control.get("send_passed"), control.get("recv_passed"), control.get("stops")) == (1, 0, 0)
    passes = threading.Thread(target=control.pass_point, args=("send",))
    passes.start()
    ends = time.monotonic() + 60
    while control.get("stops") == 0 and time.monotonic() < ends:
        time.sleep(0.001)
    control.set("goes", 1)
    passes.join()
    control.pass_point("send")
    assert (control.get("send_passed"), control.get("stops")) == (3, 1)


def test_nobody_waits_for_the_lab_for_long(control: Control) -> None:
    control.set("append_at", 1)
    began = time.monotonic()
    control.pass_point("append")
    assert time.monotonic() - began >= STOP_S and control.get("stops") == 1
