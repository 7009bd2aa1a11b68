"""What a lab can do, known without starting it, and what operations need of one.

A lab's abilities are those of the session class that its ``open`` is annotated to return. One that says no more than
:class:`pairproof.harness.ports.Session` there, or nothing, tells nobody: what it cannot do shows when it is asked to.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from functools import cache

from pairproof.harness import ports
from pairproof.harness.operation import Operation
from pairproof.harness.schedule import Op

Operations = Mapping[str, Operation]


@cache
def has(session: type, ability: type) -> bool:
    """Whether sessions of a class have an ability.

    isinstance() against a runtime protocol costs microseconds, and the answer is the same for a whole class.
    """
    return all(hasattr(session, name) for name in vars(ability) if not name.startswith("_"))


def abilities(lab: ports.Lab, faults: ports.Faults, operations: Operations) -> list[str] | None:
    """Names of the abilities of a lab's sessions, of those that a fault or an operation needs; None where the lab does
    not say."""
    session = _session(lab)
    wanted = {fault.needs for fault in faults.values()}
    wanted |= {each.needs for each in operations.values() if each.needs is not None}
    return None if session is None else sorted(ability.__name__ for ability in wanted if has(session, ability))


def lacking(lab: ports.Lab, ops: Iterable[Op], faults: ports.Faults, operations: Operations) -> list[str]:
    """Names of the abilities that these operations need and the lab lacks, sorted; none where it does not say."""
    session = _session(lab)
    if session is None:
        return []
    return sorted(
        {ability.__name__ for op in ops for ability in needs(op, faults, operations) if not has(session, ability)}
    )


def needs(op: Op, faults: ports.Faults, operations: Operations) -> list[type]:
    """The abilities that an operation needs, also of the fault that it begins."""
    operation = operations[op.do]
    own = [] if operation.needs is None else [operation.needs]
    return [*own, faults[str(op.args["name"])].needs] if operation.carries_fault else own


def injectable(lab: ports.Lab, faults: ports.Faults) -> dict[str, ports.Fault]:
    """Those of the faults that a lab can inject: all where it does not say, or where it would be none."""
    session = _session(lab)
    able = {name: each for name, each in faults.items() if session is not None and has(session, each.needs)}
    return able or dict(faults)


def doable(lab: ports.Lab, operations: Operations) -> dict[str, Operation]:
    """Those of the operations that a lab can do: all where it does not say."""
    session = _session(lab)
    if session is None:
        return dict(operations)
    return {name: each for name, each in operations.items() if each.needs is None or has(session, each.needs)}


def _session(lab: ports.Lab) -> type | None:
    try:
        session = typing.get_type_hints(lab.open)["return"]
    except (NameError, KeyError, TypeError):
        return None
    return session if isinstance(session, type) and session not in (ports.Session, typing.Any) else None
