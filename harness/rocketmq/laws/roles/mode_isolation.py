"""``mode-isolation``: losing one broker name leaves sends to and deliveries from the others unchanged, and its backlog
is delivered after its return.

A name is lost while its master is down or paused, or a fault affects the master or its clients' link. A group asks for
a message when an answered pull continues after it.

Checks:
- While a name is lost, at another name whose brokers, links and name server are undisturbed: a send is answered as
  stored within the master's longest wait and a second, and each group that read a queue before asks for a stored
  message within ``ASK_NS``.
- After a lost master has registered again: each group that read its queues before asks for the remaining messages
  within ``RETURN_NS``, counted from the name's last disturbance.
Abstains when:
- There is one broker name (not applicable).
- The group reads from a slave (which may lack the topic), its user chose one, or its consumers start, stop or
  rebalance.
- An administrator's settings keep the group from the queue, or did in the time of a new route.
- The queue's last holder left, and it has no new one.
- The send carries a remark, so the message is first stored elsewhere, as delayed ones are, or waits for others (up to
  4.9.2).
Source: the design: brokers of different names share nothing.
"""

from dataclasses import dataclass, field

from ....event_types.client import Assign, Consumer, Fail, Info, Invoke, Ok
from ....event_types.machine import Fault, Pause, Resume
from ....event_types.node import Config, Crash, Start, Stop, Wipe
from ....history import MS, Event
from ....judging.law import only
from ....texts.content import waits_first
from ...contract import STORED
from ...event_types.metadata import Register
from ...known.calls import Begun
from ...known.circumstances import EARLIER_INCARNATION
from ...law import Law
from ...settings import creates_topics, line, parse
from ...topology import MASTER, SLAVES

SLACK_NS = 1_000 * MS
ASK_NS = 10_000 * MS
"""A broker checks held pulls every 5 s, if the message did not wake it."""
RETURN_NS = (30_000 + 20_000 + 30_000 + 10_000) * MS
"""Route period, rebalance period, the longest hold of a pull, and timer delays."""
UNRELATED = frozenset({"MESSAGE_ILLEGAL", "NO_PERMISSION", "SYSTEM_ERROR"})
"""Refusals because of the message, the topic's permissions, or of the name's own slaves (from 5.0 on)."""

Key = tuple[str | None, str, str | None]
"""Group, broker name by its master, queue."""


@dataclass(slots=True, eq=False)
class Read:
    """The progress of a group in a queue of a broker name."""

    following: int = 0
    since: int | None = None
    """Since when only the master answers, and suggests itself, ns; None: a slave does."""
    pulled: int = 0
    waiting: list[tuple[int, int]] = field(default_factory=list)
    """Messages stored while another name was lost: queue offset and time, ns."""
    backlog: int = 0
    """The offset that it must reach after its master's return; 0: none."""


class ModeIsolation(Law):
    needs = frozenset({"config", "invoke", "ok", "fault", "crash", "consumer", "register"})
    ignored_nodes = frozenset()
    timed = True

    def begin(self) -> None:
        self.targets: dict[str, list[str]] = {}
        """By broker name (its master): the nodes and links that its clients depend on."""
        self.disturbed_at: dict[str, int] = {}
        self.reads: dict[Key, Read] = {}
        self.stored: dict[str, dict[str | None, list[tuple[int, int]]]] = {}
        """By broker name and queue: queue offset and log end of each acknowledged message."""
        self.members_changed: dict[str | None, int] = {}
        self.rebalanced: dict[str | None, int] = {}
        """By group: when its consumers last started or stopped, and when they last moved queues, ns."""
        self.holders: dict[Key, int | None] = {}
        """The consumer that last took a queue; None: it left, or gave it up."""
        self.returned_at: dict[str, int] = {}

    def on_config(self, event: Config) -> None:
        node = event.node
        if parse(event.detail or "{}").get("brokerRole") is None:
            return
        name = _name(node)
        known = self.targets.setdefault(name, ["names", "names-client"])
        known += [node, f"client-{node}", f"names-{node}"]

    def applies(self) -> bool:
        return len(self.targets) > 1

    def _is_lost(self, name: str) -> bool:
        return name not in self.known.up or self.known.disturbances.is_disturbed(name, f"client-{name}")

    def _others_lost(self, name: str, since: int) -> bool:
        return any(
            self._is_lost(other) and max(self.disturbed_at.get(each, 0) for each in (other, f"client-{other}")) <= since
            for other in self.targets
            if other != name
        )

    def _is_undisturbed(self, name: str, since: int) -> bool:
        """Whether a name, and all that its clients depend on, has been undisturbed since ``since``."""
        targets = self.targets[name]
        if name not in self.known.up or self.known.disturbances.is_disturbed(*targets):
            return False
        return self._last_disturbed(name) <= since

    def _last_disturbed(self, name: str) -> int:
        return max(self.disturbed_at.get(each, 0) for each in self.targets[name])

    def on_fault(self, event: Fault | Pause | Resume | Crash | Stop | Start) -> None:
        self._check_overdue(event)
        self.disturbed_at.update(dict.fromkeys(self.known.disturbances.affected(event), event.t))

    on_pause = on_resume = on_fault

    def on_crash(self, event: Crash | Stop) -> None:
        self.on_fault(event)
        node = event.node
        if node in self.targets:
            self.returned_at.pop(node, None)
            for key, read in self.reads.items():
                if key[1] == node:
                    read.backlog = 0

    on_stop = on_crash

    def on_start(self, event: Start) -> None:
        self.on_fault(event)
        for known in self.stored.get(event.node, {}).values():
            known[:] = [each for each in known if each[1] <= (event.hi or 0)]

    def on_wipe(self, event: Wipe) -> None:
        self.stored.pop(event.node, None)

    def on_register(self, event: Register) -> None:
        node = event.node
        went_down = node in self.targets and self.known.nodes.ended(node) > 0
        if event.status != "ok" or not went_down or node in self.returned_at:
            return
        self.returned_at[node] = event.t
        for (_, name, queue), read in self.reads.items():
            if name == node:
                last = max((offset for offset, _ in self.stored.get(node, {}).get(queue, ())), default=-1)
                read.backlog = last + 1 if last >= read.following else 0

    def on_consumer(self, event: Consumer) -> None:
        self._check_overdue(event)
        self.members_changed[event.group] = self.rebalanced[event.group] = event.t
        if event.status != "on":
            self.holders |= {key: None for key, process in self.holders.items() if process == event.process}

    def on_assign(self, event: Assign) -> None:
        self._check_overdue(event)
        self.rebalanced[event.group] = event.t
        key = (event.group, _name(event.node or MASTER), event.queue)
        if event.status == "on":
            self.holders[key] = event.process
        elif self.holders.get(key) == event.process:
            self.holders[key] = None

    @only("send", "pull")
    def on_ok(self, event: Ok) -> None:
        if event.f == "send":
            self.on_fail(event)
            self._store(event)
        elif event.f == "pull" and event.group is not None and event.queue_offset is not None:
            self._pull(event, event.queue_offset)

    @only("send")
    def on_fail(self, event: Fail | Info | Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is not None:
            self._judge_send(begun, event, None if event.kind == "info" else event.status)

    on_info = on_fail

    def _judge_send(self, begun: Begun[Invoke], event: Event, status: str | None) -> None:
        asked, known = begun.call, self.known
        node = asked.node
        if node not in self.targets or status in UNRELATED:
            return
        # Only a send that begins while another name is lost.
        if begun.disturbed.isdisjoint(
            each for name in self.targets if name != node for each in (name, f"client-{name}")
        ):
            return
        settings = known.config[node]
        if status == "TOPIC_NOT_EXIST" and not creates_topics(settings):
            return
        is_in_turn = settings.get("brokerRole") == "SYNC_MASTER" and line(settings).in_turn
        if is_in_turn or not self._is_undisturbed(node, known.calls.first_at(asked.process)):
            return
        waits = max(known.setting(node, key) for key in ("syncFlushTimeout", "slaveTimeout")) * MS
        took, bound = event.t - asked.t, waits + SLACK_NS + known.healthy_ns
        if status is None and took <= bound:
            return
        self.judged += 1
        if status not in STORED or took > bound:
            how = status or "no answer"
            what = f"{asked.message} got {how} from {node} after {took / MS:.0f} ms; only another broker name was lost"
            self.violate(event, what, since=asked.t)

    def _store(self, event: Ok) -> None:
        name, queue, offset = event.node or "", event.queue, event.queue_offset
        if event.status not in STORED or offset is None or event.hi is None or name not in self.targets:
            return
        begun = self.known.calls.begun(event)
        # A message may be lost with its master before its answer arrives.
        if begun is None or waits_first(begun.call) or self.abstains(event, EARLIER_INCARNATION):
            return
        self.stored.setdefault(name, {}).setdefault(queue, []).append((offset, event.hi))
        if not self._others_lost(name, event.t):
            return
        for key, read in self.reads.items():
            if key[1:] != (name, queue) or read.since is None or not self._is_undisturbed(name, read.pulled):
                continue
            if key in self.holders and self.holders[key] is None:
                continue
            if read.following <= offset:
                read.waiting.append((offset, event.t))
            elif self._asks_masters(key[0]):
                # The consumer asked for it before its sender was answered.
                self.judged += 1

    def _pull(self, event: Ok, following: int) -> None:
        key = (event.group, _name(event.node or ""), event.queue)
        read = self.reads.get(key)
        if read is None:
            read = self.reads[key] = Read()
        read.pulled = event.t
        if event.node != key[1] or event.broker:
            read.since = None
        elif read.since is None:
            read.since = event.t
        read.following = max(read.following, following)
        for offset, since in [each for each in read.waiting if each[0] < following]:
            read.waiting.remove((offset, since))
            self._judge_waiting(key, offset, since, event, asked=True)
        if read.backlog and following >= read.backlog:
            self._judge_backlog(key, read, event, asked=True)
            read.backlog = 0

    def _asks_masters(self, group: str | None) -> bool:
        """Whether a group has members, and no user has fixed a broker for any."""
        members = [each for each in self.known.consumption.consumers.values() if each.group == group]
        return bool(members) and not any(each.fixed for each in members)

    def _check_overdue(self, event: Event) -> None:
        for key, read in self.reads.items():
            for offset, since in [each for each in read.waiting if event.t - each[1] > self._within(ASK_NS)]:
                read.waiting.remove((offset, since))
                self._judge_waiting(key, offset, since, event, asked=False)
            if read.backlog and self._judge_backlog(key, read, event, asked=False):
                read.backlog = 0

    def _within(self, bound: int) -> int:
        return bound + self.known.healthy_ns

    def _judge_waiting(self, key: Key, offset: int, since: int, event: Event, asked: bool) -> None:
        group, name, queue = key
        is_isolated = self._is_undisturbed(name, since) and self._others_lost(name, since)
        if not is_isolated or not self._asks_masters(group) or self.rebalanced.get(group, 0) > since:
            return
        if self.known.tables.held_back_until(queue, group, event.t) > since - RETURN_NS:
            return
        self.judged += 1
        took = event.t - since
        if took > self._within(ASK_NS):
            what = f"asked for offset {offset} of {queue} at {name}"
            how = f"{what} after {took / MS:.0f} ms" if asked else f"has not {what} for {took / MS:.0f} ms"
            self.violate(event, f"group {group} {how}; only another broker name was lost", since=since)

    def _judge_backlog(self, key: Key, read: Read, event: Event, asked: bool) -> bool:
        group, name, queue = key
        returned_at, known = self.returned_at.get(name), self.known
        if returned_at is None or not self._asks_masters(group) or known.disturbances.is_disturbed(*self.targets[name]):
            return False
        if read.since is None:
            return False
        held_back_until = known.tables.held_back_until(queue, group, event.t)
        began = max(
            returned_at, read.since, self._last_disturbed(name), self.members_changed.get(group, 0), held_back_until
        )
        took = event.t - began
        late = took > self._within(RETURN_NS)
        if asked or late:
            self.judged += 1
        if late:
            what = f"{queue} of {name} up to {read.backlog}"
            text = f"group {group} did not ask for {what} for {took / MS:.0f} ms after its return"
            self.violate(event, text, since=began)
        return late

    def end(self, last: Event) -> None:
        for name in self.targets:
            for begun in self.known.calls.open_at(name):
                if begun.call.f == "send":
                    self._judge_send(begun, last, None)
        self._check_overdue(last)


def _name(node: str) -> str:
    return MASTER if node in SLAVES else node
