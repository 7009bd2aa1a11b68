"""What was deployed: how many masters and slaves, and what the master promises by its role and its flush mode."""

from collections.abc import Iterable
from typing import NamedTuple

from ...harness.history import Event
from ...harness.rocketmq.places import MASTER, OTHER, SLAVES
from ...harness.rocketmq.settings import parse
from ...harness.texts.wording import counted


class Deployment(NamedTuple):
    """Read from the ``config`` events of a history: who is configured, not who is up."""

    masters: int = 0
    """Broker names, each with one master."""
    slaves: int = 0
    """Of the first broker name's master, which is the one that trials hurt."""
    role: str = ""
    """Its brokerRole."""
    flush: str = ""
    """Its flushDiskType."""


def deployment(events: Iterable[Event]) -> Deployment:
    """Of one trial. ValueError if a ``config`` event holds no settings."""
    configured = {event.node: event for event in events if event.kind == "config"}
    if MASTER not in configured:
        return Deployment()
    said = parse(configured[MASTER].detail or "{}")
    return Deployment(
        1 + (OTHER in configured),
        sum(node in configured for node in SLAVES),
        str(said.get("brokerRole", "ASYNC_MASTER")),
        str(said.get("flushDiskType", "ASYNC_FLUSH")),
    )


def brokers(masters: int, slaves: int) -> str:
    """How many there are, in words."""
    names = "single master" if masters == 1 else f"{masters} masters"
    return f"{names}, {counted(slaves, 'slave')}" if slaves else f"{names}, no slave"


def shown(masters: int, slaves: int, role: str, flush: str) -> str:
    """A deployment in words."""
    return f"{brokers(masters, slaves)}, {role} {flush}"
