"""What the laws about slaves that sync their tables share.

A slave that registers with a name server learns from it where its master is, and from then on fetches its tables on a
schedule that depends on its version. A slave without a name server never fetches any, so none of these laws applies.

Sources: BrokerController.handleSlaveSynchronize of 4.4.0, 4.9.7 and 5.5.0.
"""

from typing import NamedTuple

from ....event_types.node import Config
from ....history import MS, Event
from ...event_types.metadata import Sync
from ...known.copies import Sighting
from ...known.metadata import DONE, Name
from ...law import Law
from ...settings import Settings, parse, version
from ...topology import MASTER

CALL_NS = 3_000 * MS
"""What a slave waits for one answer."""


class Schedule(NamedTuple):
    """When slaves of a version line sync, ms."""

    since: tuple[int, ...]
    """The first version of the line."""
    first: int
    """From the start to the first time."""
    period: int
    look: int
    """How late that may be, since the slave only looks so often."""


SCHEDULES = (
    Schedule((5,), 60_000, 60_000, 3_000),
    Schedule((4, 5), 3_000, 10_000, 0),
    Schedule((0,), 10_000, 60_000, 0),
)
"""Newest first."""


def schedule(settings: Settings) -> Schedule:
    """A slave's schedule by its version."""
    numbers = version(settings)
    return next(each for each in SCHEDULES if each.since <= numbers)


class Agreed(NamedTuple):
    """A step of a sync after which slave and master agreed."""

    asked: Sync
    done: Sync


class MetadataLaw(Law):
    """Base of laws that apply to slaves which sync: those that know a name server."""

    def begin(self) -> None:
        self.slaves: dict[str, Settings] = {}

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if settings.get("brokerRole") == "SLAVE" and settings.get("namesrvAddr"):
            self.slaves[event.node] = settings
        self.applicable = bool(self.slaves)

    def agreed(self, step: Sync) -> Agreed | None:
        """Of a step that ends: what it proves. The copy was the master's table at some moment of it."""
        asked = self.known.tables.asked(step.node, step.f)
        return Agreed(asked, step) if asked is not None and step.status in DONE else None

    def is_unchanged(self, agreed: Agreed, step: Sync) -> bool:
        """Whether, as a step ends, both are sure to have agreed already, since an earlier one.

        One save is the step's own; what the slave saved earlier, or besides, is a change of its own.
        """
        saved, instant_ns = self.known.tables.saved, self.known.instant_ns
        asked = self.known.tables.asked(step.node, step.f)
        own = [each for each in saved(step.node, step.f, agreed.done.seq) if each.t - agreed.done.t > instant_ns]
        if own and (len(own) > 1 or asked is None or own[0].seq < asked.seq or step.t - own[0].t > instant_ns):
            return False
        return not saved(MASTER, step.f, agreed.asked.seq)


class CopiesLaw(MetadataLaw):
    """Base of laws that accuse a slave of not having what it has synced: only if its master is sure to have it still.

    Where that is not known yet the accusation waits until the master is seen to have had it all the time.
    """

    def begin(self) -> None:
        super().begin()
        self._suspected: list[tuple[Event, str, Sighting]] = []

    def suspect(self, event: Event, name: Name, text: str) -> None:
        """A slave lacks ``name``."""
        copies = self.known.copies
        if copies.is_sure(name):
            self.violate(event, text, since=None)
        elif name in copies.master:
            self._suspected.append((event, text, copies.master[name]))

    def end(self, last: Event) -> None:
        for event, text, sighting in self._suspected:
            if sighting.last > event.seq:
                self.violate(event, text, since=None)
