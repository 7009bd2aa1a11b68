"""Shrink a failing schedule: delta-debugging over its operations, then simpler arguments and settings.

Every candidate is executed and judged; it counts only if the *same* law is violated again. Bounded by a number of runs.
The result is 1-minimal over operations unless the bound was reached.
"""

from collections.abc import Callable, Collection, Iterator

from ..errors import UsageError
from ..system import System
from ..trials import resolve
from ..trials.schedule import Args, Op, Scalar, Schedule

MAX_RUNS = 1_000
MAX_EVENTS_OF_AN_OP = 12
"""The largest number of events that dropping an operation removes from a step."""

StillFails = Callable[[Schedule], bool]


class _Budget:
    def __init__(self, fails: StillFails, runs: int) -> None:
        self.fails = fails
        self.left = runs

    def __call__(self, candidate: Schedule) -> bool:
        if self.left <= 0:
            return False
        self.left -= 1
        try:
            return self.fails(candidate)
        except UsageError:
            # Incompatible settings or operations.
            return False


def shrink(
    system: System, schedule: Schedule, fails: StillFails, own: Collection[str] = (), max_runs: int = MAX_RUNS
) -> Schedule:
    """The smallest schedule found that still fails; ``schedule`` itself if nothing smaller does.

    ``own``: names of the user's settings, which do not change.
    """
    check = _Budget(fails, max_runs)
    before = None
    while before != schedule and check.left > 0:
        before = schedule
        schedule = _fewer_ops(schedule, check)
        schedule = _fewer_ops_and_steps(schedule, check)
        schedule = _simpler(system, schedule, check, own)
    return schedule


def _fewer_ops(schedule: Schedule, fails: StillFails) -> Schedule:
    size = max(1, len(schedule.ops) // 2)
    while size >= 1:
        at = 0
        while at < len(schedule.ops):
            candidate = schedule._replace(ops=schedule.ops[:at] + schedule.ops[at + size :])
            if fails(candidate):
                schedule = candidate
            else:
                at += size
        size //= 2
    return schedule


def _fewer_ops_and_steps(schedule: Schedule, fails: StillFails) -> Schedule:
    """Drop an operation together with the events that it caused before a ``step`` ends.

    A fault that must begin at one exact moment moves if anything before it is dropped, so the step is shortened, too.
    """
    at = 0
    while at < len(schedule.ops):
        candidates = _without(schedule, at) if schedule.ops[at].do != "step" else ()
        smaller = next((each for each in candidates if fails(each)), None)
        if smaller is None:
            at += 1
        else:
            schedule = smaller
    return schedule


def _without(schedule: Schedule, at: int) -> Iterator[Schedule]:
    left = schedule.ops[:at] + schedule.ops[at + 1 :]
    for number, op in enumerate(left):
        if op.do == "step":
            events = int(op.args["events"])
            for fewer in range(max(0, events - MAX_EVENTS_OF_AN_OP), events):
                yield schedule._replace(ops=(*left[:number], Op("step", {"events": fewer}), *left[number + 1 :]))
            return


def _simpler(system: System, schedule: Schedule, fails: StillFails, own: Collection[str]) -> Schedule:
    defaults = {name: value for name, value in _defaults(system).items() if name not in own}
    for settings in _fewer(schedule.settings, defaults):
        candidate = system.under(schedule, system.fit(settings, own))
        if len(candidate.settings) < len(schedule.settings) and fails(candidate):
            schedule = candidate
    drawn = [name for name, value in schedule.settings.items() if _is_drawn(system, defaults, name, value)]
    for name in (each for each in drawn if each not in own):
        for settings in _simpler_settings(schedule.settings, name, defaults):
            candidate = system.under(schedule, system.fit(settings, own))
            shorter = len(candidate.settings) <= len(schedule.settings) and candidate.settings != schedule.settings
            if shorter and fails(candidate):
                schedule = candidate
                break
    for number in range(len(schedule.ops)):
        for args in _simpler_args(schedule.ops[number]):
            op = Op(schedule.ops[number].do, args)
            candidate = schedule._replace(ops=(*schedule.ops[:number], op, *schedule.ops[number + 1 :]))
            if fails(candidate):
                schedule = candidate
                break
    return schedule


def _defaults(system: System) -> Args:
    """Optional settings. One with a single value defines the type of trial, so it stays."""
    return {name: values[0] for settings in system.settings for name, values in settings.items() if len(values) > 1}


def _is_drawn(system: System, defaults: Args, name: str, value: Scalar) -> bool:
    """Whether searches draw this value for it, among others."""
    return name in defaults or value in system.varied.get(name, ())


def _fewer(settings: Args, defaults: Args) -> Iterator[Args]:
    """Without most of the settings at once: all that the searches draw, and all with their default."""
    yield {name: value for name, value in settings.items() if name not in defaults}
    yield {name: value for name, value in settings.items() if value != defaults.get(name)}


def _simpler_settings(settings: Args, name: str, defaults: Args) -> Iterator[Args]:
    """Without one setting, or with its simplest value."""
    yield {each: value for each, value in settings.items() if each != name}
    # It may be gone already, together with another one.
    if name in defaults and settings.get(name, defaults[name]) != defaults[name]:
        yield {**settings, name: defaults[name]}


def _simpler_args(op: Op) -> Iterator[Args]:
    arguments = resolve.operations()[op.do].arguments
    for name, value in op.args.items():
        for simpler in arguments[name].simpler if name in arguments else ():
            if simpler == value:
                break
            if isinstance(value, int) and isinstance(simpler, int) and not isinstance(value, bool) and simpler > value:
                break
            yield {**op.args, name: simpler}
