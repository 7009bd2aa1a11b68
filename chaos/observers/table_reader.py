"""Reads a broker's tables from outside: answers to GET_ALL_TOPIC_CONFIG and similar requests, and config files.

fastjson writes numbers as keys without quotes; this reader adds them. Shares no code with the judged broker. Left out:
tables of RocketMQ 5. Source: TopicConfigSerializeWrapper, SubscriptionGroupWrapper, ConsumerOffsetSerializeWrapper,
DelayOffsetSerializeWrapper.
"""

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from ...harness.history import LONG
from ...harness.texts.quoting import own_words

BODIES = {
    "topics": "topicConfigTable", "groups": "subscriptionGroupTable", "offsets": "offsetTable", "delays": "offsetTable",
}  # fmt: skip
"""By table: the field of its body with its content."""
SHOWN = 40
"""Bytes of unreadable content that an error shows."""
_BARE_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|([{,]\s*)(-?\d+)(\s*:)')


class Table(NamedTuple):
    """A parsed table: ``detail`` is its content as JSON with sorted keys; no version if it has none."""

    detail: str
    counter: int | None = None
    timestamp: int | None = None


@lru_cache(maxsize=256)
def read(table: str, body: bytes) -> Table:
    """Read one; ValueError for malformed bytes. Cached, since most tables are read several times unchanged."""
    found = parsed(body)
    version = found.get("dataVersion") or {}
    if not isinstance(found.get(BODIES[table]), dict) or not isinstance(version, dict):
        raise ValueError(f"no {table}: {body[:SHOWN]!r}")
    counter, timestamp = version.get("counter"), version.get("timestamp")
    if not all(each is None or (type(each) is int and each in LONG) for each in (counter, timestamp)):
        raise ValueError(f"no data version of {table}: {body[:SHOWN]!r}")
    return Table(json.dumps(found[BODIES[table]], sort_keys=True), counter, timestamp)


def read_delays(contents: Iterable[bytes | None]) -> Table:
    """Read the file of delay offsets as a broker does: the first of its contents, then its backup's, that is a table.

    Empty if both are; ValueError if one has content and neither is a table. The zeros of a file that was created and
    never written count as empty.
    """
    wrong: ValueError | None = None
    for body in contents:
        if body is not None and body.strip(b"\0"):
            try:
                return read("delays", body)
            except ValueError as why:
                wrong = wrong or why
    if wrong is not None:
        raise wrong
    return read("delays", b'{"offsetTable":{}}')


def record(
    add: Callable[..., None], now: Callable[[], int], node: str, audit: int, f: str, reading: Callable[[], Table],
    asked: int | None = None,
) -> None:  # fmt: skip
    """Record a table, or that it is unreadable. ``asked``: the request's time, if the read took a while."""
    try:
        table = reading()
    except ValueError as why:
        add(now(), "garbled", node, op=audit, f=f, detail=own_words(why) or "no table")
        return
    add(
        now(), "table", node, op=audit, f=f, lo=table.timestamp, value=table.counter, hi=asked, detail=table.detail
    )  # fmt: skip


def brokers(body: bytes) -> dict[str, dict[str, str]]:
    """The answer of a name server to GET_BROKER_CLUSTER_INFO: by broker name, addresses by broker id.

    ValueError for a malformed answer.
    """
    table: Any = parsed(body).get("brokerAddrTable")
    try:
        return {name: dict(broker["brokerAddrs"]) for name, broker in sorted(table.items())}
    except (AttributeError, KeyError, TypeError):
        raise ValueError(f"no brokers: {body[:SHOWN]!r}") from None


def parsed(body: bytes) -> dict[str, object]:
    """The object in a body; ValueError if it is not an object."""
    try:
        found = json.loads(_BARE_KEY.sub(_quoted, body.decode()))
    except RecursionError:
        raise ValueError(f"nested too deeply: {body[:SHOWN]!r}") from None
    if not isinstance(found, dict):
        raise ValueError(f"no object: {body[:SHOWN]!r}")
    return found


def _quoted(found: re.Match[str]) -> str:
    return found[0] if found[2] is None else f'{found[1]}"{found[2]}"{found[3]}'
