"""What goes wrong under a trial in containers is the lab's failure, said in one line, never judged; nothing stays."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker_labs import in_engine
from engine_door import EngineDoor
from real_labs import events, goes_on, left, opened

from pairproof.chaos.labs.docker import watching
from pairproof.chaos.labs.docker.connection import Connection
from pairproof.chaos.labs.docker.containers import Container
from pairproof.chaos.labs.docker.engine import Engine
from pairproof.chaos.labs.docker.environment import DockerEnvironment
from pairproof.chaos.labs.docker.lab import DockerLab
from pairproof.chaos.labs.docker.nodes import NodeContainer
from pairproof.chaos.labs.docker.watching import Watching
from pairproof.chaos.labs.real.session import RealSession
from pairproof.harness.errors import LabError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_engine")]

SILENT_S = 8.0


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineDoor]:
    with EngineDoor(tmp_path / "door.sock") as made:
        yield made


@pytest.fixture
def lab(labs_folder: Path, engine: Engine, door: EngineDoor, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerLab]:
    """A lab of the test's own that comes to the engine by the door, and of which nothing stays."""
    # Its connection is made before the door is the way.
    assert in_engine(engine, labs_folder) == []
    monkeypatch.setenv("DOCKER_HOST", door.host)
    made = DockerLab()
    yield made
    made.close()
    assert left(labs_folder) == [] and in_engine(engine, labs_folder) == []


def helper(session: RealSession, name: str) -> Container:
    assert isinstance(session.environment, DockerEnvironment)
    return session.environment._helpers[name]


def node(session: RealSession, name: str) -> Container:
    found = session.nodes[name]
    assert isinstance(found, NodeContainer) and found.container is not None
    return found.container


def supervisor_dies(session: RealSession, door: EngineDoor) -> None:
    assert isinstance(session.environment, DockerEnvironment)
    os.kill(session.environment.supervisor.pid, signal.SIGKILL)


FAILURES: dict[str, Callable[[RealSession, EngineDoor], object]] = {
    "the lab's toxiproxy has ended, exit code 137": lambda session, _: helper(session, "toxiproxy").kill(),
    "the lab's toxiproxy is paused": lambda session, _: helper(session, "toxiproxy").pause(),
    "the lab's observer (has ended, exit code 137|does not answer)": lambda session, _: helper(
        session, "observer"
    ).kill(),
    "the lab's observer is paused": lambda session, _: helper(session, "observer").pause(),
    "master exited by itself .killed 9": lambda session, _: node(session, "master").kill(),
    "supervisor has ended: it was killed": supervisor_dies,
    "the Docker engine no longer answers: .*check the engine": lambda _, door: door.shut(),
    "the Docker engine no longer answers: not within": lambda _, door: door.hang(),
}


PLAYED_ON = next(iter(FAILURES))


@pytest.mark.parametrize("said", FAILURES)
def test_a_failure_of_the_lab_ends_the_trial_and_keeps_what_was_recorded(
    lab: DockerLab, door: EngineDoor, engine: Engine, labs_folder: Path, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "ANSWER_S", SILENT_S)
    monkeypatch.setattr(Connection.ask, "__defaults__", (SILENT_S,))
    session = opened(lab)
    FAILURES[said](session, door)
    with pytest.raises(LabError, match=said) as why:
        goes_on(session)
    assert "\n" not in str(why.value)
    session.close()
    assert events(session, "append", "slave") and events(session, "frame"), "what nodes and the observer traced"
    times = [each.t for each in session.recorder.events]
    assert times == sorted(times)
    if "not within" in said:
        # It answers again, and the keeper asks anew.
        door.goes_on()
    lab.close()
    if "check the engine" in said:
        stays = in_engine(engine, labs_folder)
        assert len(stays) == 5, "containers and their network"
        door.opens()
        assert len(lab.clean()) >= 5
    assert left(labs_folder) == [] and in_engine(engine, labs_folder) == []
    if said == PLAYED_ON:
        again = opened(lab)
        again.settle()
        assert events(again, "mark")[-1].f == "end"


def test_a_network_on_which_containers_do_not_reach_each_other_is_said_before_anybody_is_judged(
    lab: DockerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Watching.ask

    def dropped(watching: Watching, what: str, **fields: Any) -> dict[str, Any]:
        # Nobody listens there: as where a firewall drops it, only sooner.
        return ask(watching, what, **(fields | {"port": 9} if what == "reach" else fields))

    monkeypatch.setattr(Watching, "ask", dropped)
    with pytest.raises(
        LabError, match=r"containers .* do not reach each other: a firewall .* accept what is forwarded"
    ):
        opened(lab)


def test_an_observer_that_ends_while_the_network_is_checked_is_not_taken_for_a_firewall(
    lab: DockerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = DockerEnvironment._check_network

    def after_its_end(environment: DockerEnvironment) -> None:
        environment._helpers["observer"].kill()
        check(environment)

    monkeypatch.setattr(DockerEnvironment, "_check_network", after_its_end)
    with pytest.raises(LabError, match=r"observer does not answer \(reach\): .*; (last output|without output)") as why:
        opened(lab)
    assert "firewall" not in str(why.value)
