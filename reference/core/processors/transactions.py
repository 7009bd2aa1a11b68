"""Transactions: half messages, and END_TRANSACTION (37), which commits them or rolls them back.

A half message waits in RMQ_SYS_TRANS_HALF_TOPIC, which consumers do not read. A commit stores the message again, in its
real queue and marked as committed. Commit and rollback put the half message's queue offset, tagged ``d``, into
RMQ_SYS_TRANS_OP_HALF_TOPIC, which marks it as done. Stored messages keep their properties (TRAN_MSG, REAL_TOPIC,
REAL_QID), as in RocketMQ. A slave answers 11. A repeated end is executed again, as in RocketMQ.

Left out: check-back of pending half messages with the producer. Where this differs from RocketMQ, on purpose: the
offset must belong to a half message; a pending transaction is answered, too; and the broker removes a half message's
delay (in RocketMQ only the client does). Source: EndTransactionProcessor, TransactionalMessageBridge,
SendMessageProcessor.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ...errors import CodecError, StoreFull
from ...wire import remoting
from ...wire.properties import DELAY, properties_of, properties_to
from ...wire.record import Message, Record
from ..parts import Parts
from ..requests import Refused, Request
from .limits import check_range, check_topic

HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
PENDING, PREPARED, COMMIT, ROLLBACK = 0x0, 0x4, 0x8, 0xC
"""MessageSysFlag's transaction types: bits of the system flag, and END_TRANSACTION's decision."""
_TYPE = 0xC
MAX_QUEUE_ID = (1 << 31) - 1


def is_half(message: Message) -> bool:
    """Whether a send is the first half of a transaction: TRAN_MSG is true, or its system flag is prepared.

    Not so for a message that a consumer before 4.6.1 sends back, delayed, with all its properties.
    """
    if message.sys_flag & _TYPE == PREPARED:
        return True
    if b"TRAN_MSG\x01" not in message.properties:
        return False
    properties = properties_of(message.properties)
    sent_back = message.reconsume_times > 0 and properties.get(DELAY, "0") != "0"
    return properties.get("TRAN_MSG", "").lower() == "true" and not sent_back


def half_message(message: Message) -> Message:
    """The message as stored in the half topic: without a transaction type, with its real topic and queue."""
    properties = {key: value for key, value in properties_of(message.properties).items() if key != DELAY}
    properties |= {"REAL_TOPIC": message.topic, "REAL_QID": str(message.queue_id)}
    return message._replace(
        topic=HALF_TOPIC, queue_id=0, properties=properties_to(properties), sys_flag=message.sys_flag & ~_TYPE
    )


def committed_message(half: Record) -> Message:
    """The message that a commit of this half message stores. CodecError without a real topic and queue."""
    message = half.message
    properties = properties_of(message.properties)
    topic, queue_id = properties.get("REAL_TOPIC", ""), properties.get("REAL_QID", "")
    check_topic(topic)
    if not queue_id.isascii() or not queue_id.isdecimal():
        raise CodecError(f"the half message at {half.physical_offset} has no real queue, but {queue_id!r:.20}")
    check_range("REAL_QID", int(queue_id), 0, MAX_QUEUE_ID)
    return message._replace(
        topic=topic,
        queue_id=int(queue_id),
        sys_flag=message.sys_flag & ~_TYPE | COMMIT,
        prepared_offset=half.physical_offset,
    )


class Transactions:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.host = parts.config.store_host

    def on_end(self, request: Request) -> None:
        """Store the producer's decision, and answer as for any send."""
        if self.parts.config.is_slave:
            raise Refused(remoting.SLAVE_NOT_AVAILABLE, "a slave ends no transactions: ask its master")
        header = request.header
        decision = header["commitOrRollback"]
        if decision == PENDING:
            request.answer(remark="the transaction is still pending")
            return
        if decision not in (COMMIT, ROLLBACK):
            raise CodecError(f"commitOrRollback is {decision}: 0 (pending), 8 (commit) or 12 (rollback) are allowed")
        half = self._half(header)
        try:
            self._store(request, half, decision)
        except StoreFull:
            raise Refused(remoting.SERVICE_NOT_AVAILABLE, "the disk is full") from None

    def _half(self, header: Mapping[str, Any]) -> Record:
        """The half message of the request; CodecError without one, or if it belongs to another group."""
        offset = header["commitLogOffset"]
        half = self.parts.store.record_at(offset)
        if half is None or half.physical_offset != offset or half.message.topic != HALF_TOPIC:
            raise CodecError(f"no half message begins at commitLogOffset {offset}")
        if properties_of(half.message.properties).get("PGROUP") != header["producerGroup"]:
            raise CodecError(f"the half message at {offset} belongs to another producer group")
        if half.queue_offset != header["tranStateTableOffset"]:
            raise CodecError(f"the half message at {offset} has queue offset {half.queue_offset}")
        return half

    def _store(self, request: Request, half: Record, decision: int) -> None:
        puts = self.parts.puts
        if decision == ROLLBACK:
            end = puts.put(self._op_message(half)).hi
        else:
            end = puts.put(self.committed(half)).hi
            try:
                puts.put(self._op_message(half))
            except StoreFull:
                # The message is committed; the op message is only an optimisation.
                pass
        puts.settle(end, True, partial(self._answer, request.kept()))

    def committed(self, half: Record) -> Message:
        return committed_message(half)

    def _op_message(self, half: Record) -> Message:
        return Message(
            topic=OP_TOPIC,
            queue_id=half.message.queue_id,
            body=str(half.queue_offset).encode(),
            properties=b"TAGS\x01d",
            born_ms=self.parts.io.wall_ms(),
            born_host=self.host,
            store_host=self.host,
        )

    def _answer(self, request: Request, status: str) -> None:
        # Stored is success, whatever the status.
        request.answer()
