"""Sends that few producers make: batches, and edge-case messages. See the operations of these names.

Each message of a batch has its own call in the history, and all of them end with the request: laws on an answer's waits
use the last one. A message with several keys is named by all of them. Sizes that fit the present file are right if
nothing else is stored at the same time.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import partial

from ...harness.rocketmq import topology
from ...harness.texts.content import LARGE, content
from ...reference.client.client import Outcome
from ...reference.core.config import BrokerConfig
from ...reference.core.topics import retry_topic
from ...reference.wire.bodies_client import BatchItem
from .clients import Call, Clients, described, filled
from .provision import GROUP, TOPIC

SIZE = 100
"""Size of a body that does not matter, in bytes."""
LARGEST = 3_500
"""Size of a body that fills a file: with it a request has 4 KiB at most."""
MOST = 300_000
"""Size of a large body: more than one pull returns, more than recovery reads at once, more than one HA batch."""
SHARED_KEYS = 3
FOREIGN_KEY, FOREIGN_TAG = "\u043a\u043b\u044e\u0447", "\u6a19\u7c64\U00010400"
"""Characters of two bytes in UTF-8, of three and of four, which UTF-16 encodes in one unit or two."""
NEW_TOPICS = 2
ALIKE = ("Aa", "BB")
"""Texts with the same hash in Java."""
COMPRESSED = 0x1
"""A bit of sysFlag."""
FILLER = 8
"""Bytes that remain at least behind the last message of a file."""
MOST_PROPERTIES = 32_767
"""Limit of properties, whose length is a signed short in a record."""
WORDY = (400, 1_300)
"""Alternating padding in the properties of wordy messages, which no CRC covers: less than a disk sector, and more than
two, for which the least file has room.
"""
SLACK = 200
"""Maximum size of a broker's additional properties, in bytes: 5.5.0 adds 82."""
PADDING = "\x02PADDING\x01"
FIXED = 91
"""Size of a record without body, topic and properties, with two IPv4 hosts."""


class OtherSends:
    """Implements CanSendOtherwise. ``log_end`` returns the master's log end, ``config`` is the master's. ``most``: size
    of a large body, as much as the network accepts at once.
    """

    def __init__(self, clients: Clients, config: BrokerConfig, log_end: Callable[[], int], most: int = MOST) -> None:
        self.most = most
        self.clients = clients
        self.config = config
        self.log_end = log_end
        # A broker adds its cluster's name to the properties.
        self._added = f"\x02CLUSTER\x01{config.brokerClusterName}"

    def send_batch(self, producer: int, count: int, size: int, wait: bool, queue: int) -> None:
        calls, items = [], []
        for left in reversed(range(count)):
            key, flag, tags = self.clients.new_message()
            body = filled(key, size)
            calls.append(
                self._invoke(producer, key, f"{TOPIC}/{queue}", wait, _of_batch(body, tags, flag, left, count * size))
            )
            items.append(BatchItem(body, described(f"KEYS\x01{key}", tags, True).encode(), flag))
        self.clients.client.send_batch(
            self.clients.address(calls[0]), TOPIC, queue, items, described("", "", wait).lstrip("\x02"),
            partial(self._sent, calls),
        )  # fmt: skip

    def send_edge_case(self, producer: int, what: str, wait: bool, queue: int) -> None:
        clients = self.clients
        key, flag, tags = clients.new_message()
        topic, number, sys_flag, name = TOPIC, queue, 0, "KEYS"
        match what:
            case "keys":
                key = f"{key} k{int(key[1:]) % SHARED_KEYS}"
            case "repeated-key":
                key = " ".join((key, *2 * (f"k{int(key[1:]) % SHARED_KEYS}",)))
            case "foreign":
                key, tags = f"{key} {FOREIGN_KEY}{int(key[1:]) % SHARED_KEYS}", FOREIGN_TAG
            case "unique":
                name = "UNIQ_KEY"
            case "any-queue":
                number = -1
            case "retry-topic":
                topic, number = retry_topic(GROUP), 0
            case "new-topic":
                topic = f"new{int(key[1:]) % NEW_TOPICS}"
            case "same-hash":
                turn = int(key[1:])
                topic, key = f"new{ALIKE[turn % 2]}", f"{key} k{ALIKE[turn // 2 % 2]}"
        own = f"{name}\x01{key}"
        stored = described(own, tags, True)
        more = self._padding(what, len(stored), int(key.partition(" ")[0][1:]))
        properties = described(own, tags, wait) + more
        body = filled(key, self._size(what, len(topic) + len(stored)))
        long = {"size": len(properties), "illegal": what == "too-long"} if more and what != "wordy" else {}
        detail = content(body, tags, flag, **long)
        if what == "compressed":
            body, sys_flag = zlib.compress(body), COMPRESSED
            detail = content(body, tags, flag, compressed=True)
        call = self._invoke(producer, key, f"{topic}/{number}", wait, detail)
        done = partial(clients.sent, call)
        clients.client.send(clients.address(call), topic, number, body, properties, done, flag, sys_flag)

    def _size(self, what: str, texts: int) -> int:
        if what == "empty":
            return 0
        if what not in ("fills-file", "misses-file", "large"):
            return SIZE
        whole = self.config.mappedFileSizeCommitLog
        rest = FIXED + texts + len(self._added) + FILLER
        if what == "large":
            return max(0, min(self.most, whole - rest - SLACK, self.config.maxMessageSize))
        size = whole - self.log_end() % whole - rest + (what == "misses-file")
        size = size if size >= 0 else whole - rest
        return size if 0 <= size <= min(LARGEST, self.config.maxMessageSize) else SIZE

    def _padding(self, what: str, stored: int, number: int) -> str:
        """Additional properties that bring all to the required length; none if they do not fit into a file."""
        if what == "wordy":
            return PADDING + "p" * WORDY[number % len(WORDY)]
        if what not in ("longest", "too-long") or self.config.mappedFileSizeCommitLog < 2 * MOST_PROPERTIES:
            return ""
        rest = stored + len(self._added) + len(PADDING)
        return PADDING + "p" * (MOST_PROPERTIES - rest + (1 if what == "too-long" else -SLACK))

    def _invoke(self, producer: int, key: str, queue: str, wait: bool, detail: str) -> Call:
        return self.clients.invoke(f"producer-{producer}", "send", topology.MASTER, key, queue, int(wait), detail)

    def _sent(self, calls: Sequence[Call], outcome: Outcome) -> None:
        """Each message of a batch has its own log offset, and the next offset of its queue."""
        answer = outcome.answer
        ids = answer.fields.get("msgId", "").split(",") if answer is not None else []
        for place, call in enumerate(calls):
            own = outcome
            if outcome.phase == "ok" and answer is not None:
                fields = dict(answer.fields)
                # An answer with missing ids or offsets is unreadable for the messages without them.
                fields["msgId"] = ids[place] if len(ids) == len(calls) else ""
                first = fields.get("queueOffset", "")
                fields["queueOffset"] = str(int(first) + place) if first.isdecimal() else first
                own = outcome._replace(answer=answer._replace(fields=fields))
            self.clients.sent(call, own)


def _of_batch(body: bytes, tags: str, flag: int, left: int, size: int) -> str:
    """``left``: messages that follow in the batch; ``size``: of the whole batch, bytes."""
    more: dict[str, object] = {"more": True} if left else {}
    return content(body, tags, flag, **more, **({"size": size} if size > LARGE else {}))
