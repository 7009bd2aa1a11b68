"""Messages by key and by offset: QUERY_MESSAGE (12) and VIEW_MESSAGE_BY_ID (33).

Where this differs from RocketMQ, on purpose: the key index holds only hashes, so the key and topic of each record are
compared; a message with a repeated key is returned once; and an answer fits into a frame. Source:
QueryMessageProcessor, DefaultMessageStore.queryMessage and selectOneMessageByOffset.
"""

from ...errors import CodecError
from ...wire import remoting
from ...wire.properties import properties_of
from ...wire.record import Record
from ..dispatch import keys_of
from ..key_index import Found
from ..parts import Parts
from ..requests import Refused, Request

UNIQUE_QUERY_MESSAGES = 32
"""defaultQueryMaxNum: the limit of a query for a client's message id, whatever it requests."""
MOST_MESSAGES = 64
"""maxMsgsNumBatch."""
MOST_CANDIDATES = 1_000
"""Index entries with the key's hash that a query examines, newest first."""
MOST_BYTES = remoting.MAX_FRAME // 2
_NOTHING = Found([], 0, 0)


class Queries:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def on_query(self, request: Request) -> None:
        """12: the newest messages with this key, in the log's order."""
        header = request.header
        unique = header.get("_UNIQUE_KEY_QUERY", False)
        limit = UNIQUE_QUERY_MESSAGES if unique else min(header["maxNum"], MOST_MESSAGES)
        topic, key = header["topic"], header["key"]
        index = self.parts.store.index
        found = _NOTHING
        if index is not None:
            found = index.query(topic, key, MOST_CANDIDATES, header["beginTimestamp"], header["endTimestamp"])
        records = self._with_key(topic, key, found.offsets, limit)
        if not records:
            found = _NOTHING
        values = {"indexLastUpdateTimestamp": found.last_ms, "indexLastUpdatePhyoffset": found.last_offset}
        if records:
            request.answer(values=values, body=b"".join(map(self._bytes, reversed(records))))
        else:
            request.answer(remoting.QUERY_NOT_FOUND, values, remark="no message with this key and in this time")

    def on_view(self, request: Request) -> None:
        """33: the message at a log offset, which comes from a message id."""
        offset = request.header["offset"]
        record = self._record(offset)
        if record is None:
            raise Refused(remoting.SYSTEM_ERROR, f"no message begins at offset {offset} of the log")
        request.answer(body=self._bytes(record))

    def _with_key(self, topic: str, key: str, offsets: list[int], limit: int) -> list[Record]:
        """The first messages with this key at these offsets."""
        found: list[Record] = []
        size = 0
        for offset in dict.fromkeys(offsets):
            record = self._record(offset)
            if record is None or not _has(record, topic, key):
                continue
            size += record.size
            if len(found) >= limit or (found and size > MOST_BYTES):
                break
            found.append(record)
        return found

    def _record(self, offset: int) -> Record | None:
        try:
            found = self.parts.store.record_at(offset)
        except CodecError:
            return None
        return found if found is not None and found.physical_offset == offset else None

    def _bytes(self, record: Record) -> bytes:
        return self.parts.store.log.read(record.physical_offset, record.size)


def _has(record: Record, topic: str, key: str) -> bool:
    return record.message.topic == topic and key in keys_of(properties_of(record.message.properties))
