"""Reads a scenario's expectations besides the laws: laws that must be judged, and counts.

``statuses`` counts sends by their answer, ``events`` the history by type, both for one node with ``@node`` behind; so
does each phase: ``before``, ``during`` or ``after`` the fault of the step with that id. ``costs`` counts the messages
that the fault made lost or unavailable, or that were accepted during it, see :mod:`pairproof.harness.rocketmq.losses`.
In a list of expectations each ``when`` states to which targets it applies: by the version that the target behaves as,
and by its known deviations (:mod:`harness.judging.deviations`).
"""

from collections.abc import Collection

from ...harness import registry
from ...harness.errors import UsageError, meant
from ...harness.history import kinds
from ...harness.judging import deviations, versions
from ...harness.rocketmq import losses, topology
from ...reference.core.calls import ANSWERS
from ...reference.wire.remoting import RESPONSE_NAMES
from . import amounts, fields
from .amounts import Bound
from .scenario import PHASES, Counts, Expect, Only, Phase, Step
from .yaml_tree import Spot

STATUSES = frozenset((*ANSWERS.values(), *RESPONSE_NAMES.values(), "timeout", "disconnected", "refused"))
COUNTS = ("statuses", "events")
KEYS = ("judged", *COUNTS, *PHASES, "costs", "bites", "violated")
WHEN, NOT = "when", "not "
MAX_PARTS = 20


def read_expect(spot: Spot, steps: Collection[Step]) -> tuple[Expect, tuple[tuple[Only, Expect], ...]]:
    """The expectations for every target, and those for some."""
    if not isinstance(spot.value, list):
        return _expect(fields.mapping(spot, KEYS, "expect"), steps), ()
    always, apart = Expect(), list[tuple[Only, Expect]]()
    for part in fields.members(spot, "expect", MAX_PARTS):
        found = dict(fields.mapping(part, (WHEN, *KEYS), "expect"))
        when = found.pop(WHEN, None)
        if when is None:
            always = always.plus(_expect(found, steps))
        else:
            apart.append((_only(when), _expect(found, steps)))
    return always, tuple(apart)


def _only(spot: Spot) -> Only:
    """``<5``, ``4.9.3..4.9.7``, a deviation's id, or ``not`` and such an id; several are separated by commas."""
    text = fields.text(spot._replace(value=str(spot.value)) if isinstance(spot.value, float) else spot, WHEN)
    ranges, known = list[versions.Range](), dict[str, bool]()
    for part in (each.strip() for each in text.split(",")):
        if part[:1].isdigit() or part[:1] in ("<", ">"):
            try:
                ranges.append(versions.parse(part))
            except UsageError as why:
                spot.fail(f"{WHEN}: {why}")
        else:
            name = part.removeprefix(NOT).strip()
            if name not in deviations.every():
                spot.fail(f"{WHEN}: unknown deviation {name!r}{meant(name, deviations.every())}, or a version: '<5'")
            known[name] = not part.startswith(NOT)
    return Only(text, tuple(ranges), known)


def _expect(found: dict[str, Spot], steps: Collection[Step]) -> Expect:
    laws = registry.names("laws")
    return Expect(
        fields.names(found["judged"], "law", laws) if "judged" in found else (),
        _counts({key: each for key, each in found.items() if key in COUNTS}),
        tuple(each for when in PHASES if when in found for each in _phases(when, found[when], steps)),
        _costs(found["costs"]) if "costs" in found else {},
        fields.truth(found["bites"], "bites") if "bites" in found else True,
        fields.names(found["violated"], "law", laws) if "violated" in found else (),
    )


def _phases(when: str, spot: Spot, steps: Collection[Step]) -> list[Phase]:
    ids = [each.id for each in steps if each.id is not None]
    if not isinstance(spot.value, dict):
        spot.fail(f"{when} is a mapping of a step's id to expectations {when} its fault, not {spot.shown()}")
    for key, each in spot.value.items():
        if key not in ids:
            each.fail(f"no step of the timeline has the id {key!r}{meant(key, ids)}")
    return [Phase(when, key, _counts(fields.mapping(each, COUNTS, when))) for key, each in spot.value.items()]


def _costs(spot: Spot) -> dict[str, Bound]:
    found = fields.mapping(spot, losses.OUTCOMES, "costs")
    return {key: fields.amount(each, key, amounts.bound) for key, each in found.items()}


def _counts(found: dict[str, Spot]) -> Counts:
    known = {"statuses": STATUSES, "events": tuple(kinds())}
    return Counts(**{key: _bounds(key, found[key], known[key]) for key in COUNTS if key in found})


def _bounds(what: str, spot: Spot, valid: Collection[str]) -> dict[str, Bound]:
    if not isinstance(spot.value, dict):
        spot.fail(f"{what} is a mapping of names to counts such as '>=1', not {spot.shown()}")
    found = {}
    for key, each in spot.value.items():
        name, at, node = key.partition("@")
        if name not in valid:
            kind = {"statuses": "status", "events": "kind of event"}[what]
            each.fail(f"unknown {kind} {name!r}{meant(name, valid)}")
        if at and node not in topology.PROCESSES:
            each.fail(f"unknown node {node!r}{meant(node, topology.PROCESSES)}")
        found[key] = fields.amount(each, key, amounts.bound)
    return found
