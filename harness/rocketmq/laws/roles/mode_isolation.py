"""``mode-isolation``: losing one broker name leaves the others' sends and deliveries as they were, and its backlog is
delivered after its return.

A broker name is *lost* while its master is down, paused or struck by a fault, or its clients' link is. Meanwhile, of
another name of which nobody touched anything (brokers, clients' links, the name server and the links to it):

- a send is answered as stored, within the longest wait that its master may impose and a second;
- a stored message is asked for, within ten seconds, by each group that read that queue before.

And when a master that was down has registered again, each group that read its queues before asks for all that is still
in them within the client's route period, a rebalance, and the time for a pull that is held, counted from when all was
well with that name. A group *asks for* a message when an answered pull goes on behind it.

Not applicable with one broker name. Left out: groups that read from a slave, which may lack the topic for a while, or
whose users chose one, or whose consumers come, go or share their queues anew meanwhile; queues that nobody has taken
since who held them went; messages whose send carries a remark (they go elsewhere first, as delayed ones do); sends that
wait for others (up to 4.9.2); and whether what was asked for was delivered, which the laws of delivery judge.
Source: the design: brokers of different names share nothing.
"""

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
from ...settings import line, parse
from ...topology import MASTER, SLAVES

SLACK_NS = 1_000 * MS
ASKED_NS = 10_000 * MS
"""A broker looks for messages for held pulls every 5 s, if their arrival did not wake it."""
RETURN_NS = (30_000 + 20_000 + 30_000 + 10_000) * MS
"""Route period, rebalance period, the longest time for which a pull is held, and timers that are late."""
UNRELATED = frozenset({"MESSAGE_ILLEGAL", "SYSTEM_ERROR"})
"""Refusals that a send may earn by itself, or by its own name's slaves (from 5.0 on)."""

Key = tuple[str | None, str, str | None]
"""Group, broker name by its master, queue."""


class Read:
    """A group reads a queue of a broker name."""

    __slots__ = ("backlog", "following", "pulled", "since", "waiting")

    def __init__(self) -> None:
        self.following = 0
        """Where it goes on."""
        self.since: int | None = None
        """Since when it has been answered by the master only, and told to stay there, ns; None: it is not."""
        self.pulled = 0
        """When it was last answered, ns."""
        self.waiting: list[tuple[int, int]] = []
        """Messages stored while another name was lost: queue offset, and when, ns."""
        self.backlog = 0
        """Up to where it must get after its master's return; 0: nowhere."""


class ModeIsolation(Law):
    id = "mode-isolation"
    promise = (
        "Losing one broker name leaves sends to and deliveries from the others unchanged, and its backlog is delivered "
        "after its return."
    )
    source = "the design: brokers of different names share nothing"
    needs = frozenset({"config", "invoke", "ok", "fault", "crash", "consumer", "register"})
    ignored_nodes = frozenset()
    timed = True

    def begin(self) -> None:
        self.places: dict[str, list[str]] = {}
        """By broker name (its master): all that its clients depend on."""
        self.applicable = False
        self.touched: dict[str, int] = {}
        """By place: when something last happened to it, ns."""
        self.reads: dict[Key, Read] = {}
        self.stored: dict[str, dict[str | None, list[tuple[int, int]]]] = {}
        """By broker name and queue: queue offset and log end of each message whose sender was told of it."""
        self.came: dict[str | None, int] = {}
        self.shared: dict[str | None, int] = {}
        """When a group's consumers last came or went, and when they last shared queues anew, ns."""
        self.holders: dict[Key, int | None] = {}
        """Who took a queue last; None: it has gone, or given it up."""
        self.returned: dict[str, int] = {}
        """Masters that went down and have registered since, and when they did, ns."""

    def on_config(self, event: Config) -> None:
        node = event.node
        if parse(event.detail or "{}").get("brokerRole") is None:
            return
        name = _name(node)
        known = self.places.setdefault(name, ["names", "names-client"])
        known += [node, f"client-{node}", f"names-{node}"]
        self.applicable = len(self.places) > 1

    # Who is in trouble.

    def _is_lost(self, name: str) -> bool:
        return name not in self.known.up or self.known.disturbances.is_disturbed(name, f"client-{name}")

    def _others_lost(self, name: str, since: int) -> bool:
        """Whether another name is lost, and has been since then."""
        return any(
            self._is_lost(other) and max(self.touched.get(each, 0) for each in (other, f"client-{other}")) <= since
            for other in self.places
            if other != name
        )

    def _is_well(self, name: str, since: int) -> bool:
        """Whether nothing has happened to a name, or to what its clients depend on, since then."""
        places = self.places[name]
        if name not in self.known.up or self.known.disturbances.is_disturbed(*places):
            return False
        return self._touched(name) <= since

    def _touched(self, name: str) -> int:
        return max(self.touched.get(place, 0) for place in self.places[name])

    def on_fault(self, event: Fault | Pause | Resume | Crash | Stop | Start) -> None:
        """Something begins or ends; what is overdue before it is told."""
        self._settle(event)
        self.touched.update(dict.fromkeys(self.known.disturbances.affected(event), event.t))

    on_pause = on_resume = on_fault

    def on_crash(self, event: Crash | Stop) -> None:
        self.on_fault(event)
        node = event.node
        if node in self.places:
            self.returned.pop(node, None)
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
        went_down = node in self.places and self.known.nodes.ended(node) > 0
        if event.status != "ok" or not went_down or node in self.returned:
            return
        self.returned[node] = event.t
        for (_, name, queue), read in self.reads.items():
            if name == node:
                last = max((offset for offset, _ in self.stored.get(node, {}).get(queue, ())), default=-1)
                read.backlog = last + 1 if last >= read.following else 0

    # Consumers.

    def on_consumer(self, event: Consumer) -> None:
        self._settle(event)
        self.came[event.group] = self.shared[event.group] = event.t
        if event.status != "on":
            self.holders |= {key: None for key, process in self.holders.items() if process == event.process}

    def on_assign(self, event: Assign) -> None:
        self._settle(event)
        self.shared[event.group] = event.t
        key = (event.group, _name(event.node or MASTER), event.queue)
        if event.status == "on":
            self.holders[key] = event.process
        elif self.holders.get(key) == event.process:
            self.holders[key] = None

    # Calls.

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
        """``status``: how it was answered; None if it was not."""
        asked, known = begun.call, self.known
        node = asked.node
        if node not in self.places or status in UNRELATED:
            return
        # One that begins while another name is lost.
        others = (place for name in self.places if name != node for place in (name, f"client-{name}"))
        if begun.disturbed.isdisjoint(others):
            return
        settings = known.config[node]
        is_in_turn = settings.get("brokerRole") == "SYNC_MASTER" and line(settings).in_turn
        if is_in_turn or not self._is_well(node, known.calls.first_at(asked.process)):
            return
        waits = max(known.setting(node, key) for key in ("syncFlushTimeout", "slaveTimeout")) * MS
        took, bound = event.t - asked.t, waits + SLACK_NS + known.healthy_ns
        if status is None and took <= bound:
            return
        self.judged += 1
        if status not in STORED or took > bound:
            how = status or "no answer"
            self.violate(
                event,
                f"{asked.message} got {how} from {node} after {took / MS:.0f} ms; only another broker name was lost",
                since=asked.t,
            )

    def _store(self, event: Ok) -> None:
        name, queue, offset = event.node or "", event.queue, event.queue_offset
        if event.status not in STORED or offset is None or event.hi is None or name not in self.places:
            return
        begun = self.known.calls.begun(event)
        # What a master stored that went down meanwhile may be lost when it is answered.
        if begun is None or waits_first(begun.call) or self.abstains(event, EARLIER_INCARNATION):
            return
        self.stored.setdefault(name, {}).setdefault(queue, []).append((offset, event.hi))
        if not self._others_lost(name, event.t):
            return
        for key, read in self.reads.items():
            if key[1:] != (name, queue) or read.since is None or not self._is_well(name, read.pulled):
                continue
            if key in self.holders and self.holders[key] is None:
                continue
            if read.following <= offset:
                read.waiting.append((offset, event.t))
            elif self._asks_masters(key[0]):
                # Its consumer heard of it before its sender did.
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
        """Whether a group has members, and each of them may be sent to a master: no user has chosen a slave for it."""
        members = [each for each in self.known.consumption.consumers.values() if each.group == group]
        return bool(members) and not any(each.fixed for each in members)

    # What is due.

    def _settle(self, event: Event) -> None:
        for key, read in self.reads.items():
            for offset, since in [each for each in read.waiting if event.t - each[1] > self._within(ASKED_NS)]:
                read.waiting.remove((offset, since))
                self._judge_waiting(key, offset, since, event, asked=False)
            if read.backlog and self._judge_backlog(key, read, event, asked=False):
                read.backlog = 0

    def _within(self, bound: int) -> int:
        return bound + self.known.healthy_ns

    def _judge_waiting(self, key: Key, offset: int, since: int, event: Event, asked: bool) -> None:
        group, name, queue = key
        well = self._is_well(name, since) and self._others_lost(name, since)
        if not well or not self._asks_masters(group) or self.shared.get(group, 0) > since:
            return
        self.judged += 1
        took = event.t - since
        if took > self._within(ASKED_NS):
            what = f"asked for offset {offset} of {queue} at {name}"
            how = f"{what} after {took / MS:.0f} ms" if asked else f"has not {what} for {took / MS:.0f} ms"
            self.violate(event, f"group {group} {how}; only another broker name was lost", since=since)

    def _judge_backlog(self, key: Key, read: Read, event: Event, asked: bool) -> bool:
        """Whether there was something to say: the group asked, or it is too late."""
        group, name, queue = key
        returned, known = self.returned.get(name), self.known
        if returned is None or not self._asks_masters(group) or known.disturbances.is_disturbed(*self.places[name]):
            return False
        if read.since is None:
            return False
        began = max(returned, read.since, self._touched(name), self.came.get(group, 0))
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
        for name in self.places:
            for begun in self.known.calls.open_at(name):
                if begun.call.f == "send":
                    self._judge_send(begun, last, None)
        self._settle(last)


def _name(node: str) -> str:
    """The master by which a broker's name is known here."""
    return MASTER if node in SLAVES else node
