"""Settings of clients.

Source: ClientConfig, DefaultMQPushConsumer, DefaultMQProducer; PullAPIWrapper for the user's choice of a broker.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..errors import ConfigError
from ..wire.record import Record

SECOND = 1_000_000_000
MAX_BROKER_ID = (1 << 63) - 1
"""Broker ids are Java longs."""
CONSUME_FROM = ("CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_LAST_OFFSET")


class ConsumerSettings(NamedTuple):
    """One consumer. Client ids must differ within a group, and decide the assignment of queues."""

    client_id: str
    group: str
    topics: Mapping[str, str]
    """Topic to subscription: ``*`` for all, or tags: ``a || b``."""
    name_servers: tuple[str, ...]
    """``host:port`` each; the next one is tried after a failure."""
    broadcasting: bool = False
    """Every consumer gets every message; its offsets are in memory."""
    orderly: bool = False
    """Consume a queue only while its lock is held. Not with broadcasting."""
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    """Where a queue without a group offset begins; the other is CONSUME_FROM_FIRST_OFFSET."""
    pull_batch_size: int = 32
    connect_broker_by_user: bool = False
    """Read from ``default_broker_id``: brokers' suggestions are ignored."""
    default_broker_id: int = 0
    """The broker id to read from. Another one is used if it is missing, as for a suggestion."""
    fails: Callable[[Record, int], int | None] | None = None
    """The application's result for a message and its failures so far: None for success, else the delay level of its
    redelivery (0: the broker's choice). None: it never fails. Not with broadcasting or orderly.
    """
    max_reconsume_times: int = 16
    """Retries after which such a message is a dead letter."""

    def check(self) -> None:
        _check_client(self.client_id, self.group, self.name_servers)
        if not self.topics:
            raise ConfigError(f"consumer {self.client_id} has no topic: give topics={{'name': '*'}}")
        if self.consume_from_where not in CONSUME_FROM:
            raise ConfigError(f"consume_from_where is {self.consume_from_where!r}: use {' or '.join(CONSUME_FROM)}")
        if self.orderly and self.broadcasting:
            raise ConfigError("a broadcasting consumer cannot be orderly: take one of the two")
        if self.fails is not None and (self.orderly or self.broadcasting):
            raise ConfigError("an orderly or broadcasting consumer sends nothing back: leave fails out")
        if not 1 <= self.pull_batch_size <= 1024:
            raise ConfigError(f"pull_batch_size is {self.pull_batch_size}: use 1 to 1024")
        self._check_choice()

    def _check_choice(self) -> None:
        if not 0 <= self.default_broker_id <= MAX_BROKER_ID:
            raise ConfigError(f"default_broker_id is {self.default_broker_id}: use 0 (the master) to {MAX_BROKER_ID}")
        if self.default_broker_id and not self.connect_broker_by_user:
            # RocketMQ would ignore it silently.
            raise ConfigError(
                f"default_broker_id is {self.default_broker_id}, which has no effect while connect_broker_by_user is "
                "False: set that to True, or leave the id out"
            )


class ProducerSettings(NamedTuple):
    client_id: str
    group: str
    name_servers: tuple[str, ...]
    retries: int = 2
    send_timeout_ms: int = 3_000
    """For all tries of one send together."""

    def check(self) -> None:
        _check_client(self.client_id, self.group, self.name_servers)
        if not 0 <= self.retries <= 16:
            raise ConfigError(f"retries is {self.retries}: use 0 to 16")
        if self.send_timeout_ms < 1:
            raise ConfigError(f"send_timeout_ms is {self.send_timeout_ms}: use 1 or more")


def _check_client(client_id: str, group: str, name_servers: tuple[str, ...]) -> None:
    if not client_id or not group:
        raise ConfigError("a client needs a client_id and a group")
    if not name_servers:
        raise ConfigError(f"client {client_id} has no name server: give name_servers=('host:port',)")
