"""Consumer progress, and the queues' ranges in offsets and time: codes 14, 15, 29, 30, 31, 32, 43 and 45.

A group without progress in a queue gets 0 if the queue begins at 0 and its first message is still in memory
(accessMessageInMemoryMaxRatio). Otherwise it gets QUERY_NOT_FOUND (22), and its client decides. A slave accepts
commits, too; its master's next table replaces them.

Where this differs from RocketMQ, on purpose: the first commit for a queue is checked, since its names become keys of a
table; a commit without effect saves nothing; a query does not create a queue. Source: ConsumerManageProcessor,
AdminBrokerProcessor, DefaultMessageStore.checkInDiskByConsumeOffset.
"""

from ...wire import remoting
from ..consumer_offsets import MAX_KEYS
from ..parts import Parts
from ..requests import Refused, Request
from ..versioned_table import MAX_QUEUES
from .limits import check_group, check_range, check_topic


class Progress:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def has_everything(self, topic: str, queue_id: int) -> bool:
        store, config = self.parts.store, self.parts.config
        if store.queues.min_offset(topic, queue_id) > 0:
            return False
        first = store.queues.get(topic, queue_id, 0, 1)
        return not first or store.log.end - first[0].physical_offset <= config.log_memory

    def on_query(self, request: Request) -> None:
        header = request.header
        topic, queue_id = header["topic"], header["queueId"]
        found = self.parts.offsets.query(header["consumerGroup"], topic, queue_id)
        if found is None or found < 0:
            if not self.has_everything(topic, queue_id):
                raise Refused(remoting.QUERY_NOT_FOUND, "the group has committed nothing for this queue")
            found = 0
        request.answer(values={"offset": found})

    def on_update(self, request: Request) -> None:
        header = request.header
        group, topic, queue_id = header["consumerGroup"], header["topic"], header["queueId"]
        offsets = self.parts.offsets
        if offsets.query(group, topic, queue_id) is None:
            check_topic(topic)
            check_group(group)
            check_range("queueId", queue_id, 0, MAX_QUEUES - 1)
        if not offsets.commit(group, topic, queue_id, header["commitOffset"]):
            raise Refused(remoting.SYSTEM_ERROR, f"no more than {MAX_KEYS} pairs of topic and group: delete groups")
        request.answer()

    def on_search(self, request: Request) -> None:
        """29: the message stored at that time, or its nearest neighbour."""
        header, store = request.header, self.parts.store
        at = header["topic"], header["queueId"], header["timestamp"]
        request.answer(values={"offset": store.queues.offset_by_time(*at, store.dispatcher.store_ms)})

    def on_max(self, request: Request) -> None:
        queues, header = self.parts.store.queues, request.header
        request.answer(values={"offset": queues.next_offset(header["topic"], header["queueId"])})

    def on_min(self, request: Request) -> None:
        queues, header = self.parts.store.queues, request.header
        request.answer(values={"offset": queues.min_offset(header["topic"], header["queueId"])})

    def on_earliest(self, request: Request) -> None:
        """32: the store time of the queue's first message; -1 without one."""
        store = self.parts.store
        queue = request.header["topic"], request.header["queueId"]
        first = store.queues.get(*queue, store.queues.min_offset(*queue), 1)
        request.answer(values={"timestamp": store.dispatcher.store_ms(first[0]) if first else -1})
