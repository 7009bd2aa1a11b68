"""The abilities of a lab, found without starting it, and the part of a session that has one.

A lab that hosts targets declares the parts of a session with a target by its method ``parts``. Otherwise its abilities
are those of the parts of the session that its ``open`` is annotated to return, see
:class:`pairproof.harness.ports.Session`. If ``open`` is annotated only as Session, or not at all, abilities are unknown
until a session lacks one.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from .. import ports
from .operation import Operation
from .schedule import Op

Operations = Mapping[str, Operation]
Kinds = tuple[type, ...]


class Hosted(NamedTuple):
    """A lab and its target, which both determine the abilities."""

    lab: ports.Lab
    target: ports.Target


Place = ports.Lab | Hosted
"""A lab alone stands for its abilities with any target."""


def part(session: object, ability: type) -> Any:
    """The part of a session that has an ability; None if there is none."""
    parts = getattr(session, "parts", None) or (session,)
    at = _index(tuple(map(type, parts)), ability)
    return None if at is None else parts[at]


@cache
def _index(kinds: Kinds, ability: type) -> int | None:
    """isinstance() against a runtime protocol costs microseconds, and the answer is the same for whole classes."""
    names = [name for name in vars(ability) if not name.startswith("_")]
    return next((at for at, kind in enumerate(kinds) if all(hasattr(kind, name) for name in names)), None)


def has(kinds: Kinds, ability: type) -> bool:
    """Whether a session of such parts has an ability."""
    return _index(kinds, ability) is not None


def can(place: Place, ability: type) -> bool:
    """Whether a lab has an ability; False if it is unknown."""
    kinds = _kinds(place)
    return kinds is not None and has(kinds, ability)


def abilities(lab: Place, faults: ports.Faults, operations: Operations) -> list[str] | None:
    """Names of the abilities of a lab's sessions that a fault or an operation needs; None if unknown."""
    kinds = _kinds(lab)
    wanted = {need for fault in faults.values() for need in (fault.needs, *_special(fault).values())}
    wanted |= {each.needs for each in operations.values() if each.needs is not None}
    return None if kinds is None else sorted(ability.__name__ for ability in wanted if has(kinds, ability))


def lacking(lab: Place, ops: Iterable[Op], faults: ports.Faults, operations: Operations) -> list[type]:
    """The abilities that these operations need and the lab lacks, sorted by name; none if unknown."""
    kinds = _kinds(lab)
    if kinds is None:
        return []
    return sorted(
        {ability for op in ops for ability in needs(op, faults, operations) if not has(kinds, ability)},
        key=lambda ability: ability.__name__,
    )


def words(ability: type) -> str:
    """The ability in words, from its docstring: ``clients can write``."""
    sentence = re.split(r"[.:;,]| \(", " ".join((ability.__doc__ or "").split()), maxsplit=1)[0]
    return sentence[:1].lower() + sentence[1:]


def needs(op: Op, faults: ports.Faults, operations: Operations) -> list[type]:
    """The abilities that an operation and the fault that it begins need."""
    operation = operations[op.do]
    own = [] if operation.needs is None else [operation.needs]
    if not operation.carries_fault:
        return own
    fault = faults[str(op.args["name"])]
    special = _special(fault)
    return [*own, fault.needs, *(special[str(each)] for each in op.args.values() if each in special)]


def _special(fault: ports.Fault) -> Mapping[Any, type]:
    return fault.special if isinstance(fault, ports.HasSpecialValues) else {}


def injectable(lab: Place, faults: ports.Faults) -> dict[str, ports.Fault]:
    """The faults that a lab can inject, without the values that it cannot give them; all if unknown or if there are
    none.
    """
    kinds = _kinds(lab)
    if kinds is None:
        return dict(faults)
    able = {name: _within(kinds, each) for name, each in faults.items() if has(kinds, each.needs)}
    return able or dict(faults)


def _within(kinds: Kinds, fault: ports.Fault) -> ports.Fault:
    beyond = [value for value, ability in _special(fault).items() if not has(kinds, ability)]
    return fault.without(beyond) if beyond and isinstance(fault, ports.HasSpecialValues) else fault


def simulates(lab: Place | None) -> bool:
    """Whether a schedule is for a lab in virtual time, or for any lab."""
    place = lab.lab if isinstance(lab, Hosted) else lab
    return place is None or place.deterministic


def doable(lab: Place, operations: Operations) -> dict[str, Operation]:
    """The operations that a lab can do; all if unknown."""
    kinds = _kinds(lab)
    if kinds is None:
        return dict(operations)
    return {name: each for name, each in operations.items() if each.needs is None or has(kinds, each.needs)}


def _kinds(place: Place) -> Kinds | None:
    lab, target = place if isinstance(place, Hosted) else (place, None)
    declared = getattr(lab, "parts", None)
    if declared is not None:
        return cast(Kinds, declared(target))
    return _annotated(getattr(lab.open, "__func__", lab.open))


@cache
def _annotated(opens: Callable[..., object]) -> Kinds | None:
    """The types of the parts of the returned session; None without an annotation."""
    try:
        session = typing.get_type_hints(opens)["return"]
    except (NameError, KeyError, TypeError):
        return None
    if not isinstance(session, type) or session in (ports.Session, typing.Any):
        return None
    declaring = next((kind for kind in session.__mro__ if "parts" in inspect.get_annotations(kind)), None)
    if declaring is None:
        return (session,)
    parts = typing.get_args(inspect.get_annotations(declaring, eval_str=True)["parts"])
    return tuple(session if issubclass(session, kind) else kind for kind in parts)
