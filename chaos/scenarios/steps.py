"""Reads a scenario's events: steady loads, and the timeline's steps with their faults.

A load's key is its operation: ``send: {every: 20ms, for: 2s, queue: 0}``. A step has its time (``at``, ``after`` the
step before, ``after_sends``), and its action: ``fault`` with its arguments in ``with``, its length in ``for``;
``heal``; or an operation (:mod:`harness.trials.operation`) with its arguments.
"""

from collections.abc import Mapping

from ...harness.errors import UsageError, meant
from ...harness.rocketmq import topology
from ...harness.trials import resolve
from ...harness.trials.interpreter import check_arguments
from ...harness.trials.schedule import FORMAT, Args, Op, Scalar
from ...harness.trials.schedule_json import from_json
from . import amounts, fields
from .scenario import Load, Step, When
from .yaml_tree import Spot

MAX_LOADS = 20
MAX_STEPS = 100
TIMING = ("every", "from", "for")
WHEN = ("at", "after", "after_sends")
UNITS = {"ms": amounts.time_ms, "size": amounts.size_bytes, "bytes": amounts.size_bytes}


def loads() -> tuple[str, ...]:
    """Operations that a load may repeat."""
    return tuple(name for name, each in resolve.operations().items() if each.is_load)


def steps() -> tuple[str, ...]:
    """Operations of a step: all except waits, since time passes by itself, and faults, which have their own form."""
    return tuple(name for name, each in resolve.operations().items() if each.is_step)


def usual(do: str) -> Args:
    """An operation's default arguments."""
    arguments = resolve.operations()[do].arguments.items()
    return {name: each.usual for name, each in arguments if each.usual is not None}


def read_loads(spot: Spot | None, settings: Args) -> tuple[Load, ...]:
    """The steady loads."""
    return tuple(_load(each, settings) for each in fields.members(spot, "workload", MAX_LOADS)) if spot else ()


def _load(spot: Spot, settings: Args) -> Load:
    found = fields.mapping(spot, loads(), "a load")
    if len(found) != 1:
        spot.fail(f"a load is one of {', '.join(loads())}, not {len(found)} of them")
    ((do, inner),) = found.items()
    arguments = fields.mapping(inner, (*TIMING, *resolve.operations()[do].arguments), do, ("every", "for"))
    every = fields.time_ms(arguments, "every")
    if every < 1:
        arguments["every"].fail("every must be 1ms at least")
    begin = fields.time_ms(arguments, "from", 0)
    op = _op(do, inner, {key: each for key, each in arguments.items() if key not in TIMING}, settings)
    return Load(op, every, begin, begin + fields.time_ms(arguments, "for"))


def read_steps(spot: Spot | None, settings: Args) -> tuple[Step, ...]:
    """The timeline, in the order of the file; a heal by id becomes one by the fault's name."""
    listed = [_step(each, settings) for each in fields.members(spot, "timeline", MAX_STEPS)] if spot else []
    by_id: dict[str, str] = {}
    steps: list[Step] = []
    for step, where in listed:
        if step.op.do == "heal":
            name = str(step.op.args["name"])
            if name not in by_id and name not in (each.op.args.get("name") for each in steps):
                where.fail(f"heal: no fault before it has the id or the name {name!r}{meant(name, by_id)}")
            step = step._replace(op=Op("heal", {"name": by_id.get(name, name)}))
        if step.id is not None:
            if step.id in by_id:
                where.fail(f"the id {step.id!r} is there twice")
            by_id[step.id] = str(step.op.args["name"])
        steps.append(step)
    return tuple(steps)


def _step(spot: Spot, settings: Args) -> tuple[Step, Spot]:
    found = fields.mapping(spot, (*WHEN, "id", "fault", "with", "for", "heal", *steps()), "a step")
    does = [key for key in found if key in ("fault", "heal", *steps())]
    if len(does) != 1:
        spot.fail(f"a step does one thing: fault, heal, or one of {', '.join(steps())}; this does {does or 'nothing'}")
    do = does[0]
    for key in () if do == "fault" else ("id", "with", "for"):
        if key in found:
            found[key].fail(f"{key} belongs to a fault, not to {do}")
    if do == "fault":
        op = _fault(found["fault"], found.get("with"), settings)
    elif do == "heal":
        op = Op("heal", {"name": fields.text(found["heal"], "heal")})
    else:
        op = _op(do, found[do], _arguments(do, found[do]), settings)
    for_ms = fields.time_ms(found, "for") if "for" in found else None
    identity = fields.text(found["id"], "id") if "id" in found else None
    return Step(_when(spot, found), op, for_ms, identity, spot.line), spot


def _when(spot: Spot, found: Mapping[str, Spot]) -> When:
    given = [key for key in WHEN if key in found]
    if len(given) != 1:
        spot.fail(f"a step's time is one of {', '.join(WHEN)}, not {' and '.join(given) or 'nothing'}")
    match given[0]:
        case "at":
            return When(at_ms=fields.time_ms(found, "at"))
        case "after":
            return When(after_ms=fields.time_ms(found, "after"))
    return When(sends=fields.whole(found["after_sends"], "after_sends", 1, 10_000))


def _fault(spot: Spot, given: Spot | None, settings: Args) -> Op:
    faults = resolve.faults()
    fault = faults[fields.one_of(spot, "fault", tuple(faults))]
    arguments = {}
    if given is not None:
        listed = fields.mapping(given, tuple(fault.arguments), f"fault {fault.name!r}")
        arguments = {key: _argument(key, each, settings) for key, each in listed.items()}
    args: Args = {"name": fault.name, **arguments}
    try:
        check_arguments(fault, args)
    except UsageError as why:
        (given or spot).fail(str(why))
    # A default may be a node or link that this scenario lacks: topology.within is for searches, which do not care.
    completed = {"name": fault.name, **{key: args.get(key, values[0]) for key, values in fault.arguments.items()}}
    _check_targets(given or spot, completed, settings)
    return Op("fault", completed)


def _arguments(do: str, spot: Spot) -> dict[str, Spot]:
    if resolve.operations()[do].carries_fault and isinstance(spot.value, dict):
        return spot.value
    return fields.mapping(spot, tuple(resolve.operations()[do].arguments), do)


def _op(do: str, spot: Spot, arguments: Mapping[str, Spot], settings: Args) -> Op:
    args = {**usual(do), **{key: _argument(key, each, settings) for key, each in arguments.items()}}
    try:
        from_json({"format": FORMAT, "settings": {}, "seed": "", "ops": [[do, args]]})
        if resolve.operations()[do].carries_fault:
            left = {key: value for key, value in args.items() if key not in ("node", "point", "nth")}
            name = str(args["name"])
            if name not in resolve.faults():
                raise UsageError(f"unknown fault {name!r}{meant(name, resolve.faults())}")
            check_arguments(resolve.faults()[name], left)
    except UsageError as why:
        spot.fail(str(why).removeprefix("operation 1 ").replace(f"({do})", do, 1))
    _check_targets(spot, args, settings)
    return Op(do, args)


def _argument(key: str, spot: Spot, settings: Args) -> Scalar:
    if key in UNITS and isinstance(spot.value, str):
        return fields.amount(spot, key, UNITS[key])
    value = fields.scalar(spot, key)
    _check_targets(spot, {key: value}, settings)
    return value


def _check_targets(spot: Spot, args: Args, settings: Args) -> None:
    count = topology.slaves(settings)
    missing = topology.absent(count, topology.has_names(settings), topology.has_other(settings))
    for value in (args.get(key) for key in topology.PLACED):
        if value in missing:
            spot.fail(f"this scenario has no {value!r}; lab.slaves, lab.nameServer and lab.others define its nodes")
