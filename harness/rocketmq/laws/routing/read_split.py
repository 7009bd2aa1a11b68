"""``read-split``: with slaveReadEnable off, a broker suggests the master. With it on, it suggests the id that the group
has for readers that lag by more than memory holds, and to all other readers the group's usual id.

Checks:
- With slaveReadEnable off the broker suggests 0, the master.
- With it on, it suggests the group's whichBrokerWhenConsumeSlowly if more lies between the last entry that it read and
  its log end than accessMessageInMemoryMaxRatio percent of the machine's memory; else the group's brokerId. A pull that
  found nothing read no entry.
- A suggestion must be right for one possible state: the last entry read (the last one given, or after a full answer the
  next one), the log's growth during the call, and the group's settings that the broker may have had, by an
  administrator's changes, a slave's syncs, and unsaved changes lost with the process.
- Readers with a fixed broker get the same suggestions. Whether others follow them: see ``route-choice``.
Abstains when:
- The broker's memory is unknown (``totalMemory``; RocketMQ asks the machine), unless the ratio is 0.
- The slave diverged.
- A slave returns an offset beyond its queue (PULL_RETRY_IMMEDIATELY): the group's brokerId is right as well with
  slaveReadEnable off. A slave of 5.x may always suggest 0 to a reader that does not lag.
Source: DefaultMessageStore.getMessage, PullMessageProcessor.
"""

from collections.abc import Collection
from typing import NamedTuple

from ....event_types.client import Ok
from ....history import Event
from ....judging.law import CONVENTION, EventFilter, only
from ...known.positions import Content
from ...known.tables import Group
from ...law import Law
from ...settings import DEFAULTS, is_on, memory, version
from ...topology import SLAVES
from ..delivery.pulled import MOVED, NOT_FOUND, RETRY


class Pull(NamedTuple):
    """An answer whose suggestion depends on the reader's lag."""

    ok: Ok
    slow: bool
    """Whether it treats the reader as slow."""
    begin: int
    end: int
    """The broker's log end at the call's begin and end."""
    memory: int
    content: Content


class ReadSplit(Law):
    kind = CONVENTION
    needs = frozenset({"config", "invoke", "ok"})
    awaits = {"invoke": EventFilter(frozenset({"pull"}))}

    def begin(self) -> None:
        self.pulls: list[Pull] = []

    @only("pull")
    def on_ok(self, event: Ok) -> None:
        if event.broker is None or event.queue_offset is None:
            return
        self.judged += 1
        splits = is_on(self.known.config.get(event.node, DEFAULTS), "slaveReadEnable")
        if not splits and event.broker == 0:
            return
        choices = self._choices(event)
        usual = {each.brokerId for each in choices}
        if not splits:
            echoes = event.node in SLAVES and event.status == RETRY
            self._check(event, usual if echoes else (), "slaveReadEnable is off")
            return
        if event.node in SLAVES and version(self.known.config.get(event.node, DEFAULTS)) >= (5,):
            usual.add(0)
        if event.status in (NOT_FOUND, MOVED):
            self._check(event, usual, "it read no entry")
            return
        slow = {each.whichBrokerWhenConsumeSlowly for each in choices}
        self._check(event, usual | slow, f"its group wants {_shown(usual)}, or {_shown(slow)} when slow")
        # The lag does not matter if both sets have the id, or the entry read is unknown.
        if event.status != RETRY and (event.broker in usual) != (event.broker in slow):
            self._check_lag_later(event, event.broker in slow)

    def _choices(self, event: Ok) -> set[Group]:
        """The settings that the group may have had at the broker during the call."""
        begun = self.known.calls.begun(event)
        return self.known.tables.groups(event.node, event.group or "", begun.call.seq if begun else 0)

    def _check(self, event: Ok, allowed: Collection[int], why: str) -> None:
        if event.broker not in allowed:
            self.violate(event, f"{event.node} suggested broker {event.broker} for {event.queue}; {why}")

    def _check_lag_later(self, event: Ok, slow: bool) -> None:
        begin, end = self.known.calls.end_before(event), self.known.logs.log_end(event.node)
        held = memory(self.known.config.get(event.node, DEFAULTS))
        if begin is None or end is None or held is None or begin > end or event.node in self.known.logs.diverged:
            return
        self.pulls.append(Pull(event, slow, begin, end, held, self.known.positions.content(event.node)))

    def end(self, last: Event) -> None:
        for pull in self.pulls:
            self._judge_lag(pull)

    def _judge_lag(self, pull: Pull) -> None:
        ok = pull.ok
        following = ok.queue_offset or 0
        given = pull.content.get((ok.queue, following - 1))
        if given is None:
            return
        if pull.slow:
            most = pull.end - min(given).lo
            if most <= pull.memory:
                lag = f"at most {most} bytes behind the log's end, and {pull.memory} are in memory"
                self.violate(
                    ok, f"{ok.node} suggested broker {ok.broker} for {ok.queue}, as if slow; this reader was {lag}"
                )
            return
        left = ok.hi is None or ok.hi > following
        entry = pull.content.get((ok.queue, following)) if left else given
        if entry is not None and (least := pull.begin - max(entry).lo) > pull.memory:
            lag = f"at least {least} bytes behind the log's end, and {pull.memory} are in memory"
            self.violate(ok, f"{ok.node} suggested broker {ok.broker} for {ok.queue}; this reader was {lag}")


def _shown(ids: set[int]) -> str:
    return " or ".join(map(str, sorted(ids)))
