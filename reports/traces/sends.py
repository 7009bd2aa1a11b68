"""Sends of a history: the master's configuration, and each send's outcome, latency and fault.

A send lasts from its ``invoke`` to its ``ok``, ``fail`` or ``info``, and counts under the effective faults that it
overlapped: under their name, or under :data:`~pairproof.harness.rocketmq.objectives.SEVERAL`. Left out: sends to
another broker name.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...harness.history import Event
from ...harness.rocketmq.contract import PUT_OK
from ...harness.rocketmq.objectives import NO_FAULT, SEVERAL
from ...harness.rocketmq.settings import parse
from ...harness.rocketmq.topology import MASTER, OTHER


class Deployment(NamedTuple):
    """The master's durability settings; empty without a master."""

    role: str = ""
    flush: str = ""


class Send(NamedTuple):
    """One send to the pair; exactly one of the four outcomes is 1."""

    fault: str
    put_ok: int
    stored: int
    """Stored, with a doubt about the disk or the slaves: FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, ..."""
    refused: int
    unanswered: int
    latency_ns: int | None
    """None unless it was answered as stored."""


def deployment(events: Sequence[Event]) -> Deployment:
    """The deployment of one trial. ValueError if a ``config`` event holds no settings."""
    details = [event.detail for event in events if event.kind == "config" and event.node == MASTER]
    if not details:
        return Deployment()
    conf = parse(details[-1] or "{}")
    return Deployment(str(conf.get("brokerRole", "ASYNC_MASTER")), str(conf.get("flushDiskType", "ASYNC_FLUSH")))


def sends(events: Sequence[Event]) -> list[Send]:
    """The sends of one trial's events, which are in ``seq`` order."""
    idle = {each.op for each in events if each.kind == "fault" and each.status == "off" and not each.value}
    active: dict[int | None, str] = {}
    under_way: dict[int | None, tuple[int, set[str]]] = {}
    found = []
    for event in events:
        if event.kind == "fault" and event.op not in idle:
            if event.status == "on":
                active[event.op] = str(event.f)
                for _, faults in under_way.values():
                    faults.add(str(event.f))
            else:
                active.pop(event.op, None)
        elif event.f == "send" and event.kind == "invoke" and event.node != OTHER:
            under_way[event.op] = event.t, {*active.values()}
        elif event.f == "send" and event.kind in ("ok", "fail", "info") and event.op in under_way:
            began, faults = under_way.pop(event.op)
            found.append(_send(faults, event.kind, event.status, event.t - began))
    return found + [_send(faults, "info", None, 0) for _, faults in under_way.values()]


def _send(faults: set[str], kind: str, status: str | None, took: int) -> Send:
    fault = SEVERAL if len(faults) > 1 else next(iter(faults), NO_FAULT)
    is_ok, is_put_ok = kind == "ok", kind == "ok" and status == PUT_OK
    doubted = is_ok and not is_put_ok
    return Send(fault, int(is_put_ok), int(doubted), int(kind == "fail"), int(kind == "info"), took if is_ok else None)
