"""Descriptors: topics cost none, connections leave some for files, and a process that has none left is a full disk."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_brokers import BrokerProcess, Caller, caller, connected, die_with_parent, free_port

from pairproof.reference.errors import StoreFull
from pairproof.reference.shell import serve
from pairproof.reference.shell.disk import RealDisk
from pairproof.reference.wire.headers import RequestCode

FEW, TOPICS = 64, 100


class PoorBroker(BrokerProcess):
    """A process that may have few descriptors, and cannot get more."""

    settings = {**BrokerProcess.settings, "mappedFileSizeConsumeQueue": 4_000, "messageIndexEnable": False}

    def launch(self) -> PoorBroker:
        self.process = subprocess.Popen(
            ["sh", "-c", f'ulimit -n {FEW} && exec "$0" "$@"', sys.executable, "-m", self.module, "-c", self.config],
            stderr=subprocess.PIPE, preexec_fn=die_with_parent,
        )  # fmt: skip
        return self


@contextlib.contextmanager
def no_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_mapped_file_costs_no_descriptor_and_ends_with_who_holds_it(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    files = [disk.open(f"consumequeue/t{number}/0/0", 4_096) for number in range(50)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    for number, each in enumerate(files):
        each.write(10, b"%d" % number)
    assert [each.read(10, 2).rstrip(b"\0") for each in files] == [b"%d" % number for number in range(50)]
    mapped = str(tmp_path / "consumequeue" / "t7")
    assert mapped in Path("/proc/self/maps").read_text()
    del files, each
    assert mapped not in Path("/proc/self/maps").read_text()


def test_without_descriptors_a_new_file_is_one_for_which_there_is_no_room(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    file = disk.open("commitlog/0", 4_096)
    with no_descriptors():
        with pytest.raises(StoreFull, match=r"cannot open or write .*queue/t/0/0: Too many open files"):
            disk.open("consumequeue/t/0/0", 4_096)
        file.write(0, b"go on")
    assert file.read(0, 5) == b"go on"
    disk.open("consumequeue/t/0/0", 4_096).write(0, b"room")


@pytest.mark.parametrize(("limit", "kept"), [(24, 12), (256, 192), (4_096, 4_032)])
def test_connections_leave_descriptors_for_files(limit: int, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    monkeypatch.setattr(resource, "setrlimit", lambda which, both: None)
    assert serve._descriptors_for_connections() == kept


async def send(call: Caller, address: str, topic: str) -> int:
    told = await call.ask(
        address, RequestCode.SEND_MESSAGE, f"body of {topic}".encode(), producerGroup="P", topic=topic,
        defaultTopic="TBW102", defaultTopicQueueNums=1, queueId=0, sysFlag=0, bornTimestamp=0, flag=0,
    )  # fmt: skip
    assert told is not None, f"no answer for {topic}"
    return told.code


def test_more_topics_and_connections_than_descriptors_lose_nothing(tmp_path: Path) -> None:
    broker = PoorBroker(tmp_path, {"listenPort": free_port()}).start()

    async def play() -> None:
        async with caller() as call:
            assert await send(call, broker.address, "first") == 0
            with contextlib.ExitStack() as crowd:
                for _ in range(FEW):
                    with contextlib.suppress(OSError):
                        crowd.enter_context(connected(broker.address))
                for number in range(TOPICS):
                    assert await send(call, broker.address, f"topic{number}") == 0
        # Those that were refused are let in again.
        async with caller() as call:
            assert await send(call, broker.address, "last") == 0

    asyncio.run(play())
    assert broker.stop() == 0, broker.said.decode()
    broker.said = b""
    broker.start()
    assert all(b"body of topic%d" % number in broker.log() for number in range(TOPICS))
    assert broker.stop() == 0
