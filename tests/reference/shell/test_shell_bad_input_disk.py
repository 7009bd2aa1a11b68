"""Brokers on a device that is full: they say so, keep and serve what they have acknowledged, and go on with room.

The device is a tmpfs in a mount namespace of its own; a file of ballast takes up its room until it is deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from abuse import Honest, bodies_of
from real_brokers import DEADLINE_S, TOPIC, BrokerProcess, Caller, caller, die_with_parent, free_port

from pairproof.reference.wire import record, remoting
from pairproof.reference.wire.headers import RequestCode

SMALL = {"mappedFileSizeConsumeQueue": 100_000, "maxHashSlotNum": 100, "maxIndexNum": 1_000}
HOLD = 'mount -t tmpfs -o size=4m tmpfs "$0" && head -c 3500k /dev/zero >"$0/ballast" && echo ready && exec sleep 600'


class SmallDisk:
    """4 MiB, of which about 600 KiB are free, at ``path``, for who runs in its namespace."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self.path = path
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", HOLD, str(path)], stdout=subprocess.PIPE, preexec_fn=die_with_parent
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"ready\n"

    @property
    def enter(self) -> list[str]:
        """Before a command that is to run there."""
        return ["nsenter", "--target", str(self._holder.pid), "--mount"]

    @property
    def outside(self) -> Path:
        """Where its files are for everybody else."""
        return Path(f"/proc/{self._holder.pid}/root{self.path}")

    def take_the_rest(self) -> None:
        """Not even a block is left, where no log file fitted before."""
        with (self.outside / "rest").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4_096))

    def make_room(self) -> None:
        (self.outside / "ballast").unlink()

    def end(self) -> None:
        self._holder.kill()
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()


class BrokerOnSmallDisk(BrokerProcess):
    """Its store is a small disk."""

    def __init__(self, disk: SmallDisk, settings: dict[str, Any]) -> None:
        self.disk = disk
        super().__init__(disk.path.parent, {**SMALL, **settings})

    @property
    def store(self) -> Path:
        return self.disk.outside

    def launch(self) -> BrokerProcess:
        self.process = subprocess.Popen(
            [*self.disk.enter, sys.executable, "-m", self.module, "-c", str(self.config)],
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,
        )
        return self


@contextmanager
def running(disk: SmallDisk, **settings: Any) -> Iterator[BrokerProcess]:
    """A broker on this disk, started."""
    broker = BrokerOnSmallDisk(disk, {"listenPort": free_port(), **settings})
    try:
        yield broker.start()
    finally:
        broker.kill()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user cannot mount a small file system")
    disk = SmallDisk(tmp_path / "full" / "store")
    yield disk
    disk.end()


async def fill(honest: Honest) -> None:
    """Send until the disk is full."""
    while True:
        body = b"%d" % len(honest.acknowledged) * 4_000
        sent = await honest.call.send(honest.address, body)
        if sent.phase != "ok":
            assert sent.status == "SERVICE_NOT_AVAILABLE", sent
            return
        honest.acknowledged.append(body)


def test_a_master_on_a_full_disk_refuses_keeps_and_serves_and_goes_on_with_room(small_disk: SmallDisk) -> None:
    progress: dict[str, Any] = {"consumerGroup": "G", "topic": TOPIC, "queueId": 0}

    async def full() -> list[bytes]:
        async with caller() as call:
            honest = Honest(call, master.address)
            await honest.turn()
            await fill(honest)
            assert len(honest.acknowledged) > 20
            for _ in range(20):
                assert (await call.send(master.address, b"x" * 4_000)).status == "SERVICE_NOT_AVAILABLE"
                await honest.finds_everything()
            assert await sent_back(call, len(honest.acknowledged) - 1) == remoting.SYSTEM_ERROR
            commit = await call.ask(master.address, RequestCode.UPDATE_CONSUMER_OFFSET, **progress, commitOffset=7)
            assert commit is not None and commit.code == remoting.SUCCESS
            small_disk.make_room()
            for _ in range(10):
                await honest.turn()
            return honest.acknowledged

    async def sent_back(call: Caller, offset: int) -> int:
        pulled = (await call.pull(master.address, offset)).answer
        assert pulled is not None
        last = record.decode(pulled.body)
        assert isinstance(last, record.Record)
        again: dict[str, Any] = {"offset": last.physical_offset, "group": "G", "delayLevel": 1}
        answer = await call.ask(master.address, RequestCode.CONSUMER_SEND_MSG_BACK, **again)
        assert answer is not None
        return answer.code

    async def later(acknowledged: list[bytes]) -> None:
        async with caller() as call:
            honest = Honest(call, master.address, acknowledged)
            await honest.finds_everything()
            await honest.turn()
            answer = await call.ask(master.address, RequestCode.QUERY_CONSUMER_OFFSET, **progress)
            assert answer is not None and answer.fields["offset"] == "7"

    with running(small_disk) as master:
        acknowledged = asyncio.run(full())
        assert master.stop() == 0
    for recovery in ("normal", "abnormal"):
        with running(small_disk) as master:
            assert f": {recovery} recovery" in master.said.decode()
            asyncio.run(later(acknowledged))


def test_what_had_no_room_in_its_queue_can_be_pulled_once_there_is_room(small_disk: SmallDisk) -> None:
    async def play() -> None:
        async with caller() as call:
            honest = Honest(call, master.address)
            await honest.turn()
            await fill(honest)
            small_disk.take_the_rest()
            assert (await call.send(master.address, b"its queue is new", queue=1)).status == "PUT_OK"
            assert bodies_of(await call.pull(master.address, 0, queue=1)) == []
            small_disk.make_room()
            async with asyncio.timeout(DEADLINE_S):
                while bodies_of(await call.pull(master.address, 0, queue=1)) != [b"its queue is new"]:
                    await asyncio.sleep(0.1)

    with running(small_disk) as master:
        asyncio.run(play())


def test_a_slave_on_a_full_disk_costs_nobody_anything_and_catches_up_with_room(
    small_disk: SmallDisk, broker: Callable[..., BrokerProcess]
) -> None:
    async def play() -> None:
        async with caller() as call:
            await call.replicated(master.address)
            stored = 0
            while (last := (await call.send(master.address, b"%d" % stored * 4_000)).status) == "PUT_OK":
                stored += 1
            assert stored > 20 and last in ("FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")
            held = slave.log()
            assert master.log().startswith(held.rstrip(b"\0"))
            small_disk.make_room()
            # The slave comes back five seconds after it has gone away.
            await call.replicated(master.address)

    master = broker(brokerRole="SYNC_MASTER", slaveTimeout=300, **SMALL).start()
    with running(small_disk, brokerRole="SLAVE", brokerId=1, haMasterAddress=f"127.0.0.1:{master.port + 1}") as slave:
        asyncio.run(play())
        assert (master.stop(), slave.stop()) == (0, 0)
        assert master.log() == slave.log()
