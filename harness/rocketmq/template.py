"""Parts of workload templates: short forms of operations, shared beginnings, and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..trials.schedule import Args, Op, Scalar
from .operations.join import ORDERLY


class Template(NamedTuple):
    """``settings`` that it needs beside a name server, and its operations."""

    about: str
    settings: Args
    ops: tuple[Op, ...]
    alone: bool = False
    """Whether nothing may disturb it, since no broker promises anything about its store."""


def workload(about: str, *ops: Op, settings: Mapping[str, Scalar] = {}, alone: bool = False) -> Template:
    """A template of these operations."""
    return Template(about, settings, ops, alone)


def advance(ms: int) -> Op:
    """Time passes."""
    return Op("advance", {"ms": ms})


def send(queue: int, wait: bool = False, size: int = 300) -> Op:
    """A send to a queue, by its own producer."""
    return Op("send", {"producer": queue, "size": size, "wait": wait, "queue": queue})


def batch(queue: int) -> Op:
    """One request with seven small messages."""
    return Op("batch", {"producer": queue, "count": 7, "size": 60, "wait": False, "queue": queue})


def edge_case(queue: int, what: str) -> Op:
    """An edge-case send."""
    return Op("edge_case_send", {"producer": queue, "what": what, "wait": False, "queue": queue})


def astray(node: str, queue: int) -> Op:
    """A send to another broker than the master."""
    return Op("send_to_wrong_broker", {"node": node, "queue": queue})


def pull(node: str) -> Op:
    """A plain reader pulls from ``node``."""
    return Op("pull", {"reader": 0, "node": node, "queue": 0})


def fault(name: str, **args: Scalar) -> Op:
    """A fault begins."""
    return Op("fault", {"name": name, **args})


def heal(name: str) -> Op:
    """The fault ends."""
    return Op("heal", {"name": name})


def join(group: int, consumer: int) -> Op:
    """A consumer joins."""
    return Op("join", {"group": group, "consumer": consumer})


def leave(group: int, consumer: int, lost: bool = False) -> Op:
    """A consumer leaves."""
    return Op("leave", {"group": group, "consumer": consumer, "lost": lost})


def topic(queues: int, node: str) -> Op:
    """An administrator changes a topic."""
    return Op("topic", {"number": 0, "queues": queues, "node": node})


def change(what: str, **args: Scalar) -> Op:
    """An administrator changes a topic or group at the master."""
    return Op(what, {"node": "master", **args})


def group(number: int, broker: int, node: str) -> Op:
    """An administrator sets the broker from which a group normally reads."""
    return Op("group", {"group": number, "slowly": 1, "broker": broker, "node": node})


def delayed(queue: int, level: int) -> Op:
    """A delayed send to a queue."""
    return Op("delayed", {"producer": queue, "queue": queue, "level": level})


ALONE = (join(0, 0), advance(1_000), send(0))
CONSUMING = (join(0, 0), join(0, 1), advance(1_000), send(0), send(1), send(3), advance(6_000))
IN_ORDER = (join(ORDERLY, 0), advance(1_000), send(0), send(1), advance(6_000))
AWAY = (
    fault("kill", node="master"),
    send(0, wait=True),
    astray("slave", 1),
    pull("slave"),
    advance(38_000),
)
BACK = (heal("kill"), advance(1_000), send(1), send(2), advance(38_000))

EXPIRED = (send(0), send(0, size=1_700), send(1, size=1_700), advance(100), fault("retention", node="master"))
"""A log that does not begin at 0."""
REBORN = (send(0), advance(100))
"""The machine is up again: the first use of an old connection only shows that it is closed."""

BOTH_EXPIRE = (fault("retention", node="master"), fault("retention", node="slave"))


def cold(node: str) -> tuple[Op, ...]:
    """A broker is stopped in an orderly way, and then its machine loses power for a while."""
    off = fault("restart", node=node), fault("power_loss", node=node, keep="some")
    return *off, advance(1_000), heal("power_loss"), heal("restart"), advance(6_000)


EVERY_HOUR = ";".join(f"{hour:02}" for hour in range(24))
AGING: Args = {"fileReservedTime": 1, "deleteWhen": EVERY_HOUR, "mappedFileSizeCommitLog": 2_048}
"""Files expire when a clock is advanced by an hour."""
