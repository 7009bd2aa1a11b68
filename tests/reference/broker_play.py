"""What the broker's tests share: a broker on a fake port with a client connected to it, and the frames it is sent."""

from __future__ import annotations

from typing import Any

from fake_port import FakePort

from pairproof.reference.core.broker import Broker
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.remoting import Command, CommandReader

MS = 1_000_000
HEADER = {"a": "g", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
"""What a send needs."""


class Shell(FakePort):
    """A fake port with one broker behind it and a client connected to it."""

    def __init__(self, disk: Any, **settings: Any) -> None:
        super().__init__(disk)
        small = {"mappedFileSizeCommitLog": 4_096, "mappedFileSizeConsumeQueue": 200}
        config = BrokerConfig(**{**small, "maxHashSlotNum": 8, "maxIndexNum": 16, **settings})
        self.broker = Broker(config, self, self)
        self.broker.on_start()
        self.broker.on_accepted("c", "main")
        self.asked = 0

    @property
    def log_flushes(self) -> list[Any]:
        """Flushes of the log: their tokens say up to where."""
        return [token for token in self.flushes if isinstance(token, int)]

    def ask(self, frame: bytes, conn: str = "c") -> None:
        self.broker.on_bytes(conn, frame)

    def request(self, code: int, body: bytes = b"", conn: str = "c", **values: Any) -> Command | None:
        """Ask with a typed header; the answer, or None if there is none yet."""
        self.asked += 1
        before = len(self.answers(conn))
        fields = headers.encode_request(code, values)
        self.ask(remoting.encode(Command(code, 1_000_000 + self.asked, 0, fields, body)), conn)
        return next(iter(self.answers(conn)[before:]), None)

    def answers(self, conn: str = "c") -> list[Command]:
        return list(CommandReader().feed(self.sent.get(conn, b"")))

    def ring(self, ms: int) -> None:
        self.time = ms * MS
        for key in [key for key, at in self.timers.items() if at <= self.time]:
            del self.timers[key]
            self.broker.on_timer(key)

    def put(self, opaque: int = 1, *, wait: bool = True, **changes: Any) -> None:
        self.ask(send(opaque, wait=wait, **changes))


def send(opaque: int = 1, *, wait: bool = True, topic: str = "T", queue_id: int = 0, body: bytes = b"body") -> bytes:
    return remoting.send_request(
        opaque,
        producer_group="g",
        topic=topic,
        queue_id=queue_id,
        born_ms=1,
        body=body,
        properties="KEYS\x01k" if wait else "KEYS\x01k\x02WAIT\x01false",
    )


def pull(opaque: int, offset: int, *, queue_id: int = 0, limit: int = 32) -> bytes:
    return remoting.pull_request(
        opaque, consumer_group="g", topic="T", queue_id=queue_id, offset=offset, max_messages=limit
    )
