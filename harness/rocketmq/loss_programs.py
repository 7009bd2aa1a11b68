"""The corpus of losses: for each class of faults a program with enough load to lose messages if a configuration allows
it.

A *lead* of sends is stored and copied. Then the slave's link is down for the *lag*, so that an asynchronous slave lacks
the last sends; the fault follows at once, before a flush that is due within half a second. Sends continue during the
fault and after it. The settings are the user's and the lab's.

Source: the scenarios ``loss-*`` (decision 43), whose moments these programs use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..exploration.losses import LossProgram
from ..trials.schedule import Args, Op, Schedule
from .outlook import BOTH, FULL, KILL, PARTITION, POWER, PROMOTION, READ_ONLY, SLAVE, WIPED, classes
from .topology import CLIENT_LINKS, HA_LINKS, MASTER, NODES, slaves

BODY, LARGE = 1_024, 1_500
"""Bytes: both fit the smallest log file of a lab."""
FILLS = 60
"""Large bodies that fill the largest log file, since a full disk still accepts bytes into the last file."""
LASTS_MS = 1_500
FAULTS = {
    KILL: "kill", POWER: "power_loss", WIPED: "wipe", FULL: "disk_full", READ_ONLY: "read_only", PROMOTION: "promotion",
}  # fmt: skip
LAGS = (KILL, POWER, WIPED, PROMOTION)
"""Faults before which an asynchronous slave lags."""


def programs(settings: Args) -> Iterator[LossProgram]:
    """One for each class of a pair with these settings."""
    count = slaves(settings)
    for fault, of in classes(count > 0):
        ops = (*_load(24, 50), *_lag(fault, of, count), *_during(fault, of, count), *AFTER)
        yield LossProgram(fault, of, Schedule({}, f"losses/{fault}/{of}", ops))


def _load(times: int, every_ms: int, size: int = BODY) -> tuple[Op, ...]:
    send = Op("send", {"producer": 0, "size": size, "wait": True, "queue": 0})
    return (send, Op("advance", {"ms": every_ms})) * times


AFTER = (*_load(8, 400), Op("advance", {"ms": 4_000}), *_load(4, 100))
"""Longer than the first report of RocketMQ's slaves takes; sends show when the pair is available again."""


def _lag(fault: str, of: str, count: int) -> tuple[Op, ...]:
    """The last sends before the fault, which no slave receives."""
    if fault not in LAGS or not count or (of == SLAVE and fault != PROMOTION):
        return ()
    return _under([{"name": "down", "link": link} for link in HA_LINKS[:count]], _load(20, 2))


def _during(fault: str, of: str, count: int) -> tuple[Op, ...]:
    load = (FILLS, LASTS_MS // FILLS, LARGE) if fault == FULL else (15, LASTS_MS // 15)
    return _under(list(_begun(fault, of, count)), _load(*load))


def _under(faults: Sequence[Args], ops: Iterable[Op]) -> tuple[Op, ...]:
    healed = (Op("heal", {"name": each["name"]}) for each in faults)
    return (*(Op("fault", each) for each in faults), *ops, *healed)


def _begun(fault: str, of: str, count: int) -> Iterator[Args]:
    if fault == PARTITION:
        links = (*HA_LINKS[:count], *((CLIENT_LINKS[0],) if of == MASTER else ()))
        yield from ({"name": "down", "link": link} for link in links)
        return
    more = {"keep": "none"} if fault == POWER else {"rejoin": "wiped"} if fault == PROMOTION else {}
    for node in NODES[: count + 1] if of == BOTH else (of,):
        yield {"name": FAULTS[fault], "node": node, **more}
