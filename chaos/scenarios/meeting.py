"""Whether a trial met its scenario's expectations besides the laws: counts of answers and events, in total or by phase.

A send belongs to the phase of its invocation; sends of the warm-up and the probes at the end belong to none. A step's
phases are those of its fault, found by name and arguments: a fault that a lab could not begin is found, too, with
length 0.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from ...harness.event_types.machine import Stall
from ...harness.exploration.losses import Loss
from ...harness.history import Event
from ...harness.judging.disturbances import Disturbances, doubted
from ...harness.rocketmq import losses
from ...harness.trials.trial import Trial
from .amounts import Bound
from .scenario import BEFORE, DURING, Case, Counts, Phase, Step

ENDS = ("ok", "fail", "info")


class Interval(NamedTuple):
    """Events of a phase: ``lo`` <= seq < ``hi``."""

    lo: int
    hi: int

    def holds(self, event: Event) -> bool:
        return self.lo <= event.seq < self.hi


def unmet(case: Case, trial: Trial, observes: Set[str]) -> tuple[list[str], list[str]]:
    """The unmet expectations, a line each; and those left unknown by a stall of the machine.

    Unobservable event types are not expected.
    """
    owes, doubts = list[str](), list[str]()
    for lines, interval in _compared(case, trial.events, observes):
        stall = _stall(trial.events, interval) if lines else None
        if stall is None:
            owes += lines
        else:
            doubts += [doubted(stall, line) for line in lines]
    return owes, doubts


def _compared(case: Case, events: Sequence[Event], observes: Set[str]) -> Iterator[tuple[list[str], Interval]]:
    ran = _ran(events)
    whole = Interval(0, len(events))
    yield _compare(_seen(case.expect.whole, observes), _statuses(events, ran), _kinds(events, whole), ""), whole
    for phase in case.expect.phases:
        interval = _interval(phase, case.steps, events)
        if interval is None:
            yield [f"{phase.when} {phase.id}: that fault is not in the history"], Interval(0, 0)
            continue
        within = Interval(max(interval.lo, ran.lo), min(interval.hi, ran.hi))
        statuses, kinds = _statuses(events, within), _kinds(events, interval)
        yield _compare(_seen(phase.counts, observes), statuses, kinds, f"{phase.when} {phase.id}: "), interval
    if case.expect.costs:
        yield list(_unmet_costs(case.expect.costs, losses.measure(events))), whole


def _unmet_costs(wanted: Mapping[str, Bound], cost: Loss | None) -> Iterator[str]:
    if cost is None:
        yield "costs: no fault had an effect on the pair"
        return
    for name, bound in wanted.items():
        count = losses.outcome(cost, name)
        if count is None:
            yield f"costs: {bound} {name} expected, and the trial does not show it"
        elif not bound.holds(count):
            yield f"costs: {bound} {name} expected, {count} seen ({cost.before} acknowledged, {cost.tried} tried)"


def _stall(events: Sequence[Event], interval: Interval) -> Stall | None:
    met = events[interval.lo : interval.hi]
    disturbances = Disturbances()
    for each in events:
        if isinstance(each, Stall):
            disturbances.stalls(each)
    return disturbances.stall(met[0].t, met[-1].t) if met else None


def unseen(case: Case, observes: Set[str]) -> list[str]:
    """Event types that a case expects and that are not observable."""
    counts = (case.expect.whole, *(each.counts for each in case.expect.phases))
    return sorted({kind for each in counts for name in each.events if (kind := _kind(name)) not in observes})


def _seen(wanted: Counts, observes: Set[str]) -> Counts:
    return wanted._replace(events={name: each for name, each in wanted.events.items() if _kind(name) in observes})


def _kind(name: str) -> str:
    return name.partition("@")[0]


def without_effect(case: Case, trial: Trial) -> list[str]:
    """Faults without an effect, if the scenario requires one of each."""
    if not case.expect.bites:
        return []
    return [f"{each.name} ({_shown(each.args)}) had no effect" for each in trial.faults if not each.bit]


def answers(events: Sequence[Event]) -> Counter[str]:
    """Number of the trial's own sends (neither warm-up nor probe) by answer."""
    return Counter({key: count for key, count in _statuses(events, _ran(events)).items() if "@" not in key})


def _shown(args: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in args.items())


def _ran(events: Sequence[Event]) -> Interval:
    """From warm-up to healing; an interrupted trial has no such end."""
    marks = {each.f: each.seq for each in reversed(events) if each.kind == "mark"}
    return Interval(marks.get("warm", len(events)), marks.get("heal", len(events)))


def _statuses(events: Sequence[Event], within: Interval) -> Counter[str]:
    asked = {each.op for each in events if each.kind == "invoke" and each.f == "send" and within.holds(each)}
    found: Counter[str] = Counter()
    for each in events:
        if each.kind in ENDS and each.f == "send" and each.op in asked:
            found[str(each.status)] += 1
            found[f"{each.status}@{each.node}"] += 1
    return found


def _kinds(events: Sequence[Event], within: Interval) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in events[within.lo : within.hi]:
        found[each.kind] += 1
        found[f"{each.kind}@{each.node}"] += 1
    return found


def _compare(wanted: Counts, statuses: Counter[str], kinds: Counter[str], where: str) -> list[str]:
    answered = ", ".join(f"{key} {count}" for key, count in sorted(statuses.items()) if "@" not in key)
    return [
        *(
            f"{where}{bound} {name} expected, {count} seen (sends: {answered or 'none'})"
            for name, bound, count in _outside(wanted.statuses, statuses)
        ),
        *(
            f"{where}{bound} {name} events expected, {count} seen"
            for name, bound, count in _outside(wanted.events, kinds)
        ),
    ]


def _outside(wanted: Mapping[str, Bound], counted: Counter[str]) -> Iterable[tuple[str, Bound, int]]:
    return [(name, bound, counted[name]) for name, bound in wanted.items() if not bound.holds(counted[name])]


def _interval(phase: Phase, steps: Sequence[Step], events: Sequence[Event]) -> Interval | None:
    step = next(each for each in steps if each.id == phase.id)
    alike = [each for each in steps if each.op == step.op]
    begun = [each for each in events if each.kind == "fault" and each.status == "on" and _is_of(each, step)]
    if len(begun) <= alike.index(step):
        return None
    on = begun[alike.index(step)]
    ends = (each.seq for each in events[on.seq :] if each.kind == "fault" and each.status == "off" and each.op == on.op)
    off = next(ends, len(events))
    if phase.when == BEFORE:
        return Interval(0, on.seq)
    return Interval(on.seq, off) if phase.when == DURING else Interval(off, len(events))


def _is_of(event: Event, step: Step) -> bool:
    args = {key: value for key, value in step.op.args.items() if key != "name"}
    return event.f == step.op.args["name"] and json.loads(event.detail or "{}") == args
