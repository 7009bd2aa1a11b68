"""Resolve names: ``reference+early_ack`` to a target, ``sim`` to a lab, and all registered faults."""

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
from ..renamed import drawn_as
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
    """A user's configuration. It can be pickled, for the processes of labs."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Settings that were not tested, or that differ from production although they decide about loss."""

    @property
    def description(self) -> Mapping[str, Any]:
        """Its description as a JSON object: the fact ``configuration`` of a run (``runs/schema.py``)."""

    def over(self, settings: Args) -> Args:
        """A schedule's settings under it."""


@runtime_checkable
class TakesConfiguration(Protocol):
    """A target that can be tested under a user's configuration."""

    @property
    def brought(self) -> Brought | None:
        """Its configuration; None: its own."""

    def bring(self, files: Mapping[str, Path], typed: Sequence[str]) -> tuple[Brought, list[str]]:
        """The configuration of the nodes' files (by node) and single settings (``key=value``), for :meth:`given`, and
        lines about settings that do not apply, its remarks first. UsageError for invalid settings.
        """

    def given(self, brought: Brought) -> Target:
        """The target under the configuration. Its name stays: the configuration becomes part of every schedule."""


class Family(Protocol):
    """Targets and tools that differ by version, too many to register: ``family@which``."""

    def target(self, which: str) -> Target:
        """UsageError, with the valid versions, for an unknown one. Runs nothing. A ``which`` that leads to files of
        this machine contains a slash, see :func:`check_named_by_file`.
        """

    def tool(self, which: str) -> object:
        """The tool for ``pairproof labs install``; UsageError likewise."""


@runtime_checkable
class HasModel(Protocol):
    """A target that the simulation can replace."""

    @property
    def model(self) -> Target | None:
        """A target with the same behaviour, as far as that is known; None if there is none."""


@runtime_checkable
class HasLine(Protocol):
    """A target whose version is known before a search draws settings."""

    @property
    def line(self) -> str:
        """The version line that its trials behave like; empty: schedules set it."""


@runtime_checkable
class IsParticular(Protocol):
    """A lab that cannot run every target."""

    def takes(self, target: Target) -> bool:
        """Whether it can run this target. Called before anything is made."""


def takes(lab: Lab, target: Target) -> bool:
    """Whether the lab runs the target; True without :class:`IsParticular`."""
    return not isinstance(lab, IsParticular) or lab.takes(target)


def check_pair(lab: Lab, target: Target) -> None:
    """UsageError, with the labs that do, if the lab does not run the target."""
    if not takes(lab, target):
        others = [each for name in registry.names("labs") if (each := _taking(name, target))]
        raise UsageError(
            f"lab {lab.name} does not run target {target.name}; labs that do: {', '.join(others) or 'none'}"
        )


def _taking(name: str, target: Target) -> str:
    """The lab's name if it runs the target, with the package to install first if that is needed to find out."""
    try:
        with extras.reported():
            return name if takes(find_lab(name), target) else ""
    except extras.Lacking as why:
        return f"{name} ({why})"


def playable(lab: Lab, target: Target) -> Target:
    """The target as a lab plays it: itself, or its model if the lab does not run it; UsageError if there is none."""
    if not takes(lab, target) and isinstance(target, HasModel) and target.model is not None:
        target = target.model
    check_pair(lab, target)
    return target


def under(target: Target, settings: Args) -> Args:
    """A schedule's settings under the target's user configuration, if any."""
    found = brought(target)
    return settings if found is None else found.over(settings)


def own_settings(target: Target) -> frozenset[str]:
    """Names of the user's settings, which searches and shrinking do not change."""
    found = brought(target)
    return frozenset() if found is None else frozenset(found.over({}))


def of_line(target: Target, settings: Args) -> Args:
    """Settings for the target's version line, unless a user brought some."""
    line = target.line if isinstance(target, HasLine) and not own_settings(target) else ""
    return system_of(target).of_line(settings, line) if line else settings


def fitted(target: Target, settings: Args) -> Args:
    """Settings that a search drew, for the target's version, under its user configuration, if any.

    A drawn setting that conflicts with a user's is left out, so that each configuration works with each search.
    """
    own = own_settings(target)
    if not own:
        return of_line(target, settings)
    settings = system_of(target).fit(under(target, settings), own)
    if goes(target, settings):
        return settings
    drawn = [name for name in settings if name not in own]
    candidates = ({each: value for each, value in settings.items() if each != name} for name in drawn)
    alone = under(target, {})
    return next((each for each in candidates if goes(target, each)), alone)


def goes(target: Target, settings: Args) -> bool:
    """Whether the target accepts these settings."""
    try:
        target.settings(settings)
    except UsageError:
        return False
    return True


def scheduled(target: Target, schedule: Schedule) -> Schedule:
    """A schedule of a search under the user's configuration: its settings are :func:`fitted`, and its operations use
    the nodes and links that the trial then has.
    """
    settings = fitted(target, schedule.settings)
    return schedule if settings is schedule.settings else system_of(target).under(schedule, settings)


def brought(target: Target) -> Brought | None:
    """The user's configuration of the target, if any."""
    return target.brought if isinstance(target, TakesConfiguration) else None


def digests(target: Target) -> dict[str, dict[str, str]]:
    """The fact ``digests`` of a target with that property; empty before the digests are known."""
    with suppress(LabError):
        return {"digests": dict(found)} if (found := getattr(target, "digests", None)) else {}
    return {}


def configured(name: str, brought: Brought | None) -> Target:
    """A target by name, with a configuration from :meth:`TakesConfiguration.bring`; None: its own."""
    found = target(name)
    return found.given(brought) if brought is not None and isinstance(found, TakesConfiguration) else found


def target(name: str) -> Target:
    """A target by name, ``base+mutant`` for one with a seeded bug, ``family@which`` for one of a family."""
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
    """Whether the name selects programs by a path of this machine instead of a registered, built or released target."""
    return "/" in name or "\\" in name


def check_named_by_file(name: str, remedy: str) -> None:
    """UsageError if a finding, a case or a run names a target that :func:`leads_to_files`: the user chooses which
    programs run, never a file (SECURITY.md).
    """
    if leads_to_files(name):
        raise UsageError(f"the file names the target {name}, which runs programs from a path; {remedy}")


def family(name: str, group: str) -> Family | None:
    """The family of ``family@which``, unless that whole name is registered in ``group``."""
    found, at, _ = name.partition("@")
    if not at or name.partition("+")[0] in registry.names(group) or found not in registry.names("families"):
        return None
    return cast(Family, registry.find("families", found))


def lab(name: str) -> Lab:
    """A lab by name."""
    return cast(Lab, registry.find("labs", name))


def takes_that(lacks: Iterable[type], hosted: Target | None = None) -> str:
    """``it requires that clients can write (labs that can: sim)``: abilities in words, and the labs that have them
    (with this target, if one is given).
    """
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
""":func:`lab`, for functions with a parameter of that name."""


def system(name: str) -> System:
    """A system by name; the plain one for no name."""
    return cast(System, registry.find("systems", name)) if name else PLAIN


def system_of(target: Target) -> System:
    """The system that a target names."""
    return system(str(getattr(target, "system", "")))


def _every(group: str) -> dict[str, Any]:
    return {name: registry.find(group, name) for name in sorted(registry.names(group), key=drawn_as)}


@cache
def faults() -> dict[str, Fault]:
    """Every registered fault by name."""
    return _every("faults")


@cache
def operations() -> dict[str, Operation]:
    """Every registered operation by name."""
    return _every("operations")


@contextmanager
def only(names: Collection[str]) -> Iterator[None]:
    """Searches of this process draw only these faults within the ``with`` block. UsageError for none, or an unknown
    one.
    """
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
    """The schedule without the faults that :func:`only` excludes, and without their ends."""
    wanted = _ONLY.get()
    if wanted is None:
        return schedule
    of_faults = ("fault", "arm", "transient", "heal")
    return schedule._replace(
        ops=tuple(each for each in schedule.ops if each.do not in of_faults or each.args["name"] in wanted)
    )


def drawn(lab: abilities.Place | None = None) -> dict[str, Fault]:
    """The faults that searches draw in this lab (None: in any), by name, without those of very few labs."""
    wanted = _ONLY.get()
    common = {
        name: fault
        for name, fault in faults().items()
        if fault.needs not in SCARCE and (wanted is None or name in wanted)
    }
    return common if lab is None else abilities.injectable(lab, common)


def doable(lab: abilities.Place | None = None) -> dict[str, Operation]:
    """The operations that searches draw in this lab (None: in any), by name."""
    known = {name: each for name, each in operations().items() if each.drawn is not None}
    return known if lab is None else abilities.doable(lab, known)
