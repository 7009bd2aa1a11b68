"""The durability contract: which messages a crash may take, as data.

A message's fate depends on the master's role and flush type, on whether the send waited, on how it was answered, and
on the worst that happened to the two stores since it was stored. :data:`ROWS` says what must become of it; the first
row that matches counts. "Stored" statuses all mean that the message was on the master when it answered.

Derived from RocketMQ 4.9's put path: a killed process leaves its page cache, so only a machine's crash takes bytes;
SYNC_FLUSH makes PUT_OK to a waiting send durable on the master; a SYNC_MASTER's PUT_OK to one means that a slave holds
it in *its* page cache. In RocketMQ the replica's outcome overrides the flush's, so no other status says anything of the
disk; and FLUSH_DISK_TIMEOUT is not counted as a promise of the slave either, since nobody documents it as one.

Left out: disks that lie about flushes, lost disks, and the transient store pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

MUST_SURVIVE = "must-survive"
"""On the master."""
SOMEWHERE = "must-survive-somewhere"
"""On the master or on the slave."""
MAY_VANISH = "may-vanish"
MUST_NOT_EXIST = "must-not-exist"

ANY = "*"

STORED = ("PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")
"""Statuses that say: it is on the master."""
REFUSED = "refused"
"""Answered with a code that says: nothing was stored."""
UNKNOWN = "unknown"
"""Not answered, or answered with a code that leaves it open."""

FAULTS = {
    "none": "neither store was hurt",
    "process-crash": "a broker's process was killed",
    "slave-machine-crash": "the slave's machine lost power, or its store was wiped",
    "master-machine-crash": "the master's machine lost power",
    "both-machines-crash": "both machines lost power, one after the other or together",
    "rollback": "the master's machine lost power, and the slave that had acknowledged the message held other bytes in "
    "its place: an earlier crash of the master had left it with a history of its own, which the 4.9 wire cannot show",
}
"""Fault classes, mildest first: what happened since the message was stored."""


class Row(NamedTuple):
    """A rule. ``*`` matches all; ``status`` and ``fault`` may list several, joined by ``|``."""

    role: str
    flush: str
    wait: str
    status: str
    fault: str
    must: str
    why: str


_STORED = "|".join(STORED)
_LOSES_MASTER = "master-machine-crash|both-machines-crash|rollback"

ROWS: tuple[Row, ...] = (
    Row(ANY, ANY, ANY, REFUSED, ANY, MUST_NOT_EXIST, "the answer said that it was not stored"),
    Row(ANY, ANY, ANY, UNKNOWN, ANY, MAY_VANISH, "nobody was told anything"),
    Row(
        ANY, ANY, ANY, _STORED, "none|process-crash|slave-machine-crash", MUST_SURVIVE,
        "it was on the master, whose page cache outlives its process",
    ),
    Row(ANY, "SYNC_FLUSH", "waits", "PUT_OK", _LOSES_MASTER, MUST_SURVIVE, "it was on the master's disk"),
    Row(
        "SYNC_MASTER", "ASYNC_FLUSH", "waits", "PUT_OK", "master-machine-crash", SOMEWHERE,
        "the slave had it, and kept its own store",
    ),
    Row(ANY, ANY, ANY, _STORED, _LOSES_MASTER, MAY_VANISH, "nobody promised that it was on a disk"),
)  # fmt: skip


@lru_cache(maxsize=1024)
def must(role: str, flush: str, waits: bool, status: str, fault: str) -> str:
    """What must become of a message: the ``must`` of the first row that matches.

    ``status``: one of :data:`STORED`, REFUSED or UNKNOWN; ``fault``: one of :data:`FAULTS`. KeyError if no row matches.
    """
    return _row(role, flush, waits, status, fault).must


def _row(role: str, flush: str, waits: bool, status: str, fault: str) -> Row:
    asked = (role, flush, "waits" if waits else "does-not-wait", status, fault)
    for row in ROWS:
        if all(rule == ANY or each in rule.split("|") for rule, each in zip(row[:5], asked, strict=True)):
            return row
    raise KeyError(f"the contract has no row for {asked}")


def fault_class(happened: Iterable[tuple[str, str]], misled: bool = False) -> str:
    """The class of what happened to the stores: (node, process | machine | wipe) each, in any order.

    ``misled``: the slave was in class rollback when the message was acknowledged.
    """
    hurt = {(node == "master", how != "process") for node, how in happened}
    master, slave = (True, True) in hurt, (False, True) in hurt
    if master and misled:
        return "rollback"
    if master and slave:
        return "both-machines-crash"
    if master:
        return "master-machine-crash"
    if slave:
        return "slave-machine-crash"
    return "process-crash" if hurt else "none"


def to_markdown() -> str:
    """The contract as a Markdown table and a list of its fault classes, for the documentation."""
    lines = ["| role | flush | send | answer | what happened | must | why |", "|---|---|---|---|---|---|---|"]
    for row in ROWS:
        shown = ["any" if each == ANY else each.replace("|", ", ") for each in row[:5]]
        lines.append("| " + " | ".join((*shown, f"**{row.must}**", row.why)) + " |")
    lines += ["", *(f"- `{name}`: {what}" for name, what in FAULTS.items())]
    return "\n".join(lines) + "\n"
