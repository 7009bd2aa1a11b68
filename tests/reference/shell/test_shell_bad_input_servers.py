"""Name servers and masters that answer a broker with garbage, without an end, or not at all: it serves its clients."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from abuse import MIB, Honest, RogueMaster, command, frame, peak_memory
from real_brokers import DEADLINE_S, BrokerProcess, Caller, NameServerProcess, caller, free_port, turns, until

from pairproof.reference.shell import sockets
from pairproof.reference.wire import remoting
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import MAX_FRAME, Command, CommandReader

Make = Callable[..., BrokerProcess]
BOUND = (40 + 6 * 32) * MIB
"""Of a broker's memory: each of six others may have sent nearly a frame, twice where it is being taken."""


def requests(sock: socket.socket) -> Iterator[Command]:
    """What the broker asks on this connection."""
    reader = CommandReader()
    while data := sock.recv(65_536):
        yield from reader.feed(data)


def silent(sock: socket.socket) -> None:
    for _ in requests(sock):
        pass


def talks(sock: socket.socket, answer: Callable[[Command], bytes]) -> None:
    """Answer whatever is asked."""
    for request in requests(sock):
        sock.sendall(answer(request))


def endless(sock: socket.socket) -> None:
    """A frame of 16 MiB that never ends, in fact: the last byte is missing."""
    next(requests(sock), None)
    sock.sendall(struct.pack(">iI", MAX_FRAME - 4, 2) + bytes(MAX_FRAME - 9))
    silent(sock)


def flood(sock: socket.socket) -> None:
    """Answers to what nobody asked, and requests, as many as the broker takes."""
    next(requests(sock), None)
    unasked = remoting.encode(Command(0, 2**31 - 1, remoting.RESPONSE_FLAG, {}, b"x" * 1_000))
    for _ in range(2_000):
        sock.sendall(unasked + command(RequestCode.SEND_MESSAGE, topic="T"))
    silent(sock)


def test_a_server_that_resets_at_once_is_one_that_went_away(monkeypatch: pytest.MonkeyPatch) -> None:
    connect, connected = sockets.connect, threading.Event()

    async def connect_and_wait(address: str, anywhere: bool) -> tuple[socket.socket, tuple[str, int]]:
        """The reset comes before whoever asked for the connection hears of it."""
        sock, peer = await connect(address, anywhere)
        connected.set()
        await until(lambda: not has_peer(sock))
        return sock, peer

    async def play(address: str) -> None:
        async with caller() as call:
            sent = await call.send(address, b"into nothing")
            assert (sent.phase, sent.status) == ("info", "disconnected")

    def reset(sock: socket.socket) -> None:
        connected.wait(DEADLINE_S)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    monkeypatch.setattr(sockets, "connect", connect_and_wait)
    with RogueMaster(free_port(), reset) as rogue_master:
        asyncio.run(play(rogue_master.address))


def has_peer(sock: socket.socket) -> bool:
    try:
        sock.getpeername()
    except OSError:
        return False
    return True


BAD_NAME_SERVERS: dict[str, Callable[[socket.socket], None]] = {
    "closes": lambda sock: None,
    "silent": silent,
    "noise": lambda sock: talks(sock, lambda request: b"\xff" + random.Random(3).randbytes(5_000)),
    "refuses": lambda sock: talks(sock, lambda request: remoting.response(request, 1, {}, b"", "no")),
    "endless": endless,
    "flood": flood,
}


def test_a_broker_with_bad_name_servers_serves_and_registers_at_the_good_one(
    name_server: NameServerProcess, broker: Make
) -> None:
    async def play() -> None:
        async with caller() as call:
            honest = Honest(call, master.address)
            while any(each.accepted == 0 for each in impostors):
                await honest.turn()
            for _ in range(50):
                await honest.turn()
            await turns(lambda: routed(call), {0: master.address}, 5)
            await honest.finds_everything()

    async def routed(call: Caller) -> dict[int, str]:
        answer = await call.ask(name_server.address, RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="pairproof")
        if answer is None or answer.code != remoting.SUCCESS:
            return {}
        found = json.loads(answer.body)["brokerDatas"][0]["brokerAddrs"]
        return {int(broker_id): address for broker_id, address in found.items()}

    name_server.start()
    with ExitStack() as stack:
        impostors = [stack.enter_context(RogueMaster(free_port(), script)) for script in BAD_NAME_SERVERS.values()]
        addresses = [*(each.address for each in impostors), name_server.address]
        master = broker(namesrvAddr=";".join(addresses)).start()
        asyncio.run(play())
        master.hear("registration: a name server does not answer")
        assert peak_memory(master) < BOUND
        assert master.stop() == 0


# A master whose tables cannot be had.


def huge(request: Command) -> bytes:
    return remoting.response(request, 0, {}, b"[" * (15 * MIB))


TABLES: dict[int, Callable[[Command], bytes]] = {
    21: huge,
    43: lambda request: remoting.response(request, 0, {}, b'{"offsetTable":{"T@G":{"x":1}}}'),
    45: lambda request: remoting.response(request, 0, {}, random.Random(4).randbytes(1_000)),
    201: lambda request: frame(b"no header"),
}
"""A bad answer for each table."""


@pytest.mark.parametrize("kind", ["garbage", "endless"])
def test_a_slave_whose_master_gives_it_no_tables_keeps_its_own_and_serves(
    name_server: NameServerProcess, broker: Make, kind: str
) -> None:
    seen: set[int] = set()
    asked = threading.Semaphore(0)

    def script(sock: socket.socket) -> None:
        for request in requests(sock):
            seen.add(request.code)
            if request.code == 201 or kind == "endless":
                asked.release()
            if kind == "endless":
                sock.sendall(struct.pack(">iI", MAX_FRAME - 4, 2) + bytes(MAX_FRAME - 9))
            else:
                sock.sendall(TABLES[request.code](request))

    async def play(ports: int) -> None:
        async with caller() as call:
            honest = Honest(call, old.address)
            for _ in range(10):
                await honest.turn()
            assert old.stop() == 0
            who = {"brokerName": "broker-a", "clusterName": "DefaultCluster", "brokerId": 0}
            bad = {**who, "brokerAddr": f"127.0.0.1:{ports}", "haServerAddr": "127.0.0.1:1"}
            answer = await call.ask(name_server.address, RequestCode.REGISTER_BROKER, b"", **bad)
            assert answer is not None and answer.code == remoting.SUCCESS
            slave = broker("old", brokerRole="SLAVE", brokerId=1, namesrvAddr=name_server.address).start()
            before = await tables(call, slave.address)
            honest = Honest(call, slave.address, honest.acknowledged)
            await honest.finds_everything()
            # The first look comes three seconds after the start, and an answer may take three.
            async with asyncio.timeout(15):
                while not asked.acquire(blocking=False):
                    await honest.finds_everything()
                    await asyncio.sleep(0.05)
            why = "cannot be fetched from the master" if kind == "endless" else "of the master cannot be read"
            await asyncio.to_thread(slave.hear, f"metadata: topics {why}")
            await honest.finds_everything()
            assert await tables(call, slave.address) == before
            assert peak_memory(slave) < BOUND
            assert slave.stop() == 0

    async def tables(call: Caller, address: str) -> list[bytes]:
        answers = [await call.ask(address, code) for code in (21, 201)]
        return [answer.body for answer in answers if answer is not None]

    name_server.start()
    old = broker("old").start()
    port = free_port()
    with RogueMaster(port, script), RogueMaster(port - 2, script):
        asyncio.run(play(port))
    assert seen == set(TABLES) if kind == "garbage" else seen
