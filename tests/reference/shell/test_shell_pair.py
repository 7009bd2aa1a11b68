"""Broker processes over real sockets and files: replication, kills, restarts."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import Callable

from real_brokers import BrokerProcess, Caller, caller, eventually

from pairproof.reference.client.client import Outcome
from pairproof.reference.wire import record

Make = Callable[..., BrokerProcess]
Pair = Callable[[], tuple[BrokerProcess, BrokerProcess]]


async def bodies(call: Caller, address: str) -> list[bytes]:
    """All messages of queue 0."""
    found: list[bytes] = []
    while True:
        answer = (await call.pull(address, len(found))).answer
        assert answer is not None
        at = 0
        while at < len(answer.body):
            each = record.decode(answer.body, at)
            assert isinstance(each, record.Record)
            found.append(each.message.body)
            at += each.size
        if not answer.body:
            return found


def test_waiting_sends_are_stored_on_both_and_the_logs_are_equal(pair: Pair) -> None:
    async def play() -> list[Outcome]:
        async with caller() as call:
            await call.replicated(master.address)
            sends = [call.send(master.address, b"%d" % n * 100, n % 4) for n in range(200)]
            return await asyncio.gather(*sends)

    master, slave = pair()
    outcomes = asyncio.run(play())
    assert [each.status for each in outcomes] == ["PUT_OK"] * 200
    assert (master.stop(), slave.stop()) == (0, 0)
    assert master.log() == slave.log()
    assert len(master.log()) > 65_536, "the messages were to cross a file's border"


def test_kill_9_of_a_loaded_master_loses_nothing_that_was_answered(pair: Pair, broker: Make) -> None:
    async def load() -> list[bytes]:
        answered: list[bytes] = []

        async def producer(number: int) -> None:
            for count in itertools.count():
                body = b"%d/%d" % (number, count)
                if (await call.send(master.address, body * 20)).status != "PUT_OK":
                    return
                answered.append(body * 20)
                if len(answered) == 300:
                    master.kill()

        async with caller() as call:
            await call.replicated(master.address)
            await asyncio.gather(*map(producer, range(32)))
        return answered

    async def stored() -> list[bytes]:
        async with caller() as call:
            return await bodies(call, again.address)

    master, _ = pair()
    answered = asyncio.run(load())
    again = broker("master", brokerRole="SYNC_MASTER").start()
    assert "abnormal recovery" in again.said.decode()
    assert set(answered) <= set(asyncio.run(stored()))


def test_a_slave_that_was_killed_catches_up(pair: Pair, broker: Make) -> None:
    async def play() -> None:
        async with caller() as call:
            await call.replicated(master.address)
            slave.kill()
            sends = (call.send(master.address, b"%d" % n * 100, properties="WAIT\x01false") for n in range(200))
            assert {each.status for each in await asyncio.gather(*sends)} == {"PUT_OK"}
            again.start()
            await call.replicated(master.address)

    master, slave = pair()
    again = broker("slave", brokerRole="SLAVE", brokerId=1, haMasterAddress=f"127.0.0.1:{master.port + 1}")
    asyncio.run(play())
    assert master.log() == again.log()


def test_an_orderly_stop_removes_the_abort_file_and_a_kill_leaves_it(broker: Make) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        first = broker().start()
        assert (first.store / "abort").exists()
        assert first.stop(number) == 0
        assert "stopped; the log ends at 0" in first.said.decode()
        assert not (first.store / "abort").exists()
    second = broker().start()
    asyncio.run(send_one(second.address))
    second.kill()
    assert (second.store / "abort").exists()
    third = broker().start()
    assert "abnormal recovery" in third.said.decode()
    assert third.stop() == 0
    assert "normal recovery" in broker().start().said.decode().replace("abnormal", "")


async def send_one(address: str) -> None:
    async with caller() as call:
        assert (await call.send(address, b"hello")).status == "PUT_OK"


def test_a_message_sent_to_the_fast_port_is_there_for_the_main_port(broker: Make) -> None:
    async def play() -> list[bytes]:
        async with caller() as call:
            assert (await call.send(f"127.0.0.1:{master.port - 2}", b"fast")).status == "PUT_OK"
            return await bodies(call, master.address)

    master = broker().start()
    assert asyncio.run(play()) == [b"fast"]


def test_a_flush_that_a_send_waits_for_ends(broker: Make) -> None:
    master = broker(flushDiskType="SYNC_FLUSH").start()
    asyncio.run(send_one(master.address))


def test_the_commit_log_may_lie_elsewhere(broker: Make) -> None:
    master = broker()
    elsewhere = master.folder / "other" / "log"
    broker(storePathCommitLog=elsewhere).start()
    asyncio.run(send_one(master.address))
    assert [each.name for each in elsewhere.iterdir()] == [f"{0:020d}"]
    assert not (master.store / "commitlog").exists()


def test_a_slave_whose_files_have_another_size_says_so_and_acknowledges_nothing_more(broker: Make) -> None:
    async def play() -> int:
        async with caller() as call:
            await call.replicated(master.address)
            answers = [(await call.send(master.address, b"x" * 20_000)).status for _ in range(4)]
            await eventually(lambda: call.send(master.address, b"alone"), "SLAVE_NOT_AVAILABLE")
            return answers.count("PUT_OK")

    master = broker("master", brokerRole="SYNC_MASTER", slaveTimeout=200).start()
    slave = broker(
        "slave", brokerRole="SLAVE", brokerId=1, haMasterAddress=f"127.0.0.1:{master.port + 1}",
        mappedFileSizeCommitLog=131_072,
    ).start()  # fmt: skip
    acknowledged = asyncio.run(play())
    said = slave.hear("replication has stopped: mappedFileSizeCommitLog is 131072 here, but differs at the master")
    assert "a file of the master ends at 65536" in said
    assert (master.stop(), slave.stop()) == (0, 0)
    assert slave.said.count(b"replication has stopped") == slave.said.count(b"connected to") == 1
    assert 0 < acknowledged <= slave.log().count(b"x" * 20_000) == 3, "no more fit before the border"
