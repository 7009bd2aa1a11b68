"""The one interpreter of schedules: execute a schedule in any lab, end every fault, let the pair converge, judge.

An operation that the lab lacks an ability for, or cannot do on this machine (:class:`pairproof.harness.errors.Unable`),
is skipped and the reason kept; a skipped fault never counts as passed. A fault that the lab failed to begin is recorded
as ended at once, so laws excuse the disturbance of the attempt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from reprlib import repr as short
from typing import Any, NamedTuple

from ..errors import LabError, PairproofError, Unable, UsageError
from ..judging import deviations
from ..judging import judge as judging
from ..judging.deviations import Deviation
from ..judging.law import Law
from ..judging.verdict import Judgement, Verdict
from ..ports import AnyText, Effect, Fault, HasConfigurations, HasLogs, Lab, Session, Target
from ..ports.timing import CanArm, CanArmCall
from . import resolve
from .abilities import part
from .schedule import Args, Op, Schedule
from .trial import FaultOutcome, Trial

MAX_ACTIVE_FAULTS = 64
MAX_ARGUMENT = 2**31
MAX_TEXT_CHARS = 255
"""Longest text argument without listed values: image names are not longer."""
Laws = tuple[type[Law], ...]


class Active(NamedTuple):
    op: int
    fault: Fault
    args: Args
    began_ns: int
    able: object
    """The part of the session that has the needed ability."""
    handle: Any


class Interpreter:
    """Executes operations in one session. Use :func:`run_trial` for whole schedules."""

    def __init__(self, session: Session, faults: Mapping[str, Fault]) -> None:
        self.session = session
        self.able: Any = session
        self.faults = faults
        self.active: list[Active] = []
        self.outcomes: list[FaultOutcome] = []
        self.skipped: list[str] = []
        self.next_fault = 0
        self._operations = resolve.operations()

    def do(self, op: Op) -> None:
        """Execute one operation, or skip it if this lab or machine cannot do it."""
        self.session.recorder.operations += 1
        operation = self._operations[op.do]
        if operation.carries_fault:
            # Whether it begins depends on the fault, which is checked first.
            operation.do(self, op.args)
            return
        able = self.session if operation.needs is None else self._part(operation.needs, op.do)
        if able is not None:
            self.able = able
            try:
                operation.do(self, op.args)
            except Unable as why:
                self._skip(f"{op.do}: {why}")

    def begin(self, args: Args) -> Active | None:
        """Begin the fault ``args["name"]``; the other arguments override the fault's defaults. None if it did not.

        UsageError for an unknown fault, or an argument that it does not have or accept.
        """
        fault = self._fault(str(args["name"]))
        check_arguments(fault, args)
        if len(self.active) >= MAX_ACTIVE_FAULTS or (able := self._part(fault.needs, fault.name)) is None:
            return None
        completed = {key: args.get(key, values[0]) for key, values in fault.arguments.items()}
        op = self.next_fault
        self.next_fault += 1
        session = self.session
        began = session.now()
        session.recorder.add(
            began, "fault", completed.get("node"), None, completed.get("link"), None, None, op, fault.name, "on",
            detail=json.dumps(completed),
        )  # fmt: skip
        try:
            handle = fault.start(able, completed)
        except Unable as why:
            self._skip(f"{fault.name}: {why}")
            self._record_end(op, fault, completed, 0, {"unable": str(why)})
            return None
        except PairproofError:
            raise
        except Exception as why:
            raise _broken(fault, why) from why
        begun = Active(op, fault, completed, began, able, handle)
        self.active.append(begun)
        return begun

    def end_oldest(self, name: str) -> None:
        """End the oldest active fault of that name, if there is one. UsageError for an unknown fault."""
        self._fault(name)
        for each in self.active:
            if each.fault.name == name:
                self.active.remove(each)
                self._end(each)
                return

    def heal(self) -> None:
        """Remove triggers and end every fault, oldest first."""
        if (able := part(self.session, CanArm)) is not None:
            able.disarm()
        while self.active:
            self._end(self.active.pop(0))
        self.session.recorder.add(self.session.now(), "mark", f="heal")

    def _end(self, each: Active) -> None:
        try:
            effect: Effect = each.fault.stop(each.able, each.handle)
        except PairproofError:
            raise
        except Exception as why:
            raise _broken(each.fault, why) from why
        bit = sum(1 for amount in effect.values() if amount)
        ended = self._record_end(each.op, each.fault, each.args, bit, effect)
        self.outcomes.append(FaultOutcome(each.op, each.fault.name, each.args, each.began_ns, ended, bit, dict(effect)))

    def _record_end(self, op: int, fault: Fault, args: Args, bit: int, did: Mapping[str, object]) -> int:
        """Record the end of a fault, or that it never began; returns the time."""
        ended = self.session.now()
        self.session.recorder.add(
            ended, "fault", args.get("node"), None, args.get("link"), None, None, op, fault.name, "off", value=bit,
            detail=json.dumps(dict(sorted(did.items()))),
        )  # fmt: skip
        return ended

    def arm(self, args: Args) -> None:
        """Begin a fault when a node passes a point. Checks the fault now."""
        armed = self._armed(args)
        if (able := self._part(CanArm, "arm")) is not None:
            try:
                able.arm(args["node"], args["point"], args["nth"], lambda: self.begin(armed))
            except Unable as why:
                self._skip(f"arm: {why}")

    def arm_call(self, args: Args) -> None:
        """Begin a fault when a node passes a point, and end it with the call that passes it."""
        armed = self._armed(args)
        if (able := self._part(CanArmCall, "transient")) is None:
            return
        begun: list[Active | None] = []

        def over() -> None:
            for each in begun:
                if each in self.active:
                    self.active.remove(each)
                    self._end(each)

        able.arm_call(args["node"], args["point"], args["nth"], lambda: begun.append(self.begin(armed)), over)

    def _armed(self, args: Args) -> Args:
        """The armed fault's arguments; checked now, since its trigger may never come."""
        fault = self._fault(str(args["name"]))
        left = {key: value for key, value in args.items() if key not in ("point", "nth")}
        if "node" not in fault.arguments:
            left.pop("node")
        check_arguments(fault, left)
        return left

    def _fault(self, name: str) -> Fault:
        found = self.faults.get(name)
        if found is None:
            raise UsageError(f"unknown fault {short(name)}; valid: {', '.join(self.faults)}")
        return found

    def _part(self, ability: type, what: str) -> Any:
        """The part of the session that has the ability; None, and the reason kept, if there is none."""
        found = part(self.session, ability)
        if found is None:
            self._skip(f"{what}: not possible here: {resolve.takes_that([ability])}")
        return found

    def _skip(self, reason: str) -> None:
        if reason not in self.skipped:
            self.skipped.append(reason)


def _broken(fault: Fault, why: Exception) -> LabError:
    """The error of a fault's own code. An armed fault begins within a node's step but is not the node's error."""
    return LabError(f"fault {fault.name} failed: {type(why).__name__}: {' '.join(str(why).split())}")


def check_arguments(fault: Fault, args: Args) -> None:
    """UsageError, with the valid values, for an argument that the fault does not have or a value that it does not
    accept.

    A text must be among the fault's listed values, unless one of these stands for any text. A number must be from 0 to
    :data:`MAX_ARGUMENT`. ``name`` is the fault's name. Costs about a microsecond, in every trial of every search.
    """
    listed = fault.arguments
    for key, value in args.items():
        if key == "name":
            continue
        values = listed.get(key)
        if values is None:
            raise UsageError(f"fault {fault.name!r} has no argument {short(key)}; valid: {', '.join(listed) or 'none'}")
        if value in values and type(value) is type(values[0]):
            # Nearly always true: searches draw listed values.
            continue
        if not _can_be(value, values):
            numbers = any(type(each) is int for each in values)
            valid = f"0 to {MAX_ARGUMENT}" if numbers else ", ".join(map(str, values))
            valid += f", or another text of at most {MAX_TEXT_CHARS} characters" if _takes_any_text(values) else ""
            raise UsageError(f"fault {fault.name!r}: {key} cannot be {short(value)}; valid: {valid}")


def _takes_any_text(values: Iterable[object]) -> bool:
    return any(isinstance(each, AnyText) for each in values)


def _can_be(value: object, values: Iterable[object]) -> bool:
    if isinstance(value, str) and _takes_any_text(values):
        return 0 < len(value) <= MAX_TEXT_CHARS
    # Compared by type and value, since True == 1.
    alike = [each for each in values if type(each) is type(value)]
    if type(value) is int:
        return bool(alike) and 0 <= value <= MAX_ARGUMENT
    return value in alike


def run_trial(
    lab: Lab,
    target: Target,
    schedule: Schedule,
    *,
    number: int = 0,
    origin: str = "replay",
    laws: Iterable[type[Law]] | None = None,
    known: Iterable[Deviation] | None = None,
    opened: Callable[[Session], None] = lambda session: None,
) -> Trial:
    """Execute a schedule from warm-up to the final audit and judge it by ``laws`` (default: all).

    ``known``: the deviations to sort out (default: the target's). ``opened`` gets the lab's session. LabError if the
    lab fails; its ``trial`` has the events until then.
    """
    schedule = schedule._replace(settings=resolve.under(target, schedule.settings))
    session = lab.open(target, target.settings(schedule.settings), schedule.seed)
    failed: LabError | None = None
    try:
        opened(session)
        interpreter = Interpreter(session, resolve.faults())
        session.warm_up()
        for op in schedule.ops:
            interpreter.do(op)
        return conclude(lab, target, interpreter, schedule, number, origin, laws, known)
    except LabError as why:
        failed = why
        raise
    finally:
        session.close()
        if failed is not None:
            # Closing the session completes the history.
            failed.trial = broken_off(session, schedule, number, origin)


def broken_off(session: Session, schedule: Schedule, number: int, origin: str) -> Trial:
    """The unfinished trial of a failed lab, whose session must be closed. It is not judged."""
    return Trial(number, origin, schedule, session.recorder.events, [], logs=_logs(session))


def _doubted(judgement: Judgement, why: str) -> Judgement:
    return judgement._replace(verdict=Verdict.UNKNOWN, doubt=judgement.doubt or why)


def conclude(
    lab: Lab,
    target: Target,
    interpreter: Interpreter,
    schedule: Schedule,
    number: int,
    origin: str,
    laws: Iterable[type[Law]] | None,
    known: Iterable[Deviation] | None = None,
) -> Trial:
    """Heal, converge and judge: the end of every trial."""
    session = interpreter.session
    interpreter.heal()
    session.settle()
    # Closing the session may record more: the kept events must be the judged ones.
    events = list(session.recorder.events)
    chosen = judging.laws_for(target) if laws is None else tuple(laws)
    judgements = judging.judge(events, chosen, lab.observes(target))
    judgements = deviations.sorted_out(judgements, events, deviations.of(target) if known is None else known)
    if session.recorder.dropped:
        why = f"the history was cut short: it exceeds the limit by {session.recorder.dropped} events"
        judgements = [each if each.verdict is Verdict.VIOLATED else _doubted(each, why) for each in judgements]
    outcomes, skipped = tuple(interpreter.outcomes), tuple(interpreter.skipped)
    configured_part = part(session, HasConfigurations)
    configurations = {} if configured_part is None else configured_part.configurations()
    return Trial(number, origin, schedule, events, judgements, outcomes, skipped, _logs(session), configurations)


def _logs(session: Session) -> Mapping[str, str]:
    able = part(session, HasLogs)
    return {} if able is None else able.logs()
