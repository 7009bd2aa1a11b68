"""Names to things: ``reference+early_ack`` to a target, ``sim`` to a lab, every registered fault."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from .. import registry
from ..errors import LabError, UsageError, meant
from ..ports import Fault, Lab, Target
from ..ports.nodes import SCARCE
from ..system import PLAIN, System
from ..texts import extras
from . import abilities
from .operation import Operation
from .schedule import Args, Schedule

_ONLY: ContextVar[frozenset[str] | None] = ContextVar("faults that searches draw", default=None)


@runtime_checkable
class CanMutate(Protocol):
    """A target with seeded bugs."""

    def mutant(self, name: str) -> Target:
        """The target with one bug; UsageError that lists the valid ones."""


class Brought(Protocol):
    """A configuration that somebody brought. It is handed to the processes of labs, so it can be pickled."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What of it was not tested, or is not what production would do, although it decides about loss."""

    @property
    def told(self) -> Mapping[str, Any]:
        """What is said of it: a JSON object, the fact ``configuration`` of a run, as ``runs/schema.py`` has it."""

    def over(self, settings: Args) -> Args:
        """A schedule's settings under it."""


@runtime_checkable
class TakesConfiguration(Protocol):
    """A target that can be tested under a configuration that somebody brings."""

    @property
    def brought(self) -> Brought | None:
        """Under which it is tested; None: as it is."""

    def bring(self, files: Mapping[str, Path], typed: Sequence[str]) -> tuple[Brought, list[str]]:
        """What the nodes' files (by node) and single settings (``key=value``) come to, for :meth:`given`, and lines
        that say what of it does not apply, its remarks first. UsageError for what cannot be."""

    def given(self, brought: Brought) -> Target:
        """The target under it. It has the same name: what was brought becomes part of every schedule."""


class Family(Protocol):
    """Targets and tools that differ by version, more than can be registered: ``family@which``."""

    def target(self, which: str) -> Target:
        """UsageError, with what is valid, for what it does not know. Runs nothing; a ``which`` that leads to files of
        this machine has a slash, see :func:`check_named_by_file`."""

    def tool(self, which: str) -> object:
        """What ``pairproof labs install`` makes ready; UsageError likewise."""


@runtime_checkable
class HasModel(Protocol):
    """A target that the simulation may stand in for."""

    @property
    def model(self) -> Target | None:
        """What does as it does, as far as that is known; None where nothing is."""


@runtime_checkable
class IsParticular(Protocol):
    """A lab that cannot run every target."""

    def takes(self, target: Target) -> bool:
        """Whether it knows how to run this target. Asked before anything is made."""


def takes(lab: Lab, target: Target) -> bool:
    """Whether the lab runs the target; a lab that says nothing of it does."""
    return not isinstance(lab, IsParticular) or lab.takes(target)


def check_pair(lab: Lab, target: Target) -> None:
    """UsageError, with the labs that do, if the lab does not run the target."""
    if not takes(lab, target):
        others = [told for name in registry.names("labs") if (told := _taking(name, target))]
        raise UsageError(
            f"lab {lab.name} does not run target {target.name}; labs that do: {', '.join(others) or 'none'}"
        )


def _taking(name: str, target: Target) -> str:
    """The lab's name, if it runs the target; with what to install first, if nobody can tell without."""
    try:
        with extras.reported():
            return name if takes(find_lab(name), target) else ""
    except extras.Lacking as why:
        return f"{name} ({why})"


def playable(lab: Lab, target: Target) -> Target:
    """What a lab plays of a target: itself, or the model of one that it does not run; UsageError if there is none."""
    if not takes(lab, target) and isinstance(target, HasModel) and target.model is not None:
        target = target.model
    check_pair(lab, target)
    return target


def under(target: Target, settings: Args) -> Args:
    """A schedule's settings under the configuration that was brought for the target, if any."""
    found = brought(target)
    return settings if found is None else found.over(settings)


def own_settings(target: Target) -> frozenset[str]:
    """Names of the settings that were brought for the target: searches and shrinking leave these alone."""
    found = brought(target)
    return frozenset() if found is None else frozenset(found.over({}))


def fitted(target: Target, settings: Args) -> Args:
    """Settings that a search drew, under the configuration that was brought for the target, if any.

    A drawn setting that cannot go with a brought one is left out, so that each configuration works with each search.
    """
    own = own_settings(target)
    if not own:
        return settings
    settings = system_of(target).fit(under(target, settings), own)
    if goes(target, settings):
        return settings
    drawn = [name for name in settings if name not in own]
    candidates = ({each: value for each, value in settings.items() if each != name} for name in drawn)
    alone = under(target, {})
    return next((each for each in candidates if goes(target, each)), alone)


def goes(target: Target, settings: Args) -> bool:
    """Whether the target takes these settings."""
    try:
        target.settings(settings)
    except UsageError:
        return False
    return True


def scheduled(target: Target, schedule: Schedule) -> Schedule:
    """A schedule of a search under what was brought: its settings are :func:`fitted`, and its operations are for the
    nodes and links that the trial then has."""
    settings = fitted(target, schedule.settings)
    return schedule if settings is schedule.settings else system_of(target).under(schedule, settings)


def brought(target: Target) -> Brought | None:
    """The configuration that was brought for the target, if any."""
    return target.brought if isinstance(target, TakesConfiguration) else None


def digests(target: Target) -> dict[str, dict[str, str]]:
    """The fact ``digests``, for a target that has such a property; nothing where nobody knows them yet."""
    with suppress(LabError):
        return {"digests": dict(found)} if (found := getattr(target, "digests", None)) else {}
    return {}


def configured(name: str, brought: Brought | None) -> Target:
    """A target by name, under what :meth:`TakesConfiguration.bring` made; None: as it is."""
    found = target(name)
    return found.given(brought) if brought is not None and isinstance(found, TakesConfiguration) else found


def target(name: str) -> Target:
    """A target by name, ``base+mutant`` for one with a seeded bug, ``family@which`` for one of a family's."""
    if (known := family(name, "targets")) is not None:
        return known.target(name.partition("@")[2])
    base, _, mutant = name.partition("+")
    if base not in (known_targets := registry.names("targets")):
        releases = [f"{each}@VERSION" for each in registry.names("families")]
        raise UsageError(f"unknown target {base!r}{meant(base, [*known_targets, *releases])}")
    found = cast(Target, registry.find("targets", base))
    if not mutant:
        return found
    if not isinstance(found, CanMutate):
        raise UsageError(f"target {base!r} has no mutants")
    return found.mutant(mutant)


def leads_to_files(name: str) -> bool:
    """Whether a target's programs are whatever lies at a path of this machine, not registered, built or released."""
    return "/" in name or "\\" in name


def check_named_by_file(name: str, remedy: str) -> None:
    """UsageError for a target that a finding, a case or a run names and a command is about to run, if it
    :func:`leads_to_files`: which programs run is the user's choice, never that of a file (SECURITY.md)."""
    if leads_to_files(name):
        raise UsageError(f"the file names the target {name}, which runs programs from a path; {remedy}")


def family(name: str, group: str) -> Family | None:
    """That of ``family@which``, unless it is registered in ``group`` by itself."""
    found, at, _ = name.partition("@")
    if not at or name.partition("+")[0] in registry.names(group) or found not in registry.names("families"):
        return None
    return cast(Family, registry.find("families", found))


def lab(name: str) -> Lab:
    """A lab by name."""
    return cast(Lab, registry.find("labs", name))


def takes_that(lacks: Iterable[type], hosted: Target | None = None) -> str:
    """``it requires that clients can write (labs that can: sim)``: abilities in words, and which labs have them, with
    this target if one is given."""
    return f"it requires that {', and that '.join(f'{abilities.words(each)}{_labs(each, hosted)}' for each in lacks)}"


def _labs(ability: type, hosted: Target | None) -> str:
    found = []
    for name in registry.names("labs"):
        try:
            own = lab(name)
        except (LabError, ModuleNotFoundError):
            found.append(f"perhaps {name}, which lacks a package")
            continue
        goes = hosted is None or takes(own, hosted)
        place = own if hosted is None else abilities.Hosted(own, hosted)
        found += [name] if goes and abilities.can(place, ability) else []
    return f" (labs that can: {', '.join(found) or 'none'})"


find_lab = lab
"""The same where a parameter has that name."""


def system(name: str) -> System:
    """A system by name; the plain one where there is none."""
    return cast(System, registry.find("systems", name)) if name else PLAIN


def system_of(target: Target) -> System:
    """The system that a target names."""
    return system(str(getattr(target, "system", "")))


@cache
def faults() -> dict[str, Fault]:
    """Every registered fault by name."""
    return {name: cast(Fault, registry.find("faults", name)) for name in registry.names("faults")}


@cache
def operations() -> dict[str, Operation]:
    """Every registered operation by name."""
    return {name: cast(Operation, registry.find("operations", name)) for name in registry.names("operations")}


@contextmanager
def only(names: Collection[str]) -> Iterator[None]:
    """For the ``with`` block searches of this process draw these faults only. UsageError for none, or one unknown."""
    for name in names:
        registry.find("faults", name)
    if not names:
        raise UsageError("a search draws one fault at least; without faults, write a program")
    token = _ONLY.set(frozenset(names))
    try:
        yield
    finally:
        _ONLY.reset(token)


def cut_down(schedule: Schedule) -> Schedule:
    """The schedule without the faults that :func:`only` leaves out, and what ends them."""
    wanted = _ONLY.get()
    if wanted is None:
        return schedule
    of_faults = ("fault", "arm", "heal")
    return schedule._replace(
        ops=tuple(each for each in schedule.ops if each.do not in of_faults or each.args["name"] in wanted)
    )


def drawn(lab: abilities.Place | None = None) -> dict[str, Fault]:
    """Those that searches draw, by name: of what this lab can do (any, unless told) not what hardly any other can."""
    wanted = _ONLY.get()
    common = {
        name: fault
        for name, fault in faults().items()
        if fault.needs not in SCARCE and (wanted is None or name in wanted)
    }
    return common if lab is None else abilities.injectable(lab, common)


def doable(lab: abilities.Place | None = None) -> dict[str, Operation]:
    """The operations that searches draw, by name: of what this lab can do (any, unless told)."""
    known = {name: each for name, each in operations().items() if each.drawn is not None}
    return known if lab is None else abilities.doable(lab, known)
