"""Mutants of a broker's answers to questions about its log (by key, by id, about queues, itself and its consumers), and
to invalid requests.
"""

from dataclasses import replace

from ...reference.core.broker import Broker
from ...reference.core.command_peers import CommandPeers
from ...reference.core.config import BrokerConfig
from ...reference.core.consume_queue import Entry
from ...reference.core.key_index import Found, KeyIndex
from ...reference.core.processors.administration import Administration
from ...reference.core.processors.members import Members
from ...reference.core.processors.progress import Progress
from ...reference.core.processors.pulling import Pulling
from ...reference.core.processors.queries import Queries
from ...reference.core.processors.statistics import Statistics
from ...reference.core.requests import Request
from ...reference.ports import Conn
from ...reference.wire import beans
from ...reference.wire.bodies import SubscriptionGroupConfig
from ...reference.wire.bodies_client import ConsumerList
from ...reference.wire.remoting import Command
from .mutant import seeded

SHOWN = 100


@seeded("slave", "query-by-key", "searches a key in its newest index file only")
class LooksInNewestFile(KeyIndex):
    def query(self, topic: str, key: str, limit: int, begin_ms: int, end_ms: int) -> Found:
        files, self.files = self.files, self.files[-1:]
        try:
            return super().query(topic, key, limit, begin_ms, end_ms)
        finally:
            self.files = files


@seeded("slave", "query-config", "reports the default size of its segments instead of the configured one")
class TellsDefaultSize(Administration):
    def on_config(self, request: Request) -> None:
        own = self.parts.config
        self.parts.config = replace(own, mappedFileSizeCommitLog=BrokerConfig.mappedFileSizeCommitLog)
        super().on_config(request)
        self.parts.config = own


@seeded("master", "query-by-id", "answers with the bytes at an offset even if they are not a message")
class ViewsAnything(Queries):
    def on_view(self, request: Request) -> None:
        offset = request.header["offset"]
        if self._record(offset) is None and 0 <= offset < self.parts.store.log.end:
            request.answer(body=self.parts.store.log.read(offset, SHOWN))
        else:
            super().on_view(request)


@seeded("master", "query-offsets", "answers a time with the first message that is not older, or the queue's end")
class NeverLooksBack(Progress):
    def on_search(self, request: Request) -> None:
        header, store = request.header, self.parts.store
        topic, queue_id, ms = header["topic"], header["queueId"], header["timestamp"]
        queues = store.queues

        def is_older(offset: int) -> bool:
            found: list[Entry] = queues.get(topic, queue_id, offset, 1)
            return bool(found) and store.dispatcher.store_ms(found[0]) < ms

        offset, end = queues.min_offset(topic, queue_id), queues.next_offset(topic, queue_id)
        while offset < end and is_older(offset):
            offset += 1
        request.answer(values={"offset": offset})


@seeded("slave", "query-offsets", "reports that every queue begins at 0")
class BeginsAtZero(Progress):
    def on_min(self, request: Request) -> None:
        request.answer(values={"offset": 0})


@seeded("master", "query-statistics", "reports the durable end as its log's end")
class CountsDurable(Statistics):
    def runtime_info(self) -> dict[str, str]:
        return {**super().runtime_info(), "commitLogMaxOffset": str(self.parts.store.log.flushed)}


@seeded("slave", "query-statistics", "reports the next message's time as that of the last one consumed or stored")
class TellsNextTime(Statistics):
    def _stored_ms(self, topic: str, queue_id: int, offset: int) -> int:
        return super()._stored_ms(topic, queue_id, offset + 1)


@seeded("slave", "query-members", "lists one consumer of a group even if there are several")
class NamesOne(Members):
    def on_consumer_ids(self, request: Request) -> None:
        ids = self.parts.clients.consumer_ids(request.header["consumerGroup"])
        if len(ids) > 1:
            request.answer(body=beans.encode(ConsumerList(tuple(ids[:1]))))
        else:
            super().on_consumer_ids(request)


@seeded("slave", "invalid-refused", "answers unknown requests with success")
class KnowsEverything(Broker):
    def handle(self, peers: CommandPeers, conn: Conn, command: Command) -> None:
        if command.code in self.handlers:
            super().handle(peers, conn, command)
        else:
            peers.answer(conn, command, 0)


@seeded("master", "invalid-refused", "creates and deletes topics of any name")
class TakesAnyTopic(Administration):
    def check_own_topic(self, name: str) -> None:
        pass


@seeded("master", "invalid-refused", "searches messages in queues that do not exist")
class PullsAnyQueue(Pulling):
    def _check(self, group: SubscriptionGroupConfig, name: str, queue_id: int) -> None:
        super()._check(group, name, 0)
