"""A Hypothesis state machine that drives the pair: producers and readers with operations in flight, faults that begin
and end, and time that passes by milliseconds, by events, or until a condition.

Two uses. :func:`batch` only generates: a violation is data, and delta-debugging shrinks it (in tens of runs instead of
Hypothesis's thousands). :func:`machine` is an ordinary state machine class for a test suite: it raises, and Hypothesis
shrinks and remembers.

In a lab that is not deterministic programs are paced (:mod:`pairproof.harness.search.pacing`). Draws depend there only
on earlier draws, since Hypothesis compares programs. So :func:`play` draws and executes a single program, determined by
the seed and its number: several processes can play in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Any, ClassVar

import hypothesis
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from ..errors import LabError, UsageError
from ..judging.verdict import Verdict
from ..ports import Lab, Session, Target
from ..ports.links import CanCutLink, CanShapeLink
from ..ports.timing import POINTS
from ..renamed import drawn_as
from ..system import System
from ..trials import resolve
from ..trials.abilities import Hosted
from ..trials.interpreter import Interpreter, Laws, broken_off, conclude
from ..trials.operation import Operation
from ..trials.schedule import Args, Op, Schedule
from ..trials.schedule_json import check_op
from ..trials.trial import Trial, not_played
from . import pacing, swarm
from .strategies import arguments, drawn_settings, fault_args

STEPS = 14
DRAWN_ONLY = 5
"""Programs that :func:`play` draws before the one that it executes. Hypothesis begins every run with the simplest
program, and later draws must differ from that early: the second one always has a name server.
"""
BATCH = 40
MAX_RUNS = 4
OF_LINKS = {"shape": (CanShapeLink,), "trouble": (CanShapeLink, CanCutLink)}
"""The abilities that rules for link faults need."""


class PairMachine(RuleBasedStateMachine):
    """The rules; :func:`machine` makes a subclass with the lab, the faults, and the receiver of trials."""

    lab: ClassVar[Lab]
    target: ClassVar[Target]
    system: ClassVar[System]
    laws: ClassVar[Laws | None]
    seed: ClassVar[str]
    on_trial: ClassVar[Callable[[Trial], None]]
    on_failure: ClassVar[Callable[[Exception], None] | None] = None
    """Receives the error of a trial that did not end; without it the error goes to Hypothesis, which executes the
    program again.
    """
    executes: ClassVar[Callable[[], bool]] = staticmethod(lambda: True)
    """Whether the next program is executed, and not only drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.begun: list[str] = []
        """Faults that rules began and did not end."""
        self.pace: pacing.Pace | None = None
        self.did: set[str] = set()
        self.interpreter: Interpreter | None = None
        self.settings: Args = {}

    def act(self, do: str, args: Args) -> None:
        check_op(do, args)
        self.did.add(do)
        op = Op(do, self.system.within(args, self.settings))
        for each in (op,) if self.pace is None else self.pace.fit(op):
            self.ops.append(each)
            if self.interpreter is not None:
                try:
                    self.interpreter.do(each)
                except BaseException as why:
                    self._break_off(self.interpreter.session, why)

    def schedule(self) -> Schedule:
        return Schedule(self.settings, self.seed, tuple(self.ops))

    def _break_off(self, session: Session, why: BaseException) -> None:
        """End the trial here, without judging it."""
        self.interpreter = None
        session.close()
        if isinstance(why, LabError):
            why.trial = broken_off(session, self.schedule(), 0, "machine")
        self._handle_end(why)

    def _handle_end(self, why: BaseException) -> None:
        """Handle an early end: a refusal is passed on like a trial."""
        received = type(self).on_failure
        if isinstance(why, UsageError):
            type(self).on_trial(not_played("machine", self.schedule(), why))
        elif received is None or not isinstance(why, Exception):
            raise why
        else:
            received(why)

    def active(self) -> list[str]:
        """Names of the current faults; in real-time labs, of those that should be active."""
        if self.pace is not None:
            return self.begun
        return [each.fault.name for each in self.interpreter.active] if self.interpreter is not None else []

    def begin(self, args: Args) -> None:
        """Begin a fault; if too many are active, end the oldest."""
        if len(self.active()) >= swarm.FAULT_BUDGET:
            self.end(self.active()[0])
        self.begun.append(str(args["name"]))
        self.act("fault", args)

    def begin_and_use(self, args: Args) -> None:
        self.begin(args)
        self.use()

    def use(self) -> None:
        """Use every link. Runs after a link fault, and at the end of a program with active faults, to give these time
        and traffic to take effect on.
        """
        for op in self.system.traffic:
            self.act(op.do, op.args)

    def end(self, name: str) -> None:
        if name in self.begun:
            self.begun.remove(name)
        self.act("heal", {"name": name})

    def open(self, settings: Args) -> None:
        if not self.lab.deterministic:
            settings = self.system.short(settings)
            self.pace = pacing.Pace(Hosted(self.lab, self.target), settings)
        self.settings = settings = resolve.fitted(self.target, settings)
        if not type(self).executes():
            return
        try:
            session = self.lab.open(self.target, self.target.settings(settings), self.seed)
        except Exception as why:
            self._handle_end(why)
            return
        self.interpreter = Interpreter(session, resolve.faults())
        try:
            session.warm_up()
        except BaseException as why:
            self._break_off(session, why)

    @rule(ms=st.sampled_from(swarm.GAPS_MS))
    def advance(self, ms: int) -> None:
        self.act("advance", {"ms": ms})

    @rule(events=st.integers(1, 25))
    def step(self, events: int) -> None:
        self.act("step", {"events": events})

    @precondition(lambda self: bool(self.active()))
    @rule(data=st.data())
    def heal(self, data: st.DataObject) -> None:
        self.end(data.draw(st.sampled_from(self.active()), label="fault"))

    def teardown(self) -> None:
        if self.active():
            self.use()
        if self.interpreter is None:
            return
        session = self.interpreter.session
        try:
            trial = conclude(self.lab, self.target, self.interpreter, self.schedule(), 0, "machine", self.laws)
        except BaseException as why:
            self._break_off(session, why)
            return
        session.close()
        type(self).on_trial(trial)


def _operation_rules(hosted: Hosted) -> dict[str, Any]:
    return {drawn_as(name): _doing(each) for name, each in resolve.doable(hosted).items()}


def _doing(operation: Operation) -> Any:
    drawn = operation.drawn
    assert drawn is not None

    def makes_sense(self: PairMachine) -> bool:
        return (not drawn.whole or self.system.is_whole(self.settings)) and (not drawn.after or drawn.after in self.did)

    def do(self: PairMachine, each: list[Args]) -> None:
        for args in each:
            self.act(operation.name, args)

    # Hypothesis switches rules on and off by their functions' names.
    do.__name__ = drawn_as(operation.name)
    burst = st.lists(arguments(operation), min_size=1, max_size=drawn.burst)
    return precondition(makes_sense)(rule(each=burst)(do))


def _start(system: System) -> Any:
    def start(self: PairMachine, settings: Args, opened: bool) -> None:
        self.open(settings)
        for op in system.opening(self.settings) if opened else ():
            self.act(op.do, op.args)

    return initialize(settings=drawn_settings(system), opened=st.sampled_from((True, True, False)))(start)


def _fault_rules(hosted: Hosted, system: System) -> dict[str, Any]:
    """Rules for the faults that the lab can inject. Link faults also have their own rules, since links carry
    replication.
    """
    faults = resolve.drawn(hosted).values()
    of_a_pair = fault_args(faults, system.of_a_pair)

    @precondition(lambda self: self.system.is_whole(self.settings))
    @rule(args=fault_args(faults, tuple))
    def fault_between_all(self: PairMachine, args: Args) -> None:
        self.begin(args)

    @precondition(lambda self: any(resolve.operations()[name].is_send for name in self.did))
    @rule(args=of_a_pair, node=st.sampled_from(system.nodes), point=st.sampled_from(POINTS), nth=st.integers(1, 4))
    def arm(self: PairMachine, args: Args, node: str, point: str, nth: int) -> None:
        self.act("arm", {"node": node, **args, "point": point, "nth": nth})

    rules = {
        "fault": _beginning("fault", of_a_pair, PairMachine.begin),
        "fault_between_all": fault_between_all,
        "arm": arm,
    }
    for name, abilities in OF_LINKS.items():
        of_links = [each for each in faults if each.needs in abilities]
        if of_links:
            rules[name] = _beginning(name, fault_args(of_links, system.of_a_pair), PairMachine.begin_and_use)
    return rules


def _beginning(name: str, args: st.SearchStrategy[Args], how: Callable[[PairMachine, Args], None]) -> Any:
    def begin(self: PairMachine, args: Args) -> None:
        how(self, args)

    # Hypothesis switches rules on and off by their functions' names.
    begin.__name__ = name
    return rule(args=args)(begin)


def machine(
    lab: Lab,
    target: Target,
    laws: Laws | None = None,
    *,
    seed: str = "machine",
    on_trial: Callable[[Trial], None] | None = None,
) -> type[PairMachine]:
    """A state machine class for this lab and target.

    With ``on_trial`` every finished trial is passed on and nothing raises; without it, a violation raises
    AssertionError with the law, the violation, and the program.
    """
    hand_over = staticmethod(_raise_for if on_trial is None else on_trial)
    system = resolve.system_of(target)
    about = {"lab": lab, "target": target, "system": system, "laws": laws, "seed": seed, "on_trial": hand_over}
    hosted = Hosted(lab, target)
    rules = {"start": _start(system), **_operation_rules(hosted), **_fault_rules(hosted, system)}
    return type("Pair", (PairMachine,), about | rules)


def _raise_for(trial: Trial) -> None:
    if trial.refused:
        raise UsageError(trial.refused)
    for each in trial.judgements:
        if each.verdict is Verdict.VIOLATED:
            program = "\n  ".join(trial.schedule.program())
            raise AssertionError(f"{each.law}: {each.violations[0].text}\n  {program}")


def batch(lab: Lab, target: Target, laws: Laws | None, seed: str, number: int, count: int = BATCH) -> list[Trial]:
    """Generate and execute the ``count`` programs of the batch of this number, in a deterministic lab.

    Hypothesis may end early; then it is started again, a few times at most.
    """
    received: list[Trial] = []
    found = machine(lab, target, laws, seed=seed, on_trial=received.append)
    for again in range(MAX_RUNS):
        _generate(found, f"{seed}/machine/{number}{f'/{again}' if again else ''}", count - len(received))
        if len(received) >= count:
            break
    return received[:count]


def play(lab: Lab, target: Target, laws: Laws | None, seed: str, number: int) -> Trial:
    """Draw and execute the program of this number, in a lab that is not deterministic.

    LabError if the lab fails; its ``trial`` has the events until then.
    """
    received: list[Trial] = []
    failures: list[Exception] = []
    found: Any = machine(lab, target, laws, seed=f"{seed}/{number}", on_trial=received.append)
    found.on_failure = staticmethod(failures.append)
    found.executes = staticmethod(chain(repeat(False, DRAWN_ONLY), (True,), repeat(False)).__next__)
    _generate(found, f"{seed}/machine/{number}", DRAWN_ONLY + 1)
    if failures:
        raise failures[0]
    (trial,) = received
    return trial


def _generate(found: Any, seed: str, count: int) -> None:
    settings = hypothesis.settings(
        max_examples=count,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize=False,
        phases=(hypothesis.Phase.generate,),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    with _same_draws_everywhere():
        run_state_machine_as_test(hypothesis.seed(seed)(found), settings=settings)


@contextmanager
def _same_draws_everywhere() -> Iterator[None]:
    """Hypothesis likes to draw numbers from the sources of all loaded modules, so a seed would give another program
    beside other tests. It has no setting for this.
    """
    drawing: Any = providers.HypothesisProvider
    theirs = vars(drawing)["_local_constants"]
    providers.CONSTANTS_CACHE.cache.clear()
    drawing._local_constants = Constants()
    try:
        yield
    finally:
        drawing._local_constants = theirs
        providers.CONSTANTS_CACHE.cache.clear()
