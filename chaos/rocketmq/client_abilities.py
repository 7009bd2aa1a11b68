"""What a session can do through its clients and consumers, the same in every lab."""

from __future__ import annotations

from pairproof.chaos.rocketmq.clients import Clients
from pairproof.chaos.rocketmq.consumers import Consumers
from pairproof.harness.errors import UsageError


class ClientAbilities:
    """Sends and pulls, and CanConsume, CanAdminister and CanSendTo of :mod:`pairproof.harness.ports`.

    The session fills in the attributes.
    """

    clients: Clients
    consumers: Consumers | None
    """None without a name server."""

    def send(self, producer: int, size: int, wait: bool, queue: int) -> None:
        """Start a send to the master."""
        self.clients.send(producer, size, wait, queue)

    def pull(self, reader: int, node: str, queue: int) -> None:
        """Start a pull from where the reader stands at this broker."""
        self.clients.pull(reader, node, queue)

    def send_to(self, producer: str, node: str, size: int, wait: bool, queue: int, level: int = 0) -> None:
        self.clients.send_to(producer, node, size, wait, queue, level)

    def change_topic(self, number: int, queues: int, node: str) -> None:
        self.clients.change_topic(number, queues, node)

    def change_group(self, group: int, slowly: int, broker: int, node: str) -> None:
        self.clients.change_group(group, slowly, broker, node)

    def join(self, group: int, consumer: int) -> None:
        self._consumers("join").join(group, consumer)

    def leave(self, group: int, consumer: int, lost: bool) -> None:
        self._consumers("leave").leave(group, consumer, lost)

    def _consumers(self, op: str) -> Consumers:
        if self.consumers is None:
            raise UsageError(f"{op} needs a name server, from which consumers learn where brokers are: set lab.names=1")
        return self.consumers
