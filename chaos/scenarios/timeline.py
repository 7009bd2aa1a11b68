"""Compiles one case of a scenario into a schedule: its events, merged and sorted by time, with waits between.

The same schedule runs in every lab. At one moment faults end and begin first, in the order of the file, then loads
follow; a step that waits for the n-th send comes right after it. Loads are paused during an ``await``.
"""

from operator import attrgetter
from typing import NamedTuple

from ...harness.errors import UsageError
from ...harness.trials import resolve
from ...harness.trials.schedule import Op, Schedule
from ...harness.trials.schedule_json import MAX_OPS
from .scenario import Case, Step

MAX_LENGTH_MS = 600_000
FAULTS_FIRST, LOADS_NEXT, COUNTED_LAST = range(3)


class Moment(NamedTuple):
    at_ms: int
    rank: int
    op: Op


class Span(NamedTuple):
    step: Step
    begin_ms: int
    end_ms: int


def compiled(case: Case, seed: str) -> Schedule:
    """The schedule; UsageError (``line N: ...``) for a contradictory or too large timeline."""
    moments = _loads(case)
    for step, begin, _ in spans(case):
        counted = step.when.sends is not None
        moments.append(Moment(begin, COUNTED_LAST if counted else FAULTS_FIRST, step.op))
        if step.for_ms is not None:
            moments.append(Moment(begin + step.for_ms, FAULTS_FIRST, Op("heal", {"name": step.op.args["name"]})))
    # Stable: operations at one moment stay in the order of the file.
    moments.sort(key=attrgetter("at_ms", "rank"))
    ops: list[Op] = []
    now = 0
    for each in (*moments, Moment(length_ms(case), LOADS_NEXT, Op("advance", {"ms": 0}))):
        if each.at_ms > now:
            ops.append(Op("advance", {"ms": each.at_ms - now}))
            now = each.at_ms
        if each.op.do != "advance":
            ops.append(each.op)
    if len(ops) > MAX_OPS:
        raise UsageError(f"a case makes {len(ops)} operations, {MAX_OPS} are the most: let loads come less often")
    return Schedule(case.settings, seed, tuple(ops))


def length_ms(case: Case) -> int:
    """Length of a case, without the waits of an ``await``; UsageError if that is too long."""
    ends = [each.end_ms for each in _spans(case)] + [each.until_ms for each in case.loads] + [case.lasts_ms]
    if max(ends) > MAX_LENGTH_MS:
        raise UsageError(f"a case lasts {max(ends) // 1000} s, {MAX_LENGTH_MS // 1000} s are the most")
    return max(ends)


def spans(case: Case) -> list[Span]:
    """The steps' times, in the order of the file."""
    end = length_ms(case)
    found = _spans(case)
    lasting = [number for number, each in enumerate(found) if each.step.op.do == "fault" and each.step.for_ms is None]
    for heal in sorted((each for each in found if each.step.op.do == "heal"), key=attrgetter("begin_ms")):
        name = heal.step.op.args["name"]
        begun = [
            each
            for each in lasting
            if found[each].step.op.args["name"] == name and found[each].begin_ms <= heal.begin_ms
        ]
        if not begun:
            raise UsageError(f"line {heal.step.line}: heal: no {name!r} without an end is active then")
        oldest = min(begun, key=lambda each: found[each].begin_ms)
        lasting.remove(oldest)
        found[oldest] = found[oldest]._replace(end_ms=heal.begin_ms)
    for each in lasting:
        found[each] = found[each]._replace(end_ms=end)
    _check_order(found)
    return found


def _spans(case: Case) -> list[Span]:
    sends = sorted(each.at_ms for each in _loads(case) if resolve.operations()[each.op.do].is_send)
    found: list[Span] = []
    for step in case.steps:
        begin = _begin(step, found[-1].end_ms if found else 0, sends)
        found.append(Span(step, begin, begin + (step.for_ms or 0)))
    return found


def _begin(step: Step, before_ms: int, sends: list[int]) -> int:
    when = step.when
    if when.at_ms is not None:
        return when.at_ms
    if when.after_ms is not None:
        return before_ms + when.after_ms
    assert when.sends is not None
    if when.sends > len(sends):
        raise UsageError(f"line {step.line}: after_sends: {when.sends}: the workload sends only {len(sends)}")
    return sends[when.sends - 1]


def _check_order(found: list[Span]) -> None:
    """A heal ends the oldest fault of its name, so of two that overlap the first must end first."""
    faults = [each for each in found if each.step.op.do == "fault"]
    for one in faults:
        for other in faults:
            alike = one.step.op.args["name"] == other.step.op.args["name"]
            if alike and one.begin_ms < other.begin_ms < other.end_ms < one.end_ms:
                name = one.step.op.args["name"]
                raise UsageError(
                    f"line {other.step.line}: two {name!r} overlap and the later one ends first; "
                    "let them end in the order in which they begin"
                )


def _loads(case: Case) -> list[Moment]:
    count = sum(-(-(each.until_ms - each.from_ms) // each.every_ms) for each in case.loads)
    if count > MAX_OPS:
        raise UsageError(f"the workload makes {count} operations, {MAX_OPS} are the most: let loads come less often")
    found = [
        Moment(at, LOADS_NEXT, each.op)
        for each in case.loads
        for at in range(each.from_ms, each.until_ms, each.every_ms)
    ]
    found.sort(key=attrgetter("at_ms"))
    return found
