"""``read-split``: a broker tells a reader where to pull next, by its own settings, log end and memory.

With slaveReadEnable off the answer is 0, the master, always. With it on it is the group's whichBrokerWhenConsumeSlowly
if more lies between the last entry that the broker looked at and the end of *its* log than is in memory, which is
accessMessageInMemoryMaxRatio percent of its machine's; else the group's brokerId. A pull that found nothing looked at
no entry.

What a broker looked at last is known but for one entry: the last that it gave, or, where a full answer left some, the
one behind. And its log may grow while it answers. So a suggestion is wrong only if it is wrong for all of that.
Likewise for a group: every setting counts that the broker may have had meanwhile, by what an administrator changed, and
on a slave by when it last synced; what a broker had not saved may go with its process. A broker suggests the same to
readers whose user fixed a broker, and who will not follow; whether the others follow is ``route-choice``.

Left out: brokers whose memory nobody knows (``totalMemory``, ours; RocketMQ asks the machine), unless the ratio is 0;
diverged slaves. On a slave that has to echo an offset beyond its queue (PULL_RETRY_IMMEDIATELY) the group's
brokerId is right as well with slaveReadEnable off, as in RocketMQ; a slave of 5.x may always say 0 to who does not lag.
Source: DefaultMessageStore.getMessage, PullMessageProcessor.
"""

from collections.abc import Collection
from typing import NamedTuple

from ....event_types.client import Ok
from ....event_types.node import Config
from ....history import Event
from ....judging.law import CONVENTION, EventFilter, only
from ...known.metadata import GROUPS
from ...known.positions import Content
from ...law import Law
from ...settings import DEFAULTS, is_on, memory, parse, version
from ...topology import SLAVES
from ..delivery.pulled import MOVED, NOT_FOUND, RETRY


class Choice(NamedTuple):
    """Broker ids that a group wants."""

    usual: int = 0
    slow: int = 1


class Pull(NamedTuple):
    """An answer whose suggestion depends on how far behind the reader is."""

    ok: Ok
    slow: bool
    """Whether it says that the reader is slow."""
    begin: int
    end: int
    """Where the broker's log ended when the call began and when it ended."""
    memory: int
    content: Content


class ReadSplit(Law):
    id = "read-split"
    kind = CONVENTION
    promise = (
        "With slaveReadEnable off, a broker suggests the master. With it on, it suggests the id that the group has for "
        "readers that lag by more than memory holds, and to all other readers the group's usual id."
    )
    source = "DefaultMessageStore.getMessage, PullMessageProcessor"
    needs = frozenset({"config", "invoke", "ok"})
    awaits = {"invoke": EventFilter(frozenset({"pull"}))}

    def begin(self) -> None:
        self.splits: set[str | None] = set()
        """Brokers where reads are split."""
        self.pulls: list[Pull] = []

    def on_config(self, event: Config) -> None:
        # The model hears of it later.
        if is_on(parse(event.detail or "{}"), "slaveReadEnable"):
            self.splits.add(event.node)

    # Pulls.

    @only("pull")
    def on_ok(self, event: Ok) -> None:
        if event.broker is None or event.queue_offset is None:
            return
        self.judged += 1
        if event.node not in self.splits and event.broker == 0:
            return
        choices = self._choices(event)
        usual = {each.usual for each in choices}
        if event.node not in self.splits:
            echoes = event.node in SLAVES and event.status == RETRY
            self._check(event, usual if echoes else (), "slaveReadEnable is off")
            return
        if event.node in SLAVES and version(self.known.config.get(event.node, DEFAULTS)) >= (5,):
            usual.add(0)
        if event.status in (NOT_FOUND, MOVED):
            self._check(event, usual, "it looked at no entry")
            return
        slow = {each.slow for each in choices}
        self._check(event, usual | slow, f"its group wants {_shown(usual)}, or {_shown(slow)} when slow")
        # Where both sets name it, or nobody knows what was looked at, the lag does not matter.
        if event.status != RETRY and (event.broker in usual) != (event.broker in slow):
            self._keep(event, event.broker in slow)

    def _choices(self, event: Ok) -> set[Choice]:
        """All that the group's settings may have been at the broker while the call was under way."""
        begun = self.known.calls.begun(event)
        name = (GROUPS, event.group or "")
        return {Choice(*each) for each in self.known.tables.possible(event.node, name, begun.call.seq if begun else 0)}

    def _check(self, event: Ok, allowed: Collection[int], why: str) -> None:
        if event.broker not in allowed:
            self.violate(event, f"{event.node} suggested broker {event.broker} for {event.queue}; {why}")

    def _keep(self, event: Ok, slow: bool) -> None:
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
                    ok, f"{ok.node} suggested broker {ok.broker} for {ok.queue}, as to the slow; this was {lag}"
                )
            return
        left = ok.hi is None or ok.hi > following
        looked_at = pull.content.get((ok.queue, following)) if left else given
        if looked_at is not None and (least := pull.begin - max(looked_at).lo) > pull.memory:
            lag = f"at least {least} bytes behind the log's end, and {pull.memory} are in memory"
            self.violate(ok, f"{ok.node} suggested broker {ok.broker} for {ok.queue}; this was {lag}")


def _shown(ids: set[int]) -> str:
    return " or ".join(map(str, sorted(ids)))
