"""The client library over real sockets: a producer, consumers that share queues, an administrator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from real_brokers import BrokerProcess, NameServerProcess, until

from pairproof.reference.client import admin, listener
from pairproof.reference.client.consumer import Consumer, ConsumerSettings
from pairproof.reference.client.producer import Outgoing, Producer, ProducerSettings, Sent
from pairproof.reference.shell.disk import RealDisk
from pairproof.reference.shell.log import Log
from pairproof.reference.shell.shell import Shell
from pairproof.reference.wire.bodies import ConsumerOffsets, TopicConfig
from pairproof.reference.wire.record import Record

TOPIC = "clients"
COUNT = 40


class Listener(listener.Listener):
    """Keeps the bodies."""

    def __init__(self) -> None:
        self.got: list[bytes] = []

    def delivered(self, op: int, queue: Any, record: Record, raw: bytes) -> None:
        self.got.append(record.message.body)


def shell() -> Shell:
    nowhere = Path("/nonexistent")
    return Shell(RealDisk(nowhere, nowhere), Log(fd=-1))


async def tell(function: Callable[..., None], *arguments: Any) -> Any:
    """The outcome of an administrator's call."""
    ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    function(*arguments, lambda outcome, *value: ended.set_result((outcome, *value)))
    return await asyncio.wait_for(ended, 8)


def test_messages_go_from_a_producer_to_consumers_and_progress_stays_at_the_broker(
    name_server: NameServerProcess, broker: Callable[..., BrokerProcess]
) -> None:
    name_server.start()
    master = broker(namesrvAddr=f"127.0.0.1:{name_server.port}").start()
    names = (f"127.0.0.1:{name_server.port}",)

    async def play() -> None:
        shells = [shell() for _ in range(3)]
        producer = Producer(shells[0], ProducerSettings("p1", "producers", names))
        shells[0].start(producer)
        (outcome,) = await tell(admin.update_topic, producer.calls, master.address, TopicConfig(TOPIC, 4, 4))
        assert outcome.phase == "ok"
        await send_until_routed(producer)
        listener, consumers = [Listener(), Listener()], []
        for number in range(2):
            settings = ConsumerSettings(
                f"c{number}", "g", {TOPIC: "*"}, names, consume_from_where="CONSUME_FROM_FIRST_OFFSET"
            )
            consumers.append(Consumer(shells[1 + number], settings, listener[number]))
            shells[1 + number].start(consumers[number])
        await until(lambda: [len(each.progress) for each in consumers] == [2, 2])
        sent: list[Sent] = []
        for number in range(COUNT):
            producer.send(Outgoing(TOPIC, f"m{number}".encode()), sent.append)
        wanted = {f"m{number}".encode() for number in range(COUNT)}
        await until(lambda: len(sent) == COUNT and wanted <= {*listener[0].got, *listener[1].got})
        assert (
            all(each.status == "PUT_OK" for each in sent)
            and wanted & {*listener[0].got}
            and wanted & {*listener[1].got}
        )
        for each in consumers:
            each.stop()
        await until(lambda: all(each.over for each in consumers))
        _, offsets = await tell(admin.table, producer.calls, master.address, ConsumerOffsets)
        assert sum(offsets.offset_table[f"{TOPIC}@g"].values()) == COUNT + 1
        for each in shells:
            each.stop()

    asyncio.run(play())


async def send_until_routed(producer: Producer) -> None:
    """Send one message; the name server may not have heard of the topic yet."""
    async with asyncio.timeout(8):
        while True:
            ended: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
            producer.send(Outgoing(TOPIC, b"first"), ended.set_result)
            if (await ended).phase == "ok":
                return
            await asyncio.sleep(0.05)
