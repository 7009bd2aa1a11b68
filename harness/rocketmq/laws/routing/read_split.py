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

import json
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from ....history import Event
from ....judging.law import CONVENTION, only
from ....kinds.client import Call, Deliver, Fail, Info, Invoke, Ok
from ....kinds.node import Config, Crash, Start, Stop, Wipe
from ...kinds.log import Record
from ...kinds.metadata import Persist, Sync
from ...law import Law
from ...places import MASTER, SLAVES
from ...settings import DEFAULTS, is_on, memory, parse, version
from ..delivery.pulled import MOVED, NOT_FOUND, RETRY


class Choice(NamedTuple):
    """Broker ids that a group wants."""

    usual: int = 0
    slow: int = 1


class Change(NamedTuple):
    """An administrator's: what, and between which events it happened; ``done`` None: nobody knows."""

    op: int | None
    choice: Choice
    began: int
    done: int | None


class Held(NamedTuple):
    """From an event on a slave holds what it asked for with another."""

    since: int
    asked: int


class Groups:
    """What each broker may hold of a group's settings. Bounded by an administrator's calls."""

    def __init__(self) -> None:
        self.changes: dict[str | None, list[Change]] = {}
        self._synced: dict[str | None, list[Held]] = {}
        """By slave, the oldest first."""
        self._asked: dict[str | None, int] = {}
        self._saved: dict[str | None, int] = {}
        """By broker: the event with which it last saved its groups."""
        self._taken: dict[str | None, int] = {}
        """By slave: the event with which it asked for the table that it last took."""
        self._lost = False
        """Whether the master may hold an older table than it had."""

    def change(self, call: Call) -> None:
        """An administrator's call begins or ends; what a slave took on the next sync takes back."""
        known = self.changes.setdefault(call.message, [Change(None, Choice(), -1, -1)])
        if call.kind == "invoke":
            known.append(Change(call.op, _choice(call.detail or "{}"), call.seq, None))
        elif call.kind == "ok" and call.node == MASTER:
            known[:] = [each._replace(done=call.seq) if each.op == call.op else each for each in known]
        elif call.kind == "fail":
            known[:] = [each for each in known if each.op != call.op]

    def sync(self, step: Sync) -> None:
        if step.status == "asked":
            self._asked[step.node] = step.seq
        elif step.status in ("same", "applied"):
            asked = self._asked.pop(step.node, None)
            if asked is not None:
                self._synced.setdefault(step.node, []).append(Held(step.seq, asked))
                if step.status == "applied":
                    self._taken[step.node] = asked

    def save(self, step: Persist) -> None:
        self._saved[step.node] = step.seq

    def end(self, node: str, seq: int) -> None:
        """A broker's process ends: what it could not save, since its disk was full, is gone."""
        if node in SLAVES:
            newest = self._taken.get(node, -1)
        else:
            newest = max((each.began for known in self.changes.values() for each in known), default=-1)
        if newest > self._saved.get(node, -1):
            self.lose(node, seq)

    def lose(self, node: str, seq: int) -> None:
        if node in SLAVES:
            self._synced.setdefault(node, []).append(Held(seq, _NEVER))
        else:
            self._lost = True

    def as_of(self, node: str | None, seq: int) -> int:
        """The event as of which ``node`` has the master's groups at the event ``seq``."""
        if node not in SLAVES:
            return seq
        return next((each.asked for each in reversed(self._synced.get(node, ())) if each.since < seq), _NEVER)

    def possible(self, group: str | None, since: int) -> set[Choice]:
        """What who has the master's groups as of the event ``since``, or later, may hold."""
        known = self.changes.get(group)
        if known is None:
            return _DEFAULT
        if self._lost or since == _NEVER:
            return {each.choice for each in known}
        return {
            each.choice
            for each in known
            if each.done is None
            or not any(later.began > each.done and later.done is not None and later.done <= since for later in known)
        }


_DEFAULT = {Choice()}
_NEVER = -2


@lru_cache(maxsize=64)
def _choice(detail: str) -> Choice:
    said = json.loads(detail)
    return Choice(int(said.get("brokerId", 0)), int(said.get("whichBrokerWhenConsumeSlowly", 1)))


class Pull(NamedTuple):
    """An answer whose suggestion depends on how far behind the reader is."""

    ok: Ok
    slow: bool
    """Whether it says that the reader is slow."""
    begin: int
    end: int
    """Where the broker's log ended when the call began and when it ended."""
    memory: int


class ReadSplit(Law):
    id = "read-split"
    kind = CONVENTION
    promise = (
        "With slaveReadEnable off, a broker suggests the master. With it on, it suggests the id that the group has for "
        "readers that lag by more than memory holds, and to all other readers the group's usual id."
    )
    source = "DefaultMessageStore.getMessage, PullMessageProcessor"
    needs = frozenset({"config", "invoke", "ok"})

    def begin(self) -> None:
        self.groups = Groups()
        self.splits: set[str | None] = set()
        """Brokers where reads are split."""
        self.where: dict[tuple[str | None, int], tuple[int, int]] = {}
        """By queue and offset: the lowest and the highest log offset of such a message."""
        self.pulls: list[Pull] = []

    def on_config(self, event: Config) -> None:
        # The model hears of it later.
        if is_on(parse(event.detail or "{}"), "slaveReadEnable"):
            self.splits.add(event.node)

    # What groups want.

    @only("groups")
    def on_sync(self, event: Sync) -> None:
        self.groups.sync(event)

    @only("groups")
    def on_persist(self, event: Persist) -> None:
        self.groups.save(event)

    def on_crash(self, event: Crash | Stop) -> None:
        """A file that was not durable may be lost."""
        if event.kind == "crash" and event.f == "machine":
            self.groups.lose(event.node, event.seq)
        else:
            self.groups.end(event.node, event.seq)

    on_stop = on_crash

    def on_start(self, event: Start) -> None:
        """What was cut, other messages may come to lie in place of."""
        end, before = event.hi, self.known.logs.log_end(event.node)
        if end is not None and before is not None and end < before:
            self._judge_lags()
            self.where = {place: at for place, at in self.where.items() if at[1] < end}

    def on_wipe(self, event: Wipe) -> None:
        """Another store, other tables, and other places of messages than answers so far were about."""
        self.groups.lose(event.node, event.seq)
        self._judge_lags()
        self.where.clear()

    # Pulls.

    @only("group")
    def on_invoke(self, event: Invoke | Fail | Info) -> None:
        self.groups.change(event)

    on_fail = on_info = on_invoke

    def on_ok(self, event: Ok) -> None:
        if event.f != "pull":
            if event.f == "group":
                self.groups.change(event)
            return
        begun = self.known.calls.begun(event)
        since = _NEVER if begun is None else self.groups.as_of(event.node, begun.call.seq)
        if event.broker is None or event.queue_offset is None:
            return
        self.judged += 1
        if event.node not in self.splits and event.broker == 0:
            return
        choices = self.groups.possible(event.group, since)
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

    def _check(self, event: Ok, allowed: Collection[int], why: str) -> None:
        if event.broker not in allowed:
            self.violate(event, f"{event.node} suggested broker {event.broker} for {event.queue}; {why}")

    def _keep(self, event: Ok, slow: bool) -> None:
        begin, end = self.known.calls.end_before(event), self.known.logs.log_end(event.node)
        held = memory(self.known.config.get(event.node, DEFAULTS))
        if begin is None or end is None or held is None or begin > end or event.node in self.known.logs.diverged:
            return
        self.pulls.append(Pull(event, slow, begin, end, held))

    # Where messages are.

    def on_deliver(self, event: Deliver | Record) -> None:
        if not self.splits or event.queue_offset is None or event.lo is None:
            return
        place = (event.queue, event.queue_offset)
        low, high = self.where.get(place, (event.lo, event.lo))
        self.where[place] = (min(low, event.lo), max(high, event.lo))

    on_record = on_deliver

    def end(self, last: Event) -> None:
        self._judge_lags()

    def _judge_lags(self) -> None:
        for pull in self.pulls:
            self._judge_lag(pull)
        self.pulls.clear()

    def _judge_lag(self, pull: Pull) -> None:
        ok = pull.ok
        following = ok.queue_offset or 0
        given = self.where.get((ok.queue, following - 1))
        if given is None:
            return
        if pull.slow:
            most = pull.end - given[0]
            if most <= pull.memory:
                lag = f"at most {most} bytes behind the log's end, and {pull.memory} are in memory"
                self.violate(
                    ok, f"{ok.node} suggested broker {ok.broker} for {ok.queue}, as to the slow; this was {lag}"
                )
            return
        left = ok.hi is None or ok.hi > following
        looked_at = self.where.get((ok.queue, following)) if left else given
        if looked_at is not None and pull.begin - looked_at[1] > pull.memory:
            least = pull.begin - looked_at[1]
            lag = f"at least {least} bytes behind the log's end, and {pull.memory} are in memory"
            self.violate(ok, f"{ok.node} suggested broker {ok.broker} for {ok.queue}; this was {lag}")


def _shown(ids: set[int]) -> str:
    return " or ".join(map(str, sorted(ids)))
