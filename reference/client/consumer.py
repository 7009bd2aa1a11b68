"""A push consumer of one group, sans-IO: joins, rebalances, pulls, consumes, commits.

It reports to a :class:`pairproof.reference.client.listener.Listener`. Its parts are modules of this folder: routes and
heartbeats (``instance``), queue assignment (``rebalancing``), pulls (``pulling``), commits (``progress``), locks for
orderly consumption (``queue_locking``). Heartbeats go to masters and slaves, so that a slave has the group when it must
serve it. The first rebalance waits for the first heartbeats' answers. The parts are class attributes, so that a
subclass can replace exactly one decision.

A consumer whose application may fail sends messages back and consumes its group's retry topic (``sending_back``);
others do not, where RocketMQ's always do. Left out: pausing, SQL filters, decompression. Source:
DefaultMQPushConsumerImpl, MQClientInstance.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from ..core.calls import Outcome
from ..core.topics import retry_topic
from ..ports import Conn, Effects
from ..wire.bodies_client import ConsumerData, HeartbeatData, MessageQueue
from ..wire.bodies_route import TopicRouteData
from ..wire.headers import RequestCode
from ..wire.remoting import Command
from .asking import ask
from .instance import ClientInstance
from .listener import Listener
from .process_queue import Shared
from .progress import COMMIT_EVERY_NS, Progress
from .pulling import Pulling
from .queue_locking import RENEW_NS, QueueLocking
from .rebalancing import Rebalancing
from .sending_back import SendingBack
from .settings import ConsumerSettings
from .subscription import ALL, Subscriptions

__all__ = ["Consumer", "ConsumerSettings", "Listener"]


class Consumer(ClientInstance):
    """A node: see :class:`pairproof.reference.ports.Node`. One per process (or simulated host).

    Timer keys are ``("consumer", ...)`` and ``("call", ...)``. ConfigError for invalid settings.
    """

    kind = "consumer"
    only_masters = False
    progress_class: ClassVar[type[Progress]] = Progress
    locking_class: ClassVar[type[QueueLocking]] = QueueLocking
    rebalancing_class: ClassVar[type[Rebalancing]] = Rebalancing
    sending_back_class: ClassVar[type[SendingBack]] = SendingBack
    pulling_class: ClassVar[type[Pulling]] = Pulling

    def __init__(self, io: Effects, settings: ConsumerSettings, listener: Listener | None = None) -> None:
        settings.check()
        super().__init__(io, settings.name_servers)
        if settings.fails is not None:
            settings = settings._replace(topics={**settings.topics, retry_topic(settings.group): ALL})
        self.settings = settings
        self.listener = listener or Listener()
        self.shared = Shared(io, settings, self.listener, self.calls, self.routes, self.alarms)
        self.subscriptions = Subscriptions(settings.topics, io.wall_ms())
        self.offsets = self.progress_class(self.shared)
        self.locking = self.locking_class(self.shared)
        self.rebalancing = self.rebalancing_class(self.shared, self.offsets, self.locking, self.beat, self._unregister)
        self.sending_back = self.sending_back_class(self.shared)
        self.pulling = self.pulling_class(self.shared, self.subscriptions, self.sending_back, self.rebalancing.correct)
        self.rebalancing.pulling = self.pulling
        self.rings |= {
            "rebalance": self.rebalancing.run,
            "commit": self.offsets.commit_all,
            "locks": self.locking.renew,
            "pull": self.pulling.resume,
            "thaw": self.pulling.thaw,
            "back": self.sending_back.retry,
        }
        self._joined = False
        self._routed: set[str] = set()
        self._goodbyes = 0

    @property
    def progress(self) -> Mapping[MessageQueue, int]:
        """The consumer's queues, each with the offset after the last message it consumed."""
        return {queue: held.progress for queue, held in self.shared.held.items()}

    # ``over``: the consumer has ended; ``went`` was called and everything is closed.

    def on_start(self) -> None:
        self.listener.came()
        self.alarms.after(COMMIT_EVERY_NS, "commit")
        if self.settings.orderly:
            self.alarms.after(RENEW_NS, "locks")
        super().on_start()

    def stop(self) -> None:
        """Leave in an orderly way: commit, give up all queues, unregister, close; then ``went(lost=False)``.

        Takes at most a refresh of the route (3 s per name server), a commit (5 s) and an unregistration (3 s).
        """
        if not self.over and not self.rebalancing.leaving:
            self.alarms.cancel_all()
            self.rebalancing.leave()

    def on_stop(self) -> None:
        """Leave within this call: commits are sent, but their outcome is not awaited (``info``)."""
        self.stop()
        self._end(lost=False)

    def abandon(self) -> None:
        """Close everything at once, as when the process is killed: nothing is committed; ``went(lost=True)``."""
        self._end(lost=True)

    def _unregister(self) -> None:
        addresses = self.routes.addresses(masters_only=False)
        self._goodbyes = len(addresses)
        values = {"clientID": self.settings.client_id, "consumerGroup": self.settings.group}
        for address in addresses:
            ask(self.calls, address, RequestCode.UNREGISTER_CLIENT, values, self._unregistered)
        if not addresses:
            self._end(lost=False)

    def _unregistered(self, outcome: Outcome) -> None:
        self._goodbyes -= 1
        if not self._goodbyes:
            self._end(lost=False)

    def _end(self, lost: bool) -> None:
        if not self.over:
            self.rebalancing.close()
            self.close()
            self.listener.went(lost)

    def topics(self) -> Iterable[str]:
        return self.settings.topics

    def heartbeat(self) -> HeartbeatData:
        group = ConsumerData(
            self.settings.group,
            message_model="BROADCASTING" if self.settings.broadcasting else "CLUSTERING",
            consume_from_where=self.settings.consume_from_where,
            subscription_data_set=tuple(self.subscriptions.values()),
        )
        return HeartbeatData(self.settings.client_id, consumer_data_set=(group,))

    def learned(self, topic: str, route: TopicRouteData | None) -> None:
        self.listener.route_learned(topic, route)
        if route is not None and topic not in self._routed:
            self._routed.add(topic)
            if self._joined:
                self.rebalancing.soon()

    def heartbeats_ended(self) -> None:
        if not self._joined:
            self._joined = True
            self.rebalancing.soon()

    def on_request(self, conn: Conn, command: Command) -> None:
        changed = command.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
        if changed and command.fields.get("consumerGroup") == self.settings.group:
            self.rebalancing.soon()
