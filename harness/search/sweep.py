"""The exhaustive sweep: single faults, at every event boundary of a warm pair with sends in flight.

A base program starts its sends at once. The fault begins after the k-th following event, for every k until the pair is
at rest, and one more send happens during the fault. The system defines the faults and settings
(:class:`pairproof.harness.system.Swept`). Complete when it ends; with a time limit it is a seeded sample.

A real-time lab, which cannot stop after an event, gets every fault once, right after the sends began: the system's
first mode, with all listed arguments, before the others.

Left out: two faults at once, which other searches draw.
"""

from collections.abc import Iterator
from itertools import chain, product
from random import Random
from typing import Any

from ..ports import Fault, Lab, Target
from ..ports.timing import CanStep
from ..system import Mode, System
from ..trials import resolve
from ..trials.abilities import Hosted, part
from ..trials.interpreter import Interpreter
from ..trials.schedule import Args, Op, Schedule
from .pacing import paced

MAX_BOUNDARIES = 500
SETTLED_MS = 700
"""Longer than a flush interval, so that the effects of a flush belong to the program."""


def variants(system: System, fault: Fault, mode: Mode) -> Iterator[Args]:
    """The combinations of a fault's listed argument values that this mode sweeps."""
    if fault.name in system.swept.at_any_time:
        return
    if "master" not in mode.places and all(system.names.isdisjoint(values) for values in fault.arguments.values()):
        return
    for values in product(*(_values(system, mode, *each) for each in fault.arguments.items())):
        yield {"name": fault.name, **dict(zip(fault.arguments, values, strict=True))}


def _values(system: System, mode: Mode, name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not system.names.isdisjoint(values):
        return tuple(each for each in values if each in mode.places)
    if name in system.swept.first_only or (type(values[0]) is int and not mode.every_number):
        return values[:1]
    return values


def boundaries(lab: Lab, target: Target, settings: Args) -> int:
    """The number of events after the base program until the pair is at rest; 0 if a lab cannot step."""
    if not lab.deterministic:
        return 0
    session = lab.open(target, target.settings(resolve.fitted(target, settings)), "sweep")
    try:
        steps: CanStep | None = part(session, CanStep)
        if steps is None:
            return 0
        session.warm_up()
        interpreter = Interpreter(session, resolve.faults())
        for op in resolve.system_of(target).swept.program(settings):
            interpreter.do(op)
        return steps.step(MAX_BOUNDARIES, SETTLED_MS)
    finally:
        session.close()


def schedules(lab: Lab, target: Target, seed: str) -> list[Schedule]:
    """The whole sweep, shuffled by the seed so that any prefix is a fair sample; in a real-time lab mode by mode,
    without duplicates after pacing.
    """
    system, dice = resolve.system_of(target), Random(f"{seed}/sweep")
    modes = [_swept(lab, target, seed, mode) for mode in system.swept.modes]
    if lab.deterministic:
        found = [system.listed(each, number) for number, each in enumerate(chain.from_iterable(modes))]
        dice.shuffle(found)
        return found
    for mode in modes:
        dice.shuffle(mode)
    fitted = (paced(Hosted(lab, target), each) for each in chain.from_iterable(modes))
    first: dict[str, Schedule] = {}
    for each in fitted:
        first.setdefault(f"{resolve.fitted(target, each.settings)} {each.program()}", each)
    return list(first.values())


def _swept(lab: Lab, target: Target, seed: str, mode: Mode) -> list[Schedule]:
    system, settings, found = resolve.system_of(target), mode.settings, []
    swept = system.swept
    faults = [args for fault in resolve.drawn(Hosted(lab, target)).values() for args in variants(system, fault, mode)]
    for boundary in range(boundaries(lab, target, settings) + 1):
        begun = (*swept.program(settings), Op("step", {"events": boundary}))
        for args in faults:
            name = str(args["name"])
            ops = (*begun, Op("fault", args), SOON, *swept.during, *LAST, *swept.sequels.get(name, ()))
            also = (swept.also_under[name],) if name in swept.also_under else ()
            found += [Schedule(under, seed, ops) for under in (settings, *({**settings, **each} for each in also))]
            if name in swept.brief:
                over = (Op("fault", args), Op("heal", {"name": name}), *swept.program(settings), *LAST)
                found.append(Schedule({**settings, **swept.quick}, seed, (*begun, *over)))
    return found


LAST = (Op("advance", {"ms": 4_000}),)
"""Longer than slaveTimeout."""
SOON = Op("advance", {"ms": 50})
