"""A group's subscriptions: all messages of a topic, or those with certain tags. Source: FilterAPI, PullAPIWrapper."""

from collections.abc import Mapping

from ..wire.bodies_client import SubscriptionData
from ..wire.properties import TAGS, java_hash, properties_of
from ..wire.record import Record

ALL = "*"


class Subscriptions(dict[str, SubscriptionData]):
    """By topic. ``version``: ms since the epoch; brokers use a group's newest."""

    def __init__(self, topics: Mapping[str, str], version: int) -> None:
        super().__init__({topic: _parse(topic, wanted, version) for topic, wanted in topics.items()})

    def wants(self, topic: str, message: Record) -> bool:
        subscription = self.get(topic)
        tags = subscription.tags_set if subscription is not None else ()
        return not tags or properties_of(message.message.properties).get(TAGS) in tags


def _parse(topic: str, wanted: str, version: int) -> SubscriptionData:
    tags = tuple(dict.fromkeys(tag.strip() for tag in wanted.split("||") if tag.strip()))
    if not tags or tags == (ALL,):
        return SubscriptionData(topic, ALL, sub_version=version)
    return SubscriptionData(topic, wanted, tags, tuple(java_hash(tag) for tag in tags), version)
