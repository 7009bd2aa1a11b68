"""What tests of stores share: files to place, and processes that write."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable

from real_brokers import DEADLINE_S, caller
from real_labs import until

from pairproof.chaos.labs.real.stores import Store
from pairproof.chaos.labs.real.supervisor import Supervisor

FIRST, SECOND = "commitlog/00000000000000000000", "commitlog/00000000000000004096"
LOG = {FIRST: bytes(range(1, 129)) * 32, SECOND: b"z" * 1_000 + bytes(3_096)}
WRITER = """
import mmap, os, signal, sys
def mapped(name, size=16384):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, size)
    return fd, mmap.mmap(fd, size)
os.chdir(sys.argv[1])
fd, known = mapped("known")
known[:7] = b"flushed"
os.fsync(fd)
os.fsync(os.open(".", os.O_RDONLY))
known[8192:8199] = b"written"
_, new = mapped("new")
new[:3] = b"new"
os.mkdir("ready.aside")
print("ready", flush=True)
signal.pause()
"""


def nobody() -> None:
    """Nobody uses the store."""


def place(store: Store, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = store.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def writer(supervisor: Supervisor, store: Store) -> int:
    """A process that has written to mapped files, and flushed a part of it."""
    out = supervisor.folder / "writer"
    pid = supervisor.exec([sys.executable, "-c", WRITER, str(store.path)], out)
    until(lambda: out.exists() and "ready" in out.read_text())
    return pid


def killer(supervisor: Supervisor, pid: int) -> Callable[[], None]:
    def kill() -> None:
        supervisor.signal(pid, signal.SIGKILL)
        assert supervisor.wait(pid, DEADLINE_S).over

    return kill


def send(address: str) -> str:
    """Send a message; the status of the answer, or what became of the call."""

    async def run() -> str:
        async with caller() as client:
            return (await client.send(address, b"x" * 100)).status

    return asyncio.run(run())


def sends(address: str) -> None:
    for _ in range(5):
        assert send(address) == "PUT_OK"
