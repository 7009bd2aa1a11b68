"""Reads a broker's answers to questions about its log: records, counters, and tables with queues as keys.

fastjson writes a map whose keys are objects as ``{{...}:{...}}``, which no JSON parser accepts. ValueError for
malformed bytes. Shares no code with the judged broker. Source: QueryMessageProcessor, KVTable, TopicStatsTable,
ConsumeStats, GetConsumerListByGroupResponseBody of RocketMQ 4.9.
"""

import re
from collections.abc import Collection, Sequence
from struct import error as ShortOfBytes
from typing import Any

from ...harness.history import LONG, digest
from .stored_record import HEAD, LEAST_SIZE, MAGIC, MAGIC_V2, RECONSUMED_AT, SYS_FLAG_AT
from .table_reader import SHOWN, parsed

BORN_AT = SYS_FLAG_AT + 4
STORE_HOST_AT = BORN_AT + 24
"""Behind the birth's time and host, and the time of storing: eight bytes each."""
TOPIC = ("minOffset", "maxOffset", "lastUpdateTimestamp")
GROUP = ("brokerOffset", "consumerOffset", "lastTimestamp")
_ROW = re.compile(r"\{([^{}]*)\}:\{([^{}]*)\}")


def records(body: bytes) -> list[tuple[int, int]]:
    """In an answer's order: each record's own offset, and its digest."""
    return [(offset, digest(body[at : at + size])) for at, (size, _, _, _, _, _, offset, *_) in _heads(body)]


def _heads(body: bytes) -> list[tuple[int, tuple[int, ...]]]:
    """Each record's position, and its fixed fields."""
    found: list[tuple[int, tuple[int, ...]]] = []
    at = 0
    while at < len(body):
        try:
            head = HEAD.unpack_from(body, at)
        except ShortOfBytes:
            raise ValueError(f"no record: {body[at : at + SHOWN]!r}") from None
        if head[1] not in (MAGIC, MAGIC_V2) or not LEAST_SIZE <= head[0] <= len(body) - at:
            raise ValueError(f"no record: {body[at : at + SHOWN]!r}")
        found.append((at, head))
        at += head[0]
    return found


def messages(body: bytes) -> list[dict[str, Any]]:
    """Each record of an answer: size, queue, queue offset, body, flag, system flags, birth, ms, times, properties."""
    found = []
    for at, (size, _, _, queue, flag, offset, _, flags, length) in _heads(body):
        end = at + HEAD.size + length
        topic_end = end + 1 + body[end]
        text = body[topic_end + 2 : at + size].decode()
        found.append({
            "size": size, "queue": queue, "offset": offset, "body": body[end - length : end].decode(), "flag": flag,
            "flags": flags,
            "born_ms": int.from_bytes(body[at + BORN_AT : at + BORN_AT + 8], "big"),
            "times": int.from_bytes(body[at + RECONSUMED_AT : at + RECONSUMED_AT + 4], "big", signed=True),
            "properties": dict(each.split("\x01", 1) for each in text.split("\x02") if each),
        })  # fmt: skip
    return found


def store_host(body: bytes) -> bytes:
    """The store host in an answer's first record: four bytes of an address, and four of a port."""
    return body[STORE_HOST_AT : STORE_HOST_AT + 8]


def figures(body: bytes, names: Sequence[str]) -> dict[str, int]:
    """The counters with these names in a broker's runtime information."""
    field = parsed(body).get("table")
    if not isinstance(field, dict):
        raise ValueError(f"no figures: {body[:SHOWN]!r}")
    return {name: number(field[name]) for name in names if name in field}


def properties(body: bytes, names: Collection[str]) -> dict[str, str]:
    """The settings with these names in a broker's answer, as text."""
    field = dict(line.split("=", 1) for line in body.decode().splitlines() if line)
    return {name: field[name] for name in names if name in field}


def queues(body: bytes, names: Sequence[str]) -> dict[int, list[int]]:
    """By queue id the numbers with these names, from a table of one topic's queues."""
    text = body.decode()
    if '"offsetTable":{' not in text:
        raise ValueError(f"no table of queues: {body[:SHOWN]!r}")
    found = {}
    for key, row in _ROW.findall(text):
        queue, field = parsed(f"{{{key}}}".encode()), parsed(f"{{{row}}}".encode())
        try:
            # fastjson leaves out null only, and these are numbers.
            found[number(queue["queueId"])] = [number(field[name]) for name in names]
        except KeyError as why:
            raise ValueError(f"no {why} in {body[:SHOWN]!r}") from None
    return dict(sorted(found.items()))


def members(body: bytes) -> list[str]:
    """Client ids."""
    field = parsed(body).get("consumerIdList")
    if not isinstance(field, list) or not all(isinstance(each, str) for each in field):
        raise ValueError(f"no client ids: {body[:SHOWN]!r}")
    return field


def number(field: object) -> int:
    """A number of 64 bits from a field of a header or a body."""
    found = int(field) if isinstance(field, (int, str)) else None
    if found is None or found not in LONG:
        raise ValueError(f"{str(field)[:SHOWN]!r} cannot be a number of 64 bits")
    return found
