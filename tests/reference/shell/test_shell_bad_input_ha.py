"""Both directions of the HA port with what should not come there: replication goes on, or comes back."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from abuse import MIB, Honest, RogueMaster, crowd, is_open, last_words, peak_memory, survives
from real_brokers import DEADLINE_S, BrokerProcess, caller, connected, free_port

from pairproof.reference.core.ha_master import MAX_PER_ADDRESS
from pairproof.reference.wire.ha import encode_header, encode_report

Make = Callable[..., BrokerProcess]
BOUND = 96 * MIB
"""Of a broker's memory: twice what one needs that just runs."""
SILENCE = {"haHousekeepingInterval": 1_500}
NOISE = random.Random(2).randbytes(4_096)

TO_A_MASTER = {
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "half a report": b"\0\0\0",
    "less than nothing": encode_report(-1),
    "the end of all numbers": encode_report(2**63 - 1),
    "more than there is": encode_report(10**9),
    "noise": b"\xff" + NOISE,
    "an honest report, then noise": encode_report(0) + b"\x7f" + NOISE,
}
CROWD = 70
LIES = [
    *(encode_report(first) + encode_report(2**40) for first in (0, 2**40, -1)),
    encode_report(0) + encode_report(-1),
    encode_report(2**63 - 1) * 1_000,
    NOISE,
]


@pytest.fixture
def replicating(broker: Make) -> tuple[BrokerProcess, BrokerProcess]:
    """A pair whose sends are answered with PUT_OK: the slave holds them."""

    master = broker("master", brokerRole="SYNC_MASTER", slaveTimeout=1_000, **SILENCE).start()
    copies = {"brokerRole": "SLAVE", "brokerId": 1, "haMasterAddress": f"127.0.0.1:{master.port + 1}"}
    slave = broker("slave", **copies, **SILENCE).start()
    asyncio.run(replicated(master))
    return master, slave


async def replicated(master: BrokerProcess) -> None:
    """Wait until a slave holds what is sent."""
    async with caller() as call:
        await call.replicated(master.address)


def test_garbage_to_a_master_s_ha_port_ends_in_a_close_and_replication_goes_on(
    replicating: tuple[BrokerProcess, BrokerProcess],
) -> None:
    def attack() -> None:
        with crowd(f"127.0.0.1:{master.port + 1}", len(TO_A_MASTER)) as peers:
            for each, garbage in zip(peers, TO_A_MASTER.values(), strict=True):
                each.sendall(garbage)
            for each, title in zip(peers, TO_A_MASTER, strict=True):
                said = last_words(each)
                assert title.startswith("an honest") or said == b"", title

    master, slave = replicating
    survives(master.address, attack)
    assert "ahead of the master's log end" in master.hear("it reports 1000000000")
    assert peak_memory(master) < BOUND
    assert (master.stop(), slave.stop()) == (0, 0)
    assert master.log() == slave.log()


def test_no_lie_to_a_master_acknowledges_what_no_slave_holds(
    replicating: tuple[BrokerProcess, BrokerProcess],
) -> None:
    async def status() -> str:
        async with caller() as call:
            return (await call.send(master.address, b"only here", queue=1)).status

    master, slave = replicating
    assert slave.process is not None
    slave.process.send_signal(signal.SIGSTOP)
    with crowd(f"127.0.0.1:{master.port + 1}", len(LIES)) as peers:
        for each, lie in zip(peers, LIES, strict=True):
            each.sendall(lie)
        assert asyncio.run(status()) == "FLUSH_SLAVE_TIMEOUT"
    slave.process.send_signal(signal.SIGCONT)
    asyncio.run(replicated(master))
    assert (master.stop(), slave.stop()) == (0, 0)
    assert master.log() == slave.log()


def test_silent_peers_of_a_master_make_room_for_a_slave_and_are_closed_in_time(
    replicating: tuple[BrokerProcess, BrokerProcess],
) -> None:
    def attack() -> None:
        address = f"127.0.0.1:{master.port + 1}"
        # One place is the slave's.
        with crowd(address, MAX_PER_ADDRESS - 1) as peers, connected(address) as late:
            late.sendall(encode_report(0))
            assert late.recv(1)
            assert last_words(peers[0]) == b"", "the oldest goes first"
            assert is_open(peers[1])
            for each in peers:
                each.settimeout(DEADLINE_S)
                assert last_words(each) == b""
        with connected(address) as sock:
            sock.sendall(encode_report(0))
            assert sock.recv(1)

    master, slave = replicating
    survives(master.address, attack)
    assert (master.stop(), slave.stop()) == (0, 0)
    assert master.log() == slave.log()


def test_seventy_strangers_with_a_plausible_report_keep_no_slave_out(broker: Make) -> None:
    # Housekeeping closes nobody before the test is over.
    master = broker("master", brokerRole="SYNC_MASTER", slaveTimeout=1_000).start()
    slave = broker("slave", brokerRole="SLAVE", brokerId=1, haMasterAddress=f"127.0.0.1:{master.port + 1}")
    with crowd(f"127.0.0.1:{master.port + 1}", CROWD) as peers:
        for each in peers:
            # Those that had to make room at once hear of it with their first word.
            with contextlib.suppress(OSError):
                each.sendall(encode_report(0))
        slave.start()
        # None of the strangers ever says that it has got anything: PUT_OK is the slave's word.
        asyncio.run(replicated(master))
    assert (master.stop(), slave.stop()) == (0, 0)
    assert master.log() == slave.log()


def test_a_peer_that_asks_for_the_log_and_does_not_read_it_costs_no_memory(
    replicating: tuple[BrokerProcess, BrokerProcess],
) -> None:
    def attack() -> None:
        with crowd(f"127.0.0.1:{master.port + 1}", 20, buffers=4_096) as peers:
            for each in peers:
                each.sendall(encode_report(0))
            asyncio.run(load())

    async def load() -> None:
        async with caller() as call:
            sends = (call.send(master.address, bytes(30_000), queue=1, properties="WAIT\x01false") for _ in range(500))
            assert {each.status for each in await asyncio.gather(*sends)} == {"PUT_OK"}

    master, slave = replicating
    survives(master.address, attack)
    assert master.anonymous_memory() < BOUND
    assert (master.stop(), slave.stop()) == (0, 0)
    assert master.log() == slave.log()


# Slaves of an impostor.


def reset(sock: socket.socket, end: int) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def says(sock: socket.socket, words: bytes) -> None:
    """Say it and wait: only the slave may close."""
    sock.sendall(words)
    while sock.recv(4_096):
        pass


TO_A_SLAVE: dict[str, Callable[[socket.socket, int], None]] = {
    "resets": reset,
    "noise": lambda sock, end: says(sock, b"\xff" + NOISE),
    "a negative size": lambda sock, end: says(sock, encode_header(end, -1)),
    "two gigabytes": lambda sock, end: says(sock, encode_header(end, 2**31 - 1) + bytes(MIB)),
    "another place": lambda sock, end: says(sock, encode_header(end + 1, 10) + bytes(10)),
    "half a header": lambda sock, end: says(sock, encode_header(end, 10)[:11]),
    "half a body": lambda sock, end: says(sock, encode_header(end, 100) + bytes(99)),
}  # fmt: skip


def one_after_the_other(titles: list[str], end: int) -> Callable[[socket.socket], None]:
    """A script: the first connection gets the first, and so on."""

    def script(sock: socket.socket) -> None:
        if titles:
            TO_A_SLAVE[titles.pop(0)](sock, end)

    return script


@pytest.mark.slow
def test_slaves_of_a_bad_master_keep_and_serve_what_they_have_and_follow_the_real_one_again(
    replicating: tuple[BrokerProcess, BrokerProcess], broker: Make
) -> None:
    async def play() -> None:
        async with caller() as call:
            honest = Honest(call, master.address)
            for _ in range(10):
                await honest.turn()
            assert (master.stop(), slave.stop()) == (0, 0)
            log = master.log()
            slaves = impersonated(honest, len(log.rstrip(b"\0")))
            async with asyncio.timeout(20):
                while any(each.served < 2 for each in impostors):
                    for each in slaves:
                        await Honest(call, each.address, honest.acknowledged).finds_everything()
                    await asyncio.sleep(0.1)
            for each in slaves:
                assert each.log() == log
                assert peak_memory(each) < BOUND
            impostors[0].close()
            broker("master", brokerRole="SYNC_MASTER", **SILENCE).start()
            await call.replicated(master.address)
            await honest.turn()
            for each in slaves:
                assert each.stop() == 0

    def impersonated(honest: Honest, end: int) -> list[BrokerProcess]:
        """Slaves with the master's store; the first one's master is the real one's successor."""
        slaves = []
        titles = list(TO_A_SLAVE)
        for number in range(0, len(titles), 2):
            ha_port = master.port + 1 if number == 0 else free_port()
            script = one_after_the_other(titles[number : number + 2], end)
            impostors.append(stack.enter_context(RogueMaster(ha_port, script)))
            copy = broker(
                f"slave {number}", brokerRole="SLAVE", brokerId=1, haMasterAddress=f"127.0.0.1:{ha_port}", **SILENCE
            )
            shutil.copytree(master.store, copy.store)
            slaves.append(copy.start())
        return slaves

    master, slave = replicating
    impostors: list[RogueMaster] = []
    with ExitStack() as stack:
        asyncio.run(play())
