"""Nodes that answer later than they are asked, or in another order, are as correct as those that answer at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import pytest

from pairproof.chaos.mutants import Mutant
from pairproof.chaos.rocketmq import sim_long_conversations
from pairproof.chaos.rocketmq.questions import CLOSED
from pairproof.chaos.rocketmq.sim_caller import ANSWER_MS, UNANSWERED, Caller
from pairproof.chaos.rocketmq.sim_long_conversations import Line
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.rocketmq.conversations import IN_TIME, MASTER, NAMES, SERVED, SLAVE
from pairproof.harness.rocketmq.conversations.steps import Conversation
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.ports import MS

SENDS = tuple(Op("send", {"producer": 0, "size": 100, "wait": True, "queue": number % 2}) for number in range(4))
ABOUT_ANSWERS = {"answer", "conversation", "invalid"}
"""The kinds of events that a visitor's questions leave."""
LONG = [
    *(("master", each) for each in IN_TIME[MASTER]), ("slave", IN_TIME[SLAVE][0]),
    *(("names", each) for each in IN_TIME[NAMES]),
]  # fmt: skip


def late(played: type[Any], ms: int | None, in_reverse: bool = False, only_conversations: bool = False) -> type[Any]:
    """A node all of whose answers leave so much later; None: never."""

    class Late(played):  # type: ignore[misc]
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self._late_due: list[Callable[[], None]] = []
            self._late_answer = self.peers.answer
            self.peers.answer = self._late_take
            self._late_number = 0

        def _late_take(self, conn: Any, *what: Any, **more: Any) -> None:
            if only_conversations and not isinstance(conn, Caller | Line):
                self._late_answer(conn, *what, **more)
            elif ms is not None:
                self._late_due.append(partial(self._late_answer, conn, *what, **more))
                self._late_number += 1
                self.io.timer(("late", self._late_number), self.io.now() + ms * MS)

        def on_timer(self, key: Hashable) -> None:
            if not isinstance(key, tuple) or key[0] != "late":
                super().on_timer(key)
                return
            due, self._late_due = (self._late_due, []) if in_reverse else (self._late_due[:1], self._late_due[1:])
            for answer in reversed(due):
                answer()

    return Late


def target(**how: Any) -> ReferenceTarget:
    return ReferenceTarget((
        Mutant("late_master", "master", late(Broker, **how), "node-lives", ""),
        Mutant("late_slave", "slave", late(Broker, **how), "node-lives", ""),
        Mutant("late_names", "names", late(NameServer, **how), "node-lives", ""),
    ))  # fmt: skip


def played(seed: str, **how: Any) -> Trial:
    return run_trial(resolve.lab("sim"), target(**how), Schedule({"lab.nameServer": 1}, seed, SENDS))


def broken(trial: Trial) -> dict[str, str]:
    return {each.law: each.violations[0].text for each in trial.judgements if each.broken}


def asked(trial: Trial) -> list[tuple[Any, ...]]:
    """What was asked at the end, and how it was answered."""
    return [(each.kind, each.node, each.f, each.status) for each in trial.events if each.kind in ABOUT_ANSWERS]


@pytest.fixture
def no_long_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim_long_conversations, "chosen", lambda *drawn: None)


@pytest.mark.parametrize("in_reverse", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("no_long_conversation")
def test_nodes_that_answer_5_ms_later_keep_every_law(seed: int, in_reverse: bool) -> None:
    trial = played(str(seed), ms=5, in_reverse=in_reverse)
    assert not broken(trial)
    assert asked(trial) == asked(run_trial(resolve.lab("sim"), resolve.target("reference"), trial.schedule))
    first = next(each for each in trial.events if each.kind in ABOUT_ANSWERS)
    # Nothing of the time that the answers took stands in the history.
    assert {each.t for each in trial.events[first.seq :]} == {first.t}
    assert trial.events == played(str(seed), ms=5, in_reverse=in_reverse).events


@pytest.mark.parametrize("in_reverse", [False, True])
@pytest.mark.usefixtures("no_long_conversation")
def test_nodes_that_let_visitors_wait_for_900_ms_are_asked_to_the_end(in_reverse: bool) -> None:
    for seed in range(6):
        trial = played(str(seed), ms=900, in_reverse=in_reverse, only_conversations=True)
        assert not broken(trial)
        assert all(UNANSWERED in SERVED[f].statuses for _, _, f, status in asked(trial) if status == UNANSWERED)


@pytest.mark.parametrize("ms", [None, ANSWER_MS + 1])
@pytest.mark.usefixtures("no_long_conversation")
def test_nodes_that_answer_too_late_or_never_are_accused(ms: int | None) -> None:
    trial = played("0", ms=ms, only_conversations=True)
    assert "conversation-answered" in broken(trial)
    # Frames that are none end the connection.
    assert {each[-1] for each in asked(trial)} == {UNANSWERED, CLOSED}


@pytest.mark.parametrize("ms", [5, 900])
@pytest.mark.parametrize(("node", "steps"), LONG)
def test_a_visit_in_time_waits_for_answers_too(
    node: str, steps: Conversation, ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim_long_conversations, "chosen", lambda *drawn: (node, steps))
    assert not broken(played("0", ms=ms, only_conversations=True))
