"""Bases of laws about slaves that sync their tables.

A slave learns its master's address from its name server, and then fetches the tables on its version's schedule. Without
a name server it fetches none, and these laws do not apply.

Source: BrokerController.handleSlaveSynchronize of 4.4.0, 4.9.7 and 5.5.0.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ....event_types.client import Fail
from ....history import MS, Event
from ...event_types.metadata import Sync, Table
from ...known.copies import Sighting
from ...known.metadata import DONE, MISSING, Name, holds
from ...law import SlaveLaw
from ...settings import Settings, version
from ...topology import MASTER

CALL_NS = 3_000 * MS
"""A slave's timeout for one answer."""


class Schedule(NamedTuple):
    """The sync schedule of a version line, ms."""

    since: tuple[int, ...]
    first: int
    """From the start to the first round."""
    period: int
    look: int
    """The check interval, which may delay a round."""


SCHEDULES = (
    Schedule((5,), 60_000, 60_000, 3_000),
    Schedule((4, 5), 3_000, 10_000, 0),
    Schedule((0,), 10_000, 60_000, 0),
)


def schedule(settings: Settings) -> Schedule:
    """By the slave's version."""
    numbers = version(settings)
    return next(each for each in SCHEDULES if each.since <= numbers)


class Agreed(NamedTuple):
    """A step of a sync after which slave and master agreed."""

    asked: Sync
    done: Sync


class MetadataLaw(SlaveLaw):
    """Base of laws that apply to slaves which sync: those that know a name server."""

    @property
    def slaves(self) -> Mapping[str, Settings]:
        return self.known.copies.syncing

    def agreed(self, step: Sync) -> Agreed | None:
        """The agreement that a step's end proves: during it, the copy was the master's table."""
        asked = self.known.tables.asked(step.node, step.f)
        return Agreed(asked, step) if asked is not None and step.status in DONE else None

    def is_unchanged(self, agreed: Agreed, step: Sync) -> bool:
        """Whether both are sure to have agreed since an earlier step, until this step's end.

        One save belongs to the step; any other save is a change by the slave.
        """
        saved, instant_ns = self.known.tables.saved, self.known.instant_ns
        asked = self.known.tables.asked(step.node, step.f)
        own = [each for each in saved(step.node, step.f, agreed.done.seq) if each.t - agreed.done.t > instant_ns]
        if own and (len(own) > 1 or asked is None or own[0].seq < asked.seq or step.t - own[0].t > instant_ns):
            return False
        return not saved(MASTER, step.f, agreed.asked.seq)


class CopiesLaw(MetadataLaw):
    """Base of laws that a slave violates if it lacks a synced entry that its master is sure to have still.

    If that is uncertain, the violation waits until the master is seen to have had the entry all the time.
    """

    def begin(self) -> None:
        self._suspected: list[tuple[Event, str, Sighting]] = []

    def suspect(self, event: Event, name: Name, text: str) -> None:
        copies = self.known.copies
        if copies.is_sure(name):
            self.violate(event, text, since=None)
        elif name in copies.master:
            self._suspected.append((event, text, copies.master[name]))

    def check_answer(self, event: Fail, needs: list[Name], when: str = "") -> None:
        """A call that needs these synced entries was refused, perhaps since one is missing."""
        self.judged += bool(needs)
        for name in needs:
            if name[0] == MISSING.get(event.status):
                self.suspect(event, name, f"{event.node} answered {event.status}{when}, and had synced {name[1]}")

    def check_table(self, event: Table, synced: Iterable[Name], when: str) -> None:
        """A slave's table must have these entries of all its tables that are its own."""
        names = sorted(name for name in synced if name[0] == event.f)
        self.judged += bool(names)
        for name in names:
            if not holds(event, name[1]):
                self.suspect(event, name, f"{event.node}'s {event.f} lack {name[1]}{when}")

    def end(self, last: Event) -> None:
        for event, text, sighting in self._suspected:
            if sighting.last > event.seq:
                self.violate(event, text, since=None)
