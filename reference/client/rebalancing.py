"""Assigns queues to a consumer: each consumer of a group computes an even distribution for itself.

Every 20 s, at the start, and when a broker notifies it of a change of the group, a consumer requests the group's list
(38) from a broker of one of its topic's broker names, preferably the master, sorts it, and takes its share. A consumer
missing from the list takes none, and sends a heartbeat. In broadcasting everybody takes all.

Rebalances begin at least 1 s apart, as in RocketMQ 5; failures (no list, no lock, no offset) are retried after 3 s,
where RocketMQ waits for the next round. A queue is not taken again before its last commit has ended. Source:
RebalanceService, RebalanceImpl, AllocateMessageQueueAveragely, MQClientInstance.findConsumerIdList.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from ..core.calls import Outcome
from ..wire.bodies_client import ConsumerList, MessageQueue
from ..wire.headers import RequestCode
from .asking import ask, body_of
from .process_queue import ProcessQueue, Shared
from .progress import Progress
from .pulling import Pulling
from .queue_locking import QueueLocking
from .routes import MASTER_ID
from .settings import SECOND

EVERY_NS = 20 * SECOND
REST_NS = 1 * SECOND
RETRY_NS = 3 * SECOND

_Queue = TypeVar("_Queue")


def allocate(client_id: str, queues: Sequence[_Queue], clients: Sequence[str]) -> list[_Queue]:
    """The client's share of ``queues``: contiguous, sizes differ by at most one, larger shares first. ``clients`` in
    any order; a client that is not among them has no share.
    """
    members = sorted(set(clients))
    if client_id not in members:
        return []
    size, larger = divmod(len(queues), len(members))
    at = members.index(client_id)
    start = at * size + min(at, larger)
    return list(queues[start : start + size + (at < larger)])


@dataclass(eq=False)
class Rebalancing:
    """Takes queues and gives them up. ``beat``: send heartbeats; ``emptied``: all is given up after :meth:`leave`."""

    shared: Shared
    progress: Progress
    locking: QueueLocking
    beat: Callable[[], None]
    emptied: Callable[[], None]
    pulling: Pulling = field(init=False)
    leaving: bool = False
    _at: int | None = None
    _last: int | None = None
    _turn: int = 0
    _asking: dict[str, bool] = field(default_factory=dict)
    """Topics whose list is requested, and whether to request it again afterwards."""
    _wanted: dict[str, set[MessageQueue]] = field(default_factory=dict)
    _taking: set[MessageQueue] = field(default_factory=set)
    _releasing: dict[MessageQueue, ProcessQueue] = field(default_factory=dict)

    def share(self, topic: str, clients: Sequence[str]) -> list[MessageQueue]:
        return allocate(self.shared.settings.client_id, self.shared.routes.readable(topic), clients)

    def last_offset(self, held: ProcessQueue) -> int:
        return held.next_offset if held.frozen else held.progress

    def soon(self, delay_ns: int = 0) -> None:
        at = self.shared.io.now() + delay_ns
        if self._last is not None:
            at = max(at, self._last + REST_NS)
        if not self.leaving and (self._at is None or at < self._at):
            self._at = at
            self.shared.alarms.at(at, "rebalance")

    def run(self) -> None:
        self._at, self._last = None, self.shared.io.now()
        self.soon(EVERY_NS)
        for topic in self.shared.settings.topics:
            if topic in self._asking:
                self._asking[topic] = True
            elif topic in self.shared.routes.topics:
                self._rebalance(topic)

    def leave(self) -> None:
        self.leaving = True
        self._wanted.clear()
        for held in list(self.shared.held.values()):
            self.give_up(held)
        if not self._releasing:
            self.emptied()

    def close(self) -> None:
        self.leaving = True
        self._wanted.clear()
        self._releasing.clear()
        self.shared.held.clear()

    def give_up(self, held: ProcessQueue) -> None:
        queue = held.queue
        locked = self.shared.settings.orderly and self.shared.io.now() < held.locked_until
        last = self.last_offset(held)
        held.failed.clear()
        held.consumed = last
        del self.shared.held[queue]
        self.pulling.given_up(queue)
        self._releasing[queue] = held
        if self.shared.settings.orderly and not locked:
            # Another consumer may have the queue already, whose progress must not be set back.
            self.shared.listener.given_up(queue, held.progress)
            self._released(held)
        else:
            self.progress.commit(held, partial(self._released, held))
            self.shared.listener.given_up(queue, held.progress)

    def correct(self, held: ProcessQueue) -> None:
        self.give_up(held)
        self.soon()

    def _rebalance(self, topic: str) -> None:
        shared = self.shared
        queues = shared.routes.readable(topic)
        if shared.settings.broadcasting:
            self._share(topic, queues)
            return
        address = self._next_broker(topic)
        if address is None:
            shared.routes.refresh_if_old(topic)
            self.soon(RETRY_NS)
            return
        self._asking[topic] = False
        code, values = RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": shared.settings.group}
        ask(shared.calls, address, code, values, partial(self._listed, topic))

    def _next_broker(self, topic: str) -> str | None:
        """The broker names in turn, while they do not answer."""
        routes = self.shared.routes
        names = sorted(each.broker_name for each in routes.topics[topic].broker_datas)
        choice = routes.choose(names[self._turn % len(names)], MASTER_ID) if names else None
        return choice.address if choice is not None else None

    def _listed(self, topic: str, outcome: Outcome) -> None:
        repeat = self._asking.pop(topic)
        if self.leaving:
            return
        found = body_of(ConsumerList, outcome)
        if found is None:
            self._turn += 1
            self.shared.routes.refresh_if_old(topic)
            self.soon(RETRY_NS)
            return
        if self.shared.settings.client_id not in found.consumer_id_list:
            self.beat()
        self._share(topic, self.share(topic, found.consumer_id_list))
        if repeat:
            self.soon()

    def _share(self, topic: str, share: list[MessageQueue]) -> None:
        wanted = self._wanted[topic] = set(share)
        for held in list(self.shared.held.values()):
            if held.queue.topic == topic and held.queue not in wanted:
                self.give_up(held)
        for queue in share:
            if queue not in self.shared.held and queue not in self._taking and queue not in self._releasing:
                self._take(queue)

    def _take(self, queue: MessageQueue) -> None:
        self._taking.add(queue)
        if self.shared.settings.orderly:
            self.locking.lock(queue, partial(self._locked, queue))
        else:
            self.progress.start_offset(queue, partial(self._taken, queue, 0))

    def _locked(self, queue: MessageQueue, until: int) -> None:
        if until:
            self.progress.start_offset(queue, partial(self._taken, queue, until))
        else:
            self._taking.discard(queue)
            self.soon(RETRY_NS)

    def _taken(self, queue: MessageQueue, locked_until: int, offset: int | None) -> None:
        self._taking.discard(queue)
        if queue not in self._wanted.get(queue.topic, ()):
            if locked_until and not self.shared.routes.closed:
                self.locking.unlock(queue)
        elif offset is None:
            self.soon(RETRY_NS)
        else:
            held = self.shared.held[queue] = ProcessQueue(queue, offset, locked_until)
            self.shared.listener.assigned(queue, offset)
            self.pulling.start(held)

    def _released(self, held: ProcessQueue) -> None:
        queue = held.queue
        if self._releasing.pop(queue, None) is None:
            return
        if self.shared.settings.orderly:
            self.locking.unlock(queue)
        if not self.leaving and queue in self._wanted.get(queue.topic, ()):
            self.soon()
        elif self.leaving and not self._releasing:
            self.emptied()
