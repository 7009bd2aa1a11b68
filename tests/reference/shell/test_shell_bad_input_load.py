"""Peers that take more than they should, of real processes: memory, time and connections stay bounded, others go on.

The bounds: 128 MiB of half frames and 128 MiB of answers that nobody takes, over all connections, besides what a broker
that just runs needs (about 40 MiB).
"""

from __future__ import annotations

import asyncio
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from abuse import MIB, Honest, answer, beside, command, crowd, is_open, last_words, peak_memory, survives, wait_until
from real_brokers import DEADLINE_S, BrokerProcess, Caller, NameServerProcess, caller, connected

from pairproof.reference.core.command_peers import MAX_PEERS
from pairproof.reference.wire import remoting
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import MAX_FRAME, CommandReader

Make = Callable[..., BrokerProcess]
BOUND = (40 + 128 + 48) * MIB
"""Of the memory of a process that keeps what it may keep of one kind: 48 MiB are for copies in use and for the heap."""
STATS = command(RequestCode.GET_TOPIC_STATS_INFO, oneway=True, topic="BenchmarkTest")
"""Little to send and much to do: this topic has 1,024 queues."""


def pull(opaque: int, offset: int, topic: str = "big", waits_ms: int = 0) -> bytes:
    """A pull of everything behind ``offset`` that may wait."""
    return command(
        11, opaque, consumerGroup="C", topic=topic, queueId=0, queueOffset=offset, maxMsgNums=32,
        sysFlag=6 if waits_ms else 4, commitOffset=0, suspendTimeoutMillis=waits_ms, subVersion=0,
    )  # fmt: skip


def send(topic: str, body: bytes, opaque: int = 1, oneway: bool = False) -> bytes:
    return command(
        10, opaque, body, oneway=oneway, producerGroup="P", topic=topic, defaultTopic="TBW102",
        defaultTopicQueueNums=1, queueId=0, sysFlag=0, bornTimestamp=0, flag=0,
    )  # fmt: skip


def test_half_frames_of_a_thousand_connections_are_kept_up_to_a_bound(broker: Make) -> None:
    def attack() -> None:
        # One announces 16 MiB and sends nearly all of them, the others a quarter MiB each: more than twice the bound.
        with crowd(master.address, MAX_PEERS - 2) as peers, connected(master.address) as first:
            header = struct.pack(">iI", MAX_FRAME - 4, 10)
            first.sendall(header + bytes(MAX_FRAME - MIB))
            for each in peers:
                each.sendall(header + bytes(MIB // 4))
            for each in (first, peers[0]):
                assert last_words(each) == b"", "who has waited longest goes first"
            wait_until(lambda: sum(map(is_open, peers)) <= 128 * 4)
            kept = [each for each in peers if is_open(each)]
            assert len(kept) > 400, "no more than need be"
            assert kept == peers[-len(kept) :]

    master = broker().start()
    survives(master.address, attack)
    assert peak_memory(master) < BOUND
    assert master.stop() == 0


def test_half_frames_of_a_thousand_connections_cost_a_name_server_no_more(name_server: NameServerProcess) -> None:
    ask = command(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)

    async def play() -> None:
        async with caller() as call:
            await beside(lambda: asks(call), attack)

    async def asks(call: Caller) -> None:
        found = await call.ask(name_server.address, RequestCode.GET_BROKER_CLUSTER_INFO)
        assert found is not None and found.code == remoting.SUCCESS, found

    def attack() -> None:
        with crowd(name_server.address, MAX_PEERS - 1) as peers, connected(name_server.address):
            assert last_words(peers[0]) == b"", "the oldest makes room"
            for each in peers[1:]:
                each.sendall(struct.pack(">iI", MAX_FRAME - 4, 10) + bytes(MIB // 4))
            assert last_words(peers[1]) == b""
            wait_until(lambda: sum(map(is_open, peers)) <= 128 * 4)
        with connected(name_server.address) as sock:
            assert answer(sock, ask).code == remoting.SUCCESS

    name_server.start()
    asyncio.run(play())
    name_server.hear("the main port is full (logged once): accepted 127.0.0.1 in place of a connection")
    assert peak_memory(name_server) < BOUND
    assert name_server.stop() == 0


def test_answers_that_nobody_takes_are_kept_up_to_a_bound(broker: Make) -> None:
    def attack() -> None:
        # Each is owed 15 MiB at once, of which its socket takes less than 4 MiB.
        with crowd(master.address, 30) as peers, connected(master.address) as producer:
            for each in peers:
                each.sendall(b"".join(pull(opaque, 1, waits_ms=30_000) for opaque in range(5)))
                assert answer(each, command(RequestCode.GET_MAX_OFFSET, 5, topic="big", queueId=0)).opaque == 5
            assert answer(producer, send("big", bytes(3 * MIB))).code == remoting.SUCCESS
            assert len(last_words(peers[0])) < 4 * MIB, "who has waited longest goes first"
            assert opaques(peers[-1], 5) == list(range(5))

    master = broker(mappedFileSizeCommitLog=8 * MIB, maxMessageSize=4 * MIB).start()
    with connected(master.address) as sock:
        assert answer(sock, send("big", b"the first")).code == remoting.SUCCESS
    survives(master.address, attack)
    assert peak_memory(master) < BOUND + 8 * MIB, "and the log's file"
    assert master.stop() == 0


def opaques(sock: socket.socket, count: int) -> list[int]:
    reader = CommandReader()
    found: list[int] = []
    while len(found) < count:
        data = sock.recv(MIB)
        assert data, f"closed after {len(found)} answers"
        found += [each.opaque for each in reader.feed(data)]
    return found


def test_ten_thousand_answers_at_once_for_one_that_reads_nothing_hold_up_nobody(broker: Make) -> None:
    def attack() -> None:
        with connected(master.address, buffers=4_096) as sock, connected(master.address) as producer:
            for start in range(0, 10_000, 500):
                sock.sendall(b"".join(pull(start + each, 1, "news", 30_000) for each in range(500)))
            assert answer(sock, command(RequestCode.GET_MAX_OFFSET, 10_000, topic="news", queueId=0)).opaque == 10_000
            assert answer(producer, send("news", b"x" * 900)).code == remoting.SUCCESS
            time.sleep(0.5)

    master = broker().start()
    with connected(master.address) as sock:
        assert answer(sock, send("news", b"the first")).code == remoting.SUCCESS
    survives(master.address, attack)
    assert peak_memory(master) < BOUND
    assert master.stop() == 0


@pytest.mark.parametrize("asked", [STATS, send("flood", b"x" * 500, oneway=True)], ids=["costly", "sends"])
def test_a_flood_of_one_way_requests_leaves_others_their_turn(broker: Make, asked: bytes) -> None:
    enough = threading.Event()

    def attack() -> None:
        with crowd(master.address, 2) as peers:
            for each in peers:
                each.setblocking(False)
            while not enough.is_set():
                for each in select.select([], peers, [], 0.1)[1]:
                    each.send(asked * 100)

    async def play() -> None:
        async with caller() as call:
            honest = Honest(call, master.address)
            await honest.turn()
            attacking = asyncio.create_task(asyncio.to_thread(attack))
            try:
                await asyncio.sleep(0.3)
                for _ in range(3):
                    await honest.turn()
            finally:
                enough.set()
                await attacking
            await honest.finds_everything()

    master = broker().start()
    asyncio.run(play())
    assert peak_memory(master) < BOUND
    assert master.stop() == 0


def test_connections_that_come_and_go_are_forgotten(broker: Make, name_server: NameServerProcess) -> None:
    def attack() -> None:
        for number in range(3_000):
            port = (master.port, master.port - 2, master.port + 1, name_server.port)[number % 4]
            with connected(f"127.0.0.1:{port}") as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    name_server.start()
    master = broker().start()
    survives(master.address, attack)
    for each in (master, name_server):
        assert peak_memory(each) < BOUND
        wait_until(partial(has_few_descriptors, each))
        assert each.stop() == 0


def has_few_descriptors(process: BrokerProcess) -> bool:
    assert process.process is not None
    return len(list(Path(f"/proc/{process.process.pid}/fd").iterdir())) < 50


def test_a_thousand_idle_connections_are_a_line_in_the_log_and_are_closed_in_time(
    broker: Make, name_server: NameServerProcess
) -> None:
    async def play() -> None:
        async with caller() as call:
            honest = Honest(call, master.address)
            await beside(honest.turn, attack)
            await honest.finds_everything()

    def attack() -> None:
        fast_port, half = f"127.0.0.1:{master.port - 2}", MAX_PEERS // 2
        with crowd(master.address, half) as peers, crowd(fast_port, half + 20) as fast:
            for each in peers[:20]:
                assert last_words(each) == b"", "the oldest make room"
            assert is_open(peers[100]) and is_open(fast[0])
            for each in [*peers, *fast]:
                each.settimeout(DEADLINE_S)
                assert last_words(each) == b"", "idle for too long"
        with connected(master.address) as sock:
            assert answer(sock, command(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)).code == remoting.SUCCESS

    master = broker(serverChannelMaxIdleTimeSeconds=3).start()
    asyncio.run(play())
    master.hear("the fast port is full (logged once): accepted 127.0.0.1 in place of a connection")
    assert master.stop() == 0
    assert master.said.count(b"port is full") == 1
