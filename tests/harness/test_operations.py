"""An operation is one file: searches, shrinking, schedules and scenarios take it from there, a stranger's too."""

from __future__ import annotations

from typing import Protocol

import pytest

from pairproof.chaos.scenarios import reading, timeline
from pairproof.harness import registry
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Recorder
from pairproof.harness.ports import Target
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.search import machine, shrink
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import Interpreter
from pairproof.harness.trials.operation import Drawn, Operation, Running, number, text, truth
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.schedule_json import from_json

SIM = resolve.lab("sim")
REFERENCE = resolve.target("reference")


class CanAsk(Protocol):
    """A question can be asked."""

    def ask(self, times: int, loudly: bool) -> None: ...


class Ask(Operation):
    """Somebody asks."""

    name = "ask"
    needs = CanAsk
    arguments = {
        "times": number(9, (1, 2, 9), (1, 2), usual=2),
        "loudly": truth(0.5, False, False),
        "whom": text(("a",)),
    }
    drawn = Drawn(after="send", burst=2)
    is_load = True

    def do(self, running: Running, args: Args) -> None:
        running.session.ask(args["times"], args["loudly"])


class AskingSession(type(SIM.open(REFERENCE, REFERENCE.settings({}), "s"))):  # type: ignore[misc]
    """The simulation's, which can be asked."""

    asked: list[tuple[int, bool]]

    def ask(self, times: int, loudly: bool) -> None:
        self.asked.append((times, loudly))


class AskingLab(type(SIM)):  # type: ignore[misc]
    """The simulation, whose sessions can be asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, bool]] = []

    def parts(self, target: Target | None) -> tuple[type, ...]:
        return (AskingSession, *super().parts(target))

    def open(self, target: Target, settings: Args, seed: str) -> AskingSession:
        session = super().open(target, settings, seed)
        session.__class__ = AskingSession
        session.asked = self.asked
        return session  # type: ignore[no-any-return]


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**resolve.operations(), "ask": Ask()}
    monkeypatch.setattr(resolve, "operations", lambda: known)


def asks(schedule: Schedule) -> int:
    return sum(op.do == "ask" for op in schedule.ops)


@pytest.mark.usefixtures("stranger")
def test_searches_draw_a_strangers_operation_where_the_lab_can_do_it_and_nowhere_else() -> None:
    lab = AskingLab()
    for search in (swarm, cluster):
        assert sum(asks(search.schedule("s", each, lab)) for each in range(100)) > 3
        assert sum(asks(search.schedule("s", each, SIM)) for each in range(100)) == 0
    drawn = sum(asks(each.schedule) for each in machine.batch(lab, REFERENCE, (), "u", 0))
    assert drawn == len(lab.asked) > 0 and {times for times, _ in lab.asked} <= {1, 2, 9}


@pytest.mark.usefixtures("stranger")
def test_it_is_read_bounded_and_made_simpler() -> None:
    asked = Op("ask", {"times": 9, "loudly": True, "whom": "a"})
    schedule = Schedule({}, "s", (asked,))
    assert from_json(schedule.to_json()) == schedule
    with pytest.raises(UsageError, match=r"operation 1 \(ask\): times must be 9 at most, not 10"):
        from_json(schedule._replace(ops=(Op("ask", {**asked.args, "times": 10}),)).to_json())
    small = shrink.shrink(SYSTEM, schedule, lambda each: asks(each) == 1)
    assert small.ops == (Op("ask", {"times": 1, "loudly": False, "whom": "a"}),)


@pytest.mark.usefixtures("stranger")
def test_a_scenario_may_name_it_as_a_step_and_as_a_load() -> None:
    found = reading.from_text(
        "name: asking\nabout: Somebody asks.\nexpect: {}\nworkload:\n- ask: {every: 1s, for: 2s, whom: a}\n"
        "timeline:\n- {at: 500ms, ask: {times: 1, whom: b}}\n",
        "asking",
    )
    ops = [op for op in timeline.compiled(found.cases[0], "s").ops if op.do == "ask"]
    assert [(op.args["times"], op.args["whom"]) for op in ops] == [(2, "a"), (1, "b"), (2, "a")]


@pytest.mark.usefixtures("stranger")
def test_a_lab_that_cannot_do_it_skips_it() -> None:
    class Idle:
        recorder = Recorder()

    interpreter = Interpreter(Idle(), {})  # type: ignore[arg-type]
    interpreter.do(Op("ask", {"times": 1, "loudly": True, "whom": "a"}))
    (said,) = interpreter.skipped
    assert said.startswith("ask: not possible here: it requires that ") and "CanAsk" not in said


def test_each_is_registered_under_its_name_and_says_what_it_does() -> None:
    for name in registry.own("operations"):
        operation = resolve.operations()[name]
        assert operation.name == name and (operation.__doc__ or "").strip()
        if operation.drawn is not None:
            assert all(each.drawn for each in operation.arguments.values()), name
