"""Kinds of event are classes: what is recorded has the columns that its class names, of their types and values."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from pairproof.harness import registry
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event, Recorder, kinds, own_kinds
from pairproof.harness.judging import judge
from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq import cluster, swarm
from pairproof.harness.rocketmq.corpus import corpus
from pairproof.harness.rocketmq.event_types.log import Append
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial

SIM, REFERENCE = resolve.lab("sim"), resolve.target("reference")
PLAIN = set(Event._fields[:3])


def fits(value: object, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    options = get_args(hint)
    return any(fits(value, each) for each in options) if options else type(value) is hint


def misfits(event: Event) -> Iterator[str]:
    hints = {name: hint for name, hint in columns(type(event)).items() if name not in PLAIN}
    for name in Event._fields[3:]:
        value = getattr(event, name)
        if name not in hints:
            if value is not None:
                yield f"{event.kind} names no {name}: {value!r}"
        elif not fits(value, hints[name]):
            yield f"{event.kind}: {name} is {value!r}, not {hints[name]}"


@cache
def columns(kind: type[Event]) -> dict[str, Any]:
    named = {name for each in kind.__mro__[: kind.__mro__.index(Event)] for name in each.__annotations__}
    of = {id(getattr(Event, name)): name for name in Event._fields}
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in named}
    return {of.get(id(getattr(kind, name)), name): hint for name, hint in hints.items()}


def test_what_the_simulation_records_fits_its_class() -> None:
    seen: set[str] = set()
    wrong: dict[str, Event] = {}
    for schedule in (*corpus(), *(each.schedule("k", number) for each in (swarm, cluster) for number in range(40))):
        for event in run_trial(SIM, REFERENCE, schedule, laws=()).events:
            seen.add(event.kind)
            for line in misfits(event):
                wrong.setdefault(line.partition(": ")[0] + line.partition(" is ")[0], event)
    assert wrong == {}
    # What has no place in the simulation, or in a correct reference.
    assert SIM.observes(REFERENCE) - seen <= {"stall", "garbled", "abort"}


def test_each_is_registered_under_its_class_s_name_and_has_no_state_of_its_own() -> None:
    for name in registry.own("event_types"):
        kind = kinds()[name]
        assert kind.__name__.lower() == name and issubclass(kind, Event) and (kind.__doc__ or "").strip()
        assert not hasattr(kind(0, 0, name), "__dict__")
        assert set(columns(kind)) <= set(Event._fields[3:])


def test_an_event_is_of_its_class_however_it_was_recorded_and_wherever_it_went() -> None:
    recorder = Recorder()
    recorder.add(5, "append", "master", 1, lo=0, hi=9)
    recorder.add(5, "append", "master", 1)
    for event in recorder.events:
        assert type(event) is type(event._replace(lo=1)) is type(pickle.loads(pickle.dumps(event))) is Append
        assert pickle.loads(pickle.dumps(event)) == event


def test_a_kind_that_nobody_registered_is_refused_with_the_remedy() -> None:
    with pytest.raises(UsageError, match="unknown kind of event 'replconf'; register its class under the entry points"):
        Recorder().add(0, "replconf")

    class Odd(Law):
        """Hears what nobody says."""

        id = "odd"
        needs = frozenset({"append"})

        def on_replconf(self, event: Event) -> None: ...

    with pytest.raises(UsageError, match="unknown kind of event 'replconf'"):
        judge.judge([], (Odd,), own_kinds())
