"""The durability contract: the messages that a crash may take, as data.

A message's fate depends on the master's role, its in-sync replicas and its flush type, on whether the send waited, on
its answer, and on the worst event of the stores since it was stored. :data:`ROWS` has the requirement; the first row
that matches counts. "Stored" statuses all mean that the message was on the master when it answered.

Derived from RocketMQ's put path. A killed process leaves its page cache, so only a machine's crash takes bytes.
SYNC_FLUSH makes PUT_OK to a waiting send durable on the master. A SYNC_MASTER's PUT_OK to a waiting send means that N -
1 slaves hold it in *their* page caches, where N is inSyncReplicas (4.x: always 2; 5.x: default 1, which promises no
more than an ASYNC_MASTER). In RocketMQ the replica's result overrides the flush's, so other statuses do not concern the
disk. FLUSH_DISK_TIMEOUT is not counted as a slave's promise either, since no documentation makes it one.

With a transient store pool the end of a process counts as that of its machine, for messages that were still in the pool
(:mod:`.known.stores`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from .settings import Settings
from .topology import MASTER

MUST_SURVIVE = "must-survive"
"""On the master."""
SOMEWHERE = "must-survive-somewhere"
"""On the master or on any slave."""
MAY_VANISH = "may-vanish"
MUST_NOT_EXIST = "must-not-exist"

ANY = "*"
ALONE, COPIED = "1", "2 or more"
"""In-sync replicas, including the master: whether slaves hold a waiting send that was answered with PUT_OK."""

PUT_OK = "PUT_OK"
"""Stored, and durable and copied as the broker's settings promise."""
STORED = (PUT_OK, "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")
"""Statuses that mean: it is on the master."""
REFUSED = "refused"
"""Answered with a code that means: nothing was stored."""
UNKNOWN = "unknown"
"""No answer, or a code that leaves the result open."""

FAULTS = {
    "none": "no store was affected",
    "process-crash": "a broker's process was killed",
    "slave-machine-crash": "slaves' machines lost power, or their stores were wiped",
    "master-machine-crash": "the master's machine lost power; fewer slaves were affected than hold the message by "
    "its answer",
    "both-machines-crash": "the master's machine lost power, and as many slaves were affected as hold the message by "
    "its answer, together or one after the other",
    "rollback": "the master's machine lost power, and a slave that had acknowledged the message held other bytes at "
    "its position: it had diverged in an earlier crash of the master, which the 4.9 wire cannot show",
    "lying-disk": "the master's machine lost power, and bytes that its disk had called durable; slaves as with "
    "master-machine-crash",
    "master-store-lost": "the master's store was wiped, or replaced by an older state of it; slaves as with "
    "master-machine-crash",
    "promotion": "the master was lost, and a slave that holds the message by its answer became the master; to that "
    "slave's store nothing worse than the end of a process happened, before or since",
    "all-copies-lost": "the master's store was lost, or its disk had lied, and so many slaves were affected, or held "
    "other bytes, that no copy need be left",
    "expired": "the master's retention deleted the file that held it",
}
"""Fault classes, mildest first: the events since the message was stored."""


class Row(NamedTuple):
    """A rule. ``*`` matches all; ``status`` and ``fault`` may list several, joined by ``|``."""

    role: str
    replicas: str
    flush: str
    wait: str
    status: str
    fault: str
    must: str
    why: str


_STORED = "|".join(STORED)
_CRASHES = "master-machine-crash|both-machines-crash|rollback"
_WITH_A_COPY_LEFT = "master-machine-crash|lying-disk|master-store-lost"

ROWS: tuple[Row, ...] = (
    Row(ANY, ANY, ANY, ANY, REFUSED, ANY, MUST_NOT_EXIST, "the answer said that it was not stored"),
    Row(ANY, ANY, ANY, ANY, UNKNOWN, ANY, MAY_VANISH, "no client received an answer"),
    Row(
        ANY, ANY, ANY, ANY, _STORED, "none|process-crash|slave-machine-crash", MUST_SURVIVE,
        "it was on the master, whose page cache outlives its process",
    ),
    Row(ANY, ANY, "SYNC_FLUSH", "waits", "PUT_OK", _CRASHES, MUST_SURVIVE, "it was on the master's disk"),
    Row(
        "SYNC_MASTER", COPIED, ANY, "waits", "PUT_OK", "promotion", MUST_SURVIVE,
        "the slave that became the master had it",
    ),
    Row(
        "SYNC_MASTER", COPIED, ANY, "waits", "PUT_OK", _WITH_A_COPY_LEFT, SOMEWHERE,
        "slaves had it, and at least one of them kept its own store",
    ),
    Row(
        ANY, ANY, ANY, ANY, _STORED, f"{_CRASHES}|lying-disk|master-store-lost|promotion|all-copies-lost", MAY_VANISH,
        "no answer promised that it was on a disk, or no disk is left that it was on",
    ),
    Row(ANY, ANY, ANY, ANY, _STORED, "expired", MAY_VANISH, "it was kept as long as the settings require"),
)  # fmt: skip


@lru_cache(maxsize=1024)
def must(role: str, replicas: int, flush: str, waits: bool, status: str, fault: str) -> str:
    """The requirement for a message: the ``must`` of the first row that matches.

    ``replicas``: brokers, including the master, that hold a SYNC_MASTER's send before PUT_OK; ``status``: one of
    :data:`STORED`, REFUSED or UNKNOWN; ``fault``: one of :data:`FAULTS`. KeyError if no row matches.
    """
    return _row(role, replicas, flush, waits, status, fault).must


def must_with(settings: Settings, copies: int, waits: bool, status: str, fault: str) -> str:
    """:func:`must` for a master with these settings, whose answer promises so many slaves' ``copies``."""
    role, flush = settings.get("brokerRole", "ASYNC_MASTER"), settings.get("flushDiskType", "ASYNC_FLUSH")
    return must(str(role), copies + 1, str(flush), waits, status, fault)


def _row(role: str, replicas: int, flush: str, waits: bool, status: str, fault: str) -> Row:
    count = ALONE if replicas < 2 else COPIED
    asked = (role, count, flush, "waits" if waits else "does-not-wait", status, fault)
    if fault in FAULTS:
        for row in ROWS:
            if all(rule == ANY or each in rule.split("|") for rule, each in zip(row[:6], asked, strict=True)):
                return row
    raise KeyError(f"the contract has no row for {asked}")


LIED, WIPE, EXPIRE, POOL = "lied", "wipe", "expire", "pool"
"""Events of a store: a machine's crash with the loss of data that the disk had called durable; its replacement; the
deletion of the files that held the message; a killed process, in whose transient store pool the message was.
"""
PROMOTED = "promoted "
"""The prefix of the promoted slave's name in the events of the master."""


def fault_class(
    happened: Iterable[tuple[str, str]], acked_while_diverged: bool = False, copies: int = 1, everyone: bool = False
) -> str:
    """The fault class of the events since: (node, how) each; promotions in their order.

    ``how``: process, machine, :data:`LIED`, :data:`WIPE`, :data:`EXPIRE`, :data:`POOL` (of the message itself) or
    :data:`PROMOTED` and a name. ``acked_while_diverged``: a slave was diverged when the message was acknowledged.
    ``copies``: the slaves that hold the message by its answer; ``everyone``: whether these are all slaves.
    """
    seen, owner = _by_store(happened)
    master = {how for store, how in seen if store == MASTER}
    hurt = {store for store, how in seen if store != MASTER and how != "process"}
    copy_left = not acked_while_diverged and (not hurt or len(hurt) < copies)
    if EXPIRE in master or (owner, EXPIRE) in seen:
        return "expired"
    if owner != MASTER:
        if everyone and not acked_while_diverged and owner not in hurt:
            return "promotion"
        return "master-store-lost" if copy_left else "all-copies-lost"
    if WIPE in master or LIED in master:
        if not copy_left:
            return "all-copies-lost"
        return "master-store-lost" if WIPE in master else "lying-disk"
    if "machine" in master or POOL in master:
        if acked_while_diverged:
            return "rollback"
        return "master-machine-crash" if copy_left else "both-machines-crash"
    if hurt:
        return "slave-machine-crash"
    return "process-crash" if seen else "none"


def _by_store(happened: Iterable[tuple[str, str]]) -> tuple[set[tuple[str, str]], str]:
    """The same events by the original owner of each store, and the owner of the master's final store: a promotion swaps
    two.

    The old master's store may then be emptied or restored: nothing is assumed of it.
    """
    at: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for node, how in happened:
        if how.startswith(PROMOTED):
            slave = how.removeprefix(PROMOTED)
            at[MASTER], at[slave] = at.get(slave, slave), at.get(MASTER, MASTER)
            seen.add((at[slave], WIPE))
        else:
            seen.add((at.get(node, node), how))
    return seen, at.get(MASTER, MASTER)
