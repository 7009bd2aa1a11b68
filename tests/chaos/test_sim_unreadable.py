"""Answers and tables that cannot be read are recorded and judged; observers never raise for what a node says."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.chaos.observers import auditing
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.history import Recorder
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Scalar, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.processors.pulling import Pulling
from pairproof.reference.core.processors.sending import Sending
from pairproof.reference.core.requests import Request
from pairproof.reference.core.topics import TopicTable

LAB = resolve.lab("sim")
SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
PULL = Op("pull", {"reader": 0, "node": "master", "queue": 0})
JOIN = Op("join", {"group": 0, "consumer": 0})
LATER = Op("advance", {"ms": 20_000})


def play(node_class: type[Broker], *ops: Op, **settings: Scalar) -> Trial:
    target = ReferenceTarget((Mutant("own", "master", node_class, "ack-readable", ""),))
    return run_trial(LAB, target, Schedule(settings, "unreadable", ops))


def violated(trial: Trial) -> dict[str, str]:
    return {each.law: each.violations[0].text for each in trial.judgements if each.violations}


def saying(of: type[Any], fields: dict[str, str], body: bytes = b"") -> type[Any]:
    """A processor whose every answer is this."""

    class Says(of):  # type: ignore[misc]
        def answer(self, request: Request, *told: object) -> None:
            request.peers.answer(request.conn, request.command, 0, fields, body, None)

        def _answer(self, held: Any, may_hold: bool) -> None:
            held.request.peers.answer(held.request.conn, held.request.command, 0, fields, body, None)

    return Says


STORED = {"msgId": "7F00000100002A9F0000000000000000", "queueId": "0", "queueOffset": "0"}


BEYOND = {"queueOffset": "9" * 30}, {"msgId": "7F00000100002A9F" + "F" * 16}


@pytest.mark.parametrize(
    "wrong", [{"queueOffset": ""}, {"queueOffset": "x"}, {"msgId": "0"}, {"msgId": "é" * 20}, *BEYOND]
)
def test_an_answer_to_a_send_that_cannot_be_read_is_a_finding(wrong: dict[str, str]) -> None:
    fields = {key: value for key, value in {**STORED, **wrong}.items() if value}
    trial = play(with_parts(sending_class=saying(Sending, fields)), SEND, LATER)
    assert violated(trial)["ack-readable"].startswith("master's answer to the send of m0 cannot be read: ")
    assert {event.status for event in trial.events if event.kind == "info"} == {"unreadable answer"}
    # It was answered in time, and perhaps as stored: no other law accuses it of silence.
    assert not {"live-progress", "live-converges"} & set(violated(trial))


TOLD = {"nextBeginOffset": "0", "minOffset": "0", "maxOffset": "1", "suggestWhichBrokerId": "0"}


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ({}, b""),
        ({**TOLD, "minOffset": "1e3"}, b""),
        ({**TOLD, "maxOffset": "9" * 30}, b""),
        (TOLD, b"\xff" * 99),
        (TOLD, b"x"),
        (TOLD, bytes(99)),
    ],
)
@pytest.mark.parametrize("asked", [PULL, JOIN])
def test_an_answer_to_a_pull_that_cannot_be_read_is_a_finding(fields: dict[str, str], body: bytes, asked: Op) -> None:
    pulling = with_parts(pulling_class=saying(Pulling, fields, body))
    trial = play(pulling, SEND, asked, LATER, **{"lab.nameServer": 1})
    assert "answer to a pull cannot be read" in violated(trial)["ack-readable"]


def test_a_table_that_cannot_be_read_is_a_finding_and_one_that_is_not_even_said_a_crash() -> None:
    class Garbles(TopicTable):
        def encode(self) -> bytes:
            return super().encode()[:-1]

    class Raises(TopicTable):
        def encode(self) -> bytes:
            raise OverflowError("too many")

    trial = play(with_parts(topics_class=Garbles), LATER, **{"lab.nameServer": 1})
    assert violated(trial)["meta-readable"].startswith("the topics of master cannot be read: ")
    trial = play(with_parts(topics_class=Raises), LATER, **{"lab.nameServer": 1})
    assert "OverflowError: too many" in violated(trial)["node-lives"]


def test_a_lying_disk_may_leave_a_table_that_cannot_be_read() -> None:
    lying, full = {"name": "lying_flush", "node": "slave"}, {"name": "power_loss", "node": "slave", "keep": "none"}
    ops = (Op("fault", lying), LATER, Op("fault", full), Op("heal", {"name": "power_loss"}), LATER)
    trial = run_trial(LAB, resolve.target("reference"), Schedule({"lab.nameServer": 1}, "unreadable", ops))
    assert violated(trial) == {}


@pytest.mark.parametrize("seed", range(30))
def test_store_readers_say_what_is_wrong_with_a_store_and_never_raise(seed: int) -> None:
    dice = random.Random(seed)
    trial_files: dict[str, bytes] = {}
    session: Any = LAB.open(resolve.target("reference"), resolve.target("reference").settings({}), "fuzz")
    session.warm_up()
    for size in (300, 900, 30, 900):
        session.driver.clients.send(0, size, True, 0)
    session.advance(2_000)
    for name, file in session.world.hosts["master"].disk.files.items():
        data = bytearray(file.cache)
        for _ in range(dice.choice((0, 1, 8, 200)) if data else 0):
            data[dice.randrange(len(data))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF))
        trial_files[name] = bytes(data[: dice.choice((len(data), dice.randrange(len(data) + 1)))])
    whole = {name: bytes(file.cache) for name, file in session.world.hosts["slave"].disk.files.items()}
    recorder = Recorder()
    one = auditing.Snapshot("master", 1, trial_files, dice.choice((None, 5_000)), 8)
    other = auditing.Snapshot("slave", 1, whole, None, 8)
    auditing.audit(recorder, 0, 1, "final", one, other, {"master", "slave"})
    assert [event.node for event in recorder.events if event.kind == "audit"] == ["master", "slave"]
