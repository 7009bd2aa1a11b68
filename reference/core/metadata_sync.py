"""A slave fetches its master's tables: topics, consumer offsets, delay offsets, subscription groups, in this order.

The version line's schedule sets the rounds. A round does nothing while no name server has reported the master, or if
the master is this broker. A failed fetch (no connection, no answer in 3 s, a malformed body) does not affect the other
tables. A round that takes longer than the period delays the next one: rounds never overlap. Topics come from the
master's fast port, two below its main one.

Topics and groups are replaced if their data version differs. Consumer offsets have no version, and replace the slave's
for each topic@group in the master's table; delay offsets are written to their file unchanged. Unchanged files are not
rewritten. A table may fill a frame (16 MiB). Source: SlaveSynchronize, BrokerController.handleSlaveSynchronize,
BrokerOuterAPI.
"""

import re
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ..errors import CodecError
from ..ports import MS
from ..wire import beans, bodies, remoting
from ..wire.bodies import DataVersion
from ..wire.headers import RequestCode
from .calls import Outcome
from .parts import Parts
from .versioned_table import VersionedTable

TIMEOUT_NS = 3_000 * MS
FAST_PORT_BELOW = 2
LOOK = ("sync", None)
_ADDRESS = re.compile(r"([^\s:]+):([0-9]{1,5})")


class Step(NamedTuple):
    """One table to fetch. ``take`` applies the answer's body; False if the slave has that version already."""

    table: str
    code: int
    fast: bool
    take: Callable[[bytes], bool]


class MetadataSync:
    """One slave's sync. ``master``: its address from a name server; empty if unknown.

    ``topics_applied`` is called when the slave's topics have changed.
    """

    def __init__(self, parts: Parts, topics_applied: Callable[[], None]) -> None:
        self.parts = parts
        self.master = ""
        self.topics_applied = topics_applied
        self.schedule = parts.config.version.sync
        self.steps = (
            Step("topics", RequestCode.GET_ALL_TOPIC_CONFIG, True, self.take_topics),
            Step("offsets", RequestCode.GET_ALL_CONSUMER_OFFSET, False, self.take_offsets),
            Step("delays", RequestCode.GET_ALL_DELAY_OFFSET, False, self.take_delays),
            Step("groups", RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, False, self.take_groups),
        )
        self._left: Iterator[Step] = iter(())
        # The last applied body by table, and its version; local changes may have followed.
        self._seen: dict[str, tuple[bytes, DataVersion]] = {}
        self._due = 0
        self._last = 0

    def start(self) -> None:
        """Begin the schedule. Without a name server there is none: the master stays unknown."""
        if self.parts.config.name_servers:
            self._last = self.parts.io.now()
            self._due = self._last + self.schedule.first * MS
            self.parts.io.timer(LOOK, self._due)

    def on_timer(self, key: Hashable) -> None:
        if self.parts.io.now() - self._last < self.schedule.rest * MS or not self._address(fast=False):
            self._schedule_next()
            return
        self._left = iter(self.steps)
        self._next()

    # Application of answers. CodecError: malformed table.

    def take_topics(self, body: bytes) -> bool:
        applied = self._take(self.parts.topics, body)
        if applied:
            self.topics_applied()
        return applied

    def take_groups(self, body: bytes) -> bool:
        return self._take(self.parts.groups, body)

    def take_offsets(self, body: bytes) -> bool:
        offsets = self.parts.offsets
        theirs = beans.decode(bodies.ConsumerOffsets, body).offset_table
        if offsets.changed or any(offsets.table.get(key) != queues for key, queues in theirs.items()):
            offsets.apply_from_master(theirs)
        return True

    def take_delays(self, body: bytes) -> bool:
        delays = self.parts.delay_offsets
        if self.parts.io.disk.read_whole(delays.file.name) != body:
            delays.save_text(body)
        return True

    def _take(self, table: VersionedTable[Any], body: bytes) -> bool:
        name = table.file.name
        # The disk may have been full when the table was applied.
        table.save()
        if self._seen.get(name) == (body, table.version):
            # The usual case; parsing the body again would dominate the cost.
            return False
        entries, version = table.parse(body)
        self._seen[name] = body, version
        return table.apply_from_master(entries, version)

    def _next(self) -> None:
        step = next(self._left, None)
        address = self._address(step.fast) if step is not None else ""
        if step is None or not address:
            self._last = self.parts.io.now()
            self._schedule_next()
            return
        self.parts.watcher.synced(step.table, "asked")
        self.parts.calls.call(address, step.code, {}, b"", partial(self._ended, step), TIMEOUT_NS)

    def _ended(self, step: Step, outcome: Outcome) -> None:
        status, answer = "failed", outcome.answer
        if answer is not None and answer.code == remoting.SUCCESS:
            try:
                status = "applied" if step.take(answer.body) else "same"
            except CodecError:
                status = "unread"
        self.parts.watcher.synced(step.table, status)
        self._next()

    def _schedule_next(self) -> None:
        now = self.parts.io.now()
        self._due = max(now, self._due + self.schedule.every * MS)
        self.parts.io.timer(LOOK, self._due)

    def _address(self, fast: bool) -> str:
        """The address to fetch from; empty if the master is unknown, this broker itself, or has an illegal address."""
        found = _ADDRESS.fullmatch(self.master)
        if found is None or self.master == self.parts.config.address:
            return ""
        return f"{found[1]}:{int(found[2]) - FAST_PORT_BELOW}" if fast else self.master
