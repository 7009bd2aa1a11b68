"""Common part of labs with real processes: one environment after another, one trial at a time on each."""

from __future__ import annotations

import atexit
from contextlib import suppress
from typing import TYPE_CHECKING

from ....harness.errors import LabError
from ....harness.ports import Target
from ....harness.trials.schedule import Args
from ...plan import Program, abilities, forms, has_others, hooks, observed
from . import folders
from .control import HOOKS
from .hook_faults import TROUBLES
from .link_faults import LinkFaults
from .replacement import Replacement
from .session import RealSession
from .triggers import Triggers
from .turns import turn

if TYPE_CHECKING:
    from .environment import Environment


class RealLab:
    """Base of such labs. A failed environment is discarded, and the next trial gets a new one."""

    name = ""
    deterministic = False
    hosts: frozenset[type] = frozenset((Program,))
    """The forms that it requires of every node."""

    def __init__(self) -> None:
        self._environment: Environment | None = None
        self._session: RealSession | None = None

    session_class: type[RealSession] = RealSession
    has_images = False
    """Whether it can run a node in another image that its target does not name."""

    def make_environment(self) -> Environment:
        """A new environment. LabError if it cannot be made."""
        raise NotImplementedError

    def takes(self, target: Target) -> bool:
        """Whether it can run every node of the target."""
        return self.hosts <= forms(target)

    def observes(self, target: Target) -> frozenset[str]:
        """Everything that the target makes observable: taps, clients, stores, and traces of nodes."""
        return observed(target)

    def parts(self, target: Target | None) -> tuple[type, ...]:
        obeyed = frozenset(HOOKS) if target is None else hooks(target)
        fault_abilities = (each for each in (*TROUBLES, Triggers) if each.hooks & obeyed)
        others = (Replacement,) if self.has_images or has_others(target) else ()
        return (
            self.session_class,
            LinkFaults,
            self.session_class.faults,
            *fault_abilities,
            *others,
            *abilities(target),
        )

    def open(self, target: Target, settings: Args, seed: str) -> RealSession:
        """A new trial. LabError if a prerequisite is missing, or a broker does not start."""
        if not self.takes(target):
            raise LabError(f"the {self.name} lab cannot run {target.name!r}")
        if self._session is not None:
            self._session.close()
        if self._environment is not None and self._environment.is_broken:
            self.close()
        if self._environment is None:
            self._environment = self.make_environment()
            atexit.register(self.close)
        try:
            with turn():
                self._session = self.session_class(self._environment, target, settings, seed)
        except BaseException:
            self.close()
            raise
        return self._session

    def has_devices(self) -> bool:
        """Whether each store has its own disk; only known after the first trial."""
        return self._environment is not None and not self._environment.stores.why_not

    def close(self) -> None:
        """Release the environment: its processes, files and addresses."""
        environment, session = self._environment, self._session
        self._environment = self._session = None
        with suppress(LabError):
            if session is not None:
                session.close()
        if environment is not None:
            atexit.unregister(self.close)
            with suppress(LabError):
                environment.close()

    def clean(self) -> list[str]:
        """Remove the remains of killed labs; returns a line for each."""
        return folders.clean()
