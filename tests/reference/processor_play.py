"""A whole broker over a fake port, with what clients ask of it in a line, as real frames in and out."""

from __future__ import annotations

from typing import Any

from fake_port import MS, FakePort
from store_play import TreeDisk

from pairproof.reference.core.broker import Broker
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.wire import beans, headers, remoting
from pairproof.reference.wire.bodies_client import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Record, decode
from pairproof.reference.wire.remoting import Command, CommandReader

SECOND = 1_000 * MS
SLAVE = {"brokerRole": "SLAVE", "brokerId": 1}
SMALL = {
    "mappedFileSizeCommitLog": 4_096, "mappedFileSizeConsumeQueue": 200, "maxHashSlotNum": 8, "maxIndexNum": 64,
}  # fmt: skip


class Play(FakePort):
    """A broker, and its clients: one connection by name each, opened when first used."""

    def __init__(self, disk: Any = None, kind: type[Broker] = Broker, **settings: Any) -> None:
        super().__init__(disk if disk is not None else TreeDisk())
        self.conns: list[str] = []
        self._told: dict[str, list[Command]] = {}
        self.opaque = 0
        self.broker = kind(BrokerConfig(**{**SMALL, **settings}), self, self)
        self.broker.on_start()

    @property
    def parts(self) -> Any:
        return self.broker.parts

    def address(self, conn: str) -> tuple[str, int]:
        # A replica's has none that anything asks for.
        return "127.0.0.1", 40_000 + self.conns.index(conn) if conn in self.conns else 0

    def close(self, conn: str) -> None:
        super().close(conn)
        self.conns = [each for each in self.conns if each != conn]

    def end(self, conn: str) -> None:
        """The client ends its connection."""
        self.broker.on_closed(conn)
        self.conns.remove(conn)

    def feed(self, conn: str, command: Command) -> Command | None:
        """What the broker answers to this frame; None if nothing."""
        if conn not in self.conns:
            self.conns.append(conn)
            self.broker.on_accepted(conn, "main")
        self.broker.on_bytes(conn, remoting.encode(command))
        answers = [answer for answer in self._answers(conn) if answer.opaque == command.opaque]
        assert len(answers) <= 1
        return answers[0] if answers else None

    def told(self) -> dict[str, list[Command]]:
        """What the broker told its clients since the last look, by connection."""
        self._answers("")
        told, self._told = self._told, {}
        return told

    def _answers(self, conn: str) -> list[Command]:
        found = {each: list(CommandReader().feed(self.sent.pop(each, b""))) for each in self.conns}
        for each, commands in found.items():
            requests = [command for command in commands if not command.is_response]
            if requests:
                self._told.setdefault(each, []).extend(requests)
        return [command for command in found.get(conn, []) if command.is_response]

    def ask(self, code: int, body: bytes = b"", conn: str = "c", **fields: Any) -> Command:
        """The answer to a request with these header fields, by long names."""
        self.opaque += 1
        texts = headers.encode_request(code, fields)
        answer = self.feed(conn, Command(code, self.opaque, 0, texts, body, language="JAVA", version=401))
        assert answer is not None and answer.binary is False
        headers.decode_response(code, answer)
        return answer

    def value(self, code: int, name: str, **fields: Any) -> Any:
        """One field of the header of an answer that must be a SUCCESS."""
        answer = self.ask(code, **fields)
        assert answer.code == remoting.SUCCESS, answer.remark
        return headers.decode_response(code, answer)[name]

    def produce(
        self, topic: str = "T", queue_id: int = 0, properties: str = "", body: bytes = b"body"
    ) -> dict[str, Any]:
        """Store a message, making its topic; the answer's header."""
        answer = self.ask(
            RequestCode.SEND_MESSAGE, body, producerGroup="P", topic=topic, defaultTopic="TBW102",
            defaultTopicQueueNums=4, queueId=queue_id, sysFlag=0, bornTimestamp=1, flag=0, properties=properties,
        )  # fmt: skip
        assert answer.code == remoting.SUCCESS, answer.remark
        return headers.decode_response(RequestCode.SEND_MESSAGE, answer)

    def wait(self, seconds: float) -> None:
        """Time passes, and timers ring on time."""
        end = self.time + int(seconds * SECOND)
        while self.timers and min(self.timers.values()) <= end:
            key = min(self.timers, key=lambda each: self.timers[each])
            self.time = max(self.time, self.timers.pop(key))
            self.broker.on_timer(key)
        self.time = end

    def records(self) -> list[Record]:
        """Everything in the log, which must have one file."""
        log, found = self.broker.log, []
        at = log.start
        while at < log.end:
            record = decode(log.read(at, log.record_size(at)))
            assert isinstance(record, Record)
            found.append(record)
            at += record.size
        return found


def consumer(client: str, topics: str = "T", group: str = "G", **changes: Any) -> bytes:
    subscriptions = tuple(SubscriptionData(topic, sub_version=1) for topic in topics.split())
    data = ConsumerData(group, subscription_data_set=subscriptions, **changes)
    return beans.encode(HeartbeatData(client, (), (data,)))


def producer(client: str, group: str = "P") -> bytes:
    return beans.encode(HeartbeatData(client, (ProducerData(group),)))
