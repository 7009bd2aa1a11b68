"""Mutants of messages that consumers send back: their storing by a master, and their redelivery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...reference.client.process_queue import ProcessQueue
from ...reference.client.rebalancing import Rebalancing
from ...reference.client.sending_back import SendingBack
from ...reference.core.processors.send_back import FIRST_RETRY_LEVEL, SendBack
from ...reference.core.requests import Request
from ...reference.core.topics import retry_topic
from ...reference.wire.bodies import SubscriptionGroupConfig
from ...reference.wire.bodies_client import MessageQueue
from ...reference.wire.properties import properties_of, properties_to
from ...reference.wire.record import Message, Record
from .mutant import CONSUMER, seeded


@seeded("master", "stored-sent-back", "confirms a message that is sent back, and stores nothing")
class TakesNothingBack(SendBack):
    def on_send_back(self, request: Request) -> None:
        request.answer()


@seeded("master", "stored-sent-back", "counts no retry of a message that is sent back")
class CountsNoRetry(SendBack):
    def _again(self, header: Mapping[str, Any], group: SubscriptionGroupConfig, found: Record) -> Message:
        return super()._again(header, group, found)._replace(reconsume_times=found.message.reconsume_times)


@seeded("master", "stored-sent-back", "makes a message a dead letter one retry too early")
class BuriesEarly(SendBack):
    def _again(self, header: Mapping[str, Any], group: SubscriptionGroupConfig, found: Record) -> Message:
        return super()._again({**header, "maxReconsumeTimes": header["maxReconsumeTimes"] - 1}, group, found)


@seeded("master", "stored-sent-back", "uses its own limit of retries, ignoring the consumer's")
class BuriesLate(SendBack):
    def _again(self, header: Mapping[str, Any], group: SubscriptionGroupConfig, found: Record) -> Message:
        return super()._again({**header, "maxReconsumeTimes": group.retry_max_times}, group, found)


@seeded("master", "stored-sent-back", "delays each retry as long as the first one")
class WaitsNoLonger(SendBack):
    def _again(self, header: Mapping[str, Any], group: SubscriptionGroupConfig, found: Record) -> Message:
        return super()._again({**header, "delayLevel": header["delayLevel"] or FIRST_RETRY_LEVEL}, group, found)


@seeded("master", "stored-sent-back", "records the last copy as the origin of a message that is sent back again")
class ForgetsOrigin(SendBack):
    def _again(self, header: Mapping[str, Any], group: SubscriptionGroupConfig, found: Record) -> Message:
        properties = properties_of(found.message.properties)
        properties.pop("ORIGIN_MESSAGE_ID", None)
        message = found.message._replace(properties=properties_to(properties))
        return super()._again(header, group, found._replace(message=message))


@seeded("master", "deliver-sent-back", "stores messages that are sent back in the retry topic without a delay")
class RetriesAtOnce(SendBack):
    def _again(self, header: Mapping[str, Any], group: SubscriptionGroupConfig, found: Record) -> Message:
        message = super()._again(header, group, found)
        properties = properties_of(message.properties)
        if not properties.pop("DELAY", None):
            return message
        return message._replace(
            topic=properties["REAL_TOPIC"], queue_id=int(properties["REAL_QID"]), properties=properties_to(properties)
        )


@seeded(CONSUMER, "deliver-sent-back", "never consumes its retry topic")
class TakesNoRetries(Rebalancing):
    def share(self, topic: str, clients: Sequence[str]) -> list[MessageQueue]:
        is_retry = topic == retry_topic(self.shared.settings.group)
        return [] if is_retry else super().share(topic, clients)


@seeded(CONSUMER, "client-paced", "a consumer sends a message back again as soon as that has failed")
class SendsBackAtOnce(SendingBack):
    def _later(self, held: ProcessQueue, message: Record) -> None:
        self.shared.alarms.after(0, "back", held.queue, message.queue_offset)
