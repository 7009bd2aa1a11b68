"""An observer's reads of a trial's nodes: stores, tables, ends of queues, answers to questions.

Stores are read while their brokers are stopped for a few milliseconds (SIGSTOP), so a snapshot belongs to one moment.
Tables are requested on the brokers' own ports, past all proxies; a slave's delay offsets are read from its file, since
it loads them only when it becomes a master.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ...harness.errors import LabError
from ...harness.rocketmq import topology
from ...harness.rocketmq.conversations.brokers import OF_BROKERS
from ...harness.rocketmq.invalid_requests import Invalid
from ...harness.rocketmq.laws.delivery.deliver_delayed import delays_ms
from ...harness.rocketmq.operations.scope import AWAITED_MS
from ...reference.client import admin
from ...reference.client.client import Client
from ...reference.core.calls import Outcome
from ...reference.core.config import BrokerConfig
from ...reference.core.delay import SCHEDULE_TOPIC
from ...reference.wire.bodies import DelayOffsets, TopicConfigs
from ...reference.wire.bodies_client import MessageQueue
from ...reference.wire.headers import RequestCode
from ..labs import script
from ..labs.real.nodes import RealNode
from ..labs.real.world import World
from ..observers import auditing, start_reader, table_reader
from ..observers.auditing import Snapshot
from ..observers.remoting_codes import Request
from . import conversations, invalid_requests, questions
from .machines import Machine
from .questions import Answered, Asking

STORE_PARTS = ("commitlog/", "consumequeue/", "index/", auditing.CHECKPOINT)
ASK_S = 4.0
SNAPSHOTS = 5
"""Attempts to read a store that was written meanwhile, because an outsider sent SIGCONT."""
ANSWERED = "an answer"
"""Status of any answer to bytes that are not a frame."""
TABLES = {
    "topics": RequestCode.GET_ALL_TOPIC_CONFIG,
    "groups": RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    "offsets": RequestCode.GET_ALL_CONSUMER_OFFSET,
    "delays": RequestCode.GET_ALL_DELAY_OFFSET,
}
DELAYS = "config/delayOffset.json"
DELAYS_BACKUP = f"{DELAYS}.bak"


class Inspection:
    def __init__(self, world: World, machine: Machine, configs: Mapping[str, BrokerConfig], has_names: bool) -> None:
        self.world = world
        self.configs = configs
        self.has_names = has_names
        self._client = Client(machine.io)
        machine.start(lambda: self._client)

    # Stores.

    def starting(self, name: str) -> None:
        node = self.world.node(name)
        with suppress(LabError):  # A disk that has no power yet cannot be read.
            files = node.files((start_reader.LOG, start_reader.ABORT))
            if start_reader.has_log(files):
                found = start_reader.find(files, self.configs[name].maxHashSlotNum)
                start_reader.record(self.world.recorder, self.world.now(), name, node.incarnation + 1, found)

    def audit(self, f: str, *nodes: str) -> None:
        """Read stores from outside: records of ``nodes``, and the bytes of each such slave and of the master."""
        for name, listed in script.audited(self.world.plan.replicas, nodes):
            self.world.evidence.audits += 1
            now, found = self.snapshots(*dict.fromkeys((topology.MASTER, name)))
            auditing.audit(self.world.recorder, now, self.world.evidence.audits, f, found[0], found[-1], listed)
        if self.has_names:
            for name in nodes:
                self.tables(name)

    def snapshots(self, *names: str) -> tuple[int, list[Snapshot]]:
        """Brokers' stores at one moment, and its time.

        The time is taken while they are stopped: their later actions have later times, their earlier ones earlier
        times.
        """
        nodes = [self.world.node(name) for name in names]
        for _ in range(SNAPSHOTS):
            with self.world.processes.standing_still(*nodes) as stood_still:
                now, found = self.world.now(), [self._snapshot(node) for node in nodes]
                if stood_still():
                    return now, found
        raise LabError(f"{', '.join(names)} cannot be read: a process outside the lab resumes them")

    def _snapshot(self, node: RealNode) -> Snapshot:
        end = self.world.evidence.log_ends.get(node.name) if self.world.serves(node) else None
        files = node.files(STORE_PARTS)
        config = self.configs[node.name]
        return Snapshot(node.name, node.incarnation, files, end, config.maxHashSlotNum, config.messageDelayLevel)

    # Tables.

    def tables(self, name: str) -> None:
        node = self.world.node(name)
        if self.world.serves(node) and not node.pauses and not node.unplugged:
            self.world.run(self._tables(node))

    async def _tables(self, node: RealNode) -> None:
        if node.name not in self.configs:
            asked = self.world.evidence.now()
            body = await self._body(self._names(), RequestCode.GET_BROKER_CLUSTER_INFO)
            if body is not None:
                self._record(node.name, "brokers", asked, partial(self._brokers, body))
            return
        for table, code in TABLES.items():
            asked = self.world.evidence.now()
            if table == "delays" and node.name in topology.SLAVES:
                files = node.files((DELAYS,))
                bodies = [bytes(files.get(name) or b"") for name in (DELAYS, DELAYS_BACKUP)]
                self._record(node.name, table, asked, partial(table_reader.read_delays, bodies))
                continue
            body = await self._body(self.configs[node.name].address, code)
            if body is not None:
                self._record(node.name, table, asked, partial(table_reader.read, table, bytes(body)))

    # Questions.

    def question(self, name: str, groups: Sequence[str], asking: Asking) -> None:
        node, evidence = self.world.node(name), self.world.evidence
        if not self.world.serves(node) or node.pauses or node.unplugged:
            return
        audit, records = questions.audited(list(self.world.recorder.events), name)
        for each in questions.chosen(self.world.seed, name, records, groups, asking.kinds):
            answered = self.world.run(self._answered(name, each.code, each.fields))
            if answered is not None:
                questions.record(
                    evidence.add, evidence.now(), name, node.incarnation, audit, each, answered, asking.figures
                )  # fmt: skip
        for sent in invalid_requests.chosen(self.world.seed, name):
            answered = self.world.run(self._refused(name, sent))
            if answered is not None:
                invalid_requests.record(
                    evidence.add, evidence.now(), name, node.incarnation, sent, answered.status, answered.remark
                )
        before: list[Answered] = []
        for step in conversations.chosen(self.world.seed, name, OF_BROKERS) if asking.has_conversation else ():
            asks = step.asks
            answered = self.world.run(self._answered(name, Request[asks.code], asks.fields, asks.body))
            if answered is None:
                # Later steps depend on this answer, which is unknown.
                break
            conversations.record(evidence.add, evidence.now(), name, node.incarnation, step, answered, before)
            before.append(answered)

    async def _refused(self, name: str, sent: Invalid) -> Answered | None:
        if sent.frame:
            return await self._ended(name, sent.frame)
        return await self._answered(name, invalid_requests.code_of(sent), sent.asks.fields, sent.asks.body)

    async def _answered(self, name: str, code: int, fields: Mapping[str, str], body: bytes = b"") -> Answered | None:
        calls, address = self._client.calls, self.configs[name].address
        outcome = await self._outcome(lambda done: calls.call(address, code, fields, body, done))
        answer = outcome.answer
        return None if answer is None else Answered(outcome.status, answer.fields, answer.body, answer.remark)

    async def _ended(self, name: str, frame: bytes) -> Answered | None:
        """Whether a broker closes a connection with these bytes; None if unknown."""
        host, _, port = self.configs[name].address.rpartition(":")
        writer = None
        status = ""
        try:
            async with asyncio.timeout(ASK_S):
                reader, writer = await asyncio.open_connection(host, int(port))
                writer.write(frame)
                status = ANSWERED if await reader.read(1) else questions.CLOSED
        except ConnectionError:
            status = "" if writer is None else questions.CLOSED
        except TimeoutError:
            pass
        finally:
            if writer is not None:
                writer.close()
        return Answered(status, {}, b"") if status else None

    def _brokers(self, body: bytes) -> table_reader.Table:
        found = {
            name: {number: self.world.evidence.node_at(address) for number, address in brokers.items()}
            for name, brokers in table_reader.brokers(body).items()
        }
        return table_reader.Table(json.dumps(found, sort_keys=True))

    async def _body(self, address: str, code: RequestCode) -> bytes | None:
        outcome = await self._outcome(lambda done: self._client.calls.call(address, code, {}, b"", done))
        return outcome.answer.body if outcome.phase == "ok" and outcome.answer is not None else None

    def _record(self, node: str, f: str, asked: int, read: Callable[[], table_reader.Table]) -> None:
        evidence = self.world.evidence
        table_reader.record(evidence.add, evidence.now, node, evidence.audits, f, read, asked)

    # Ends of queues.

    async def queue_ends(self, topic: str) -> dict[MessageQueue, int]:
        """The next offset of each of a topic's queues, at every master that answers."""
        found = {}
        for name in (topology.MASTER, topology.OTHER):
            node = self.world.nodes.get(name)
            if node is None or not self.world.serves(node):
                continue
            own = self.configs[name]
            address = own.address
            topics = await self._read(partial(admin.table, self._client.calls, address, TopicConfigs))
            config = topics.topic_config_table.get(topic) if topics is not None else None
            for number in range(config.read_queue_nums if config is not None else 0):
                queue = MessageQueue(topic, own.brokerName, number)
                end = await self._end(address, queue)
                if end is not None:
                    found[queue] = end
        return found

    async def delayed(self) -> bool:
        """Whether the master still holds delayed messages, of levels that a trial waits for."""
        node, config = self.world.nodes[topology.MASTER], self.configs[topology.MASTER]
        if not self.world.serves(node):
            return False
        address = config.address
        delays = await self._read(partial(admin.table, self._client.calls, address, DelayOffsets))
        offsets = delays.offset_table if delays is not None else {}
        for level, delay_ms in enumerate(delays_ms(config.messageDelayLevel), 1):
            if delay_ms > AWAITED_MS:
                continue
            end = await self._end(address, MessageQueue(SCHEDULE_TOPIC, config.brokerName, level - 1))
            if end and offsets.get(level, 0) < end:
                return True
        return False

    async def _end(self, address: str, queue: MessageQueue) -> int | None:
        found: int | None = await self._read(partial(admin.max_offset, self._client.calls, address, queue))
        return found

    async def _read(self, ask: Callable[[Callable[[Outcome, Any], None]], None]) -> Any:
        ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(outcome: Outcome, value: Any) -> None:
            if not ended.done():
                ended.set_result(value)

        ask(done)
        try:
            async with asyncio.timeout(ASK_S):
                return await ended
        except TimeoutError:
            return None

    async def _outcome(self, ask: Callable[[Callable[[Outcome], None]], None]) -> Outcome:
        found: Outcome | None = await self._read(lambda done: ask(lambda outcome: done(outcome, outcome)))
        return found if found is not None else Outcome("info", "timeout", None)

    def _names(self) -> str:
        return str(self.world.links.address(topology.NAMES))
