"""What the tests of the shell share: broker processes, free ports, a client over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from pairproof.reference.client.client import Client, Outcome
from pairproof.reference.shell.disk import RealDisk
from pairproof.reference.shell.log import Log
from pairproof.reference.shell.shell import Shell
from pairproof.reference.wire import headers
from pairproof.reference.wire.remoting import Command

DEADLINE_S = 8
TOPIC = "pairproof"
# Short intervals, so that nothing waits for seconds; small files, so that a few messages cross their borders.
SETTINGS = {
    "brokerRole": "ASYNC_MASTER",
    "haSendHeartbeatInterval": 100,
    "mappedFileSizeCommitLog": 65_536,
    "maxMessageSize": 32_768,
}
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    """A port that is free together with its neighbours -2 and +1, below the range of outgoing connections."""
    # Test processes side by side look at different ports, and above those of labs: what is given is not bound yet.
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    start = 16_000 + worker % 4 * 4_000 + os.getpid() * 16 % 2_000
    for port in range(start, start + 2_000, 4):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for each in (port - 2, port, port + 1):
                # Without SO_REUSEADDR: also what another test has only just left is taken.
                stack.enter_context(socket.socket()).bind(("127.0.0.1", each))
            if port not in _given:
                _given.add(port)
                return port
    raise AssertionError("no free ports")


_given: set[int] = set()


class BrokerProcess:
    """``python -m pairproof.reference.commands.broker -c FILE`` over one store."""

    module = "pairproof.reference.commands.broker"
    settings: dict[str, Any] = SETTINGS

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.port = int(settings["listenPort"])
        self.address = f"127.0.0.1:{self.port}"
        self.config = folder / "broker.conf"
        folder.mkdir(exist_ok=True)
        values = {**self.settings, "storePathRootDir": folder / "store", **settings}
        self.config.write_text("".join(f"{key} = {value}\n" for key, value in values.items()))
        self.process: subprocess.Popen[bytes] | None = None
        self.said = b""
        self.options: tuple[str, ...] = ()

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def launch(self) -> BrokerProcess:
        """Start the process without waiting for anything."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module, "-c", str(self.config), *self.options],
            stderr=subprocess.PIPE,
            preexec_fn=die_with_parent,
        )
        return self

    def start(self) -> BrokerProcess:
        """Start it, and wait until it listens."""
        self.launch().hear("listens on")
        return self

    def hear(self, words: str) -> str:
        """Wait until it has said a line with these words."""
        assert self.process is not None and self.process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stderr, selectors.EVENT_READ)
            ends = time.monotonic() + DEADLINE_S
            while True:
                for line in self.said.decode().splitlines(keepends=True):
                    if words in line and line.endswith("\n"):
                        return line
                assert selector.select(ends - time.monotonic()), f"never said {words!r}: {self.said.decode()}"
                more = os.read(self.process.stderr.fileno(), 65_536)
                assert more, f"ended without saying {words!r}: {self.said.decode()}"
                self.said += more

    def refusal(self) -> tuple[int, str]:
        """Start a broker that cannot run: its exit code and all that it said."""
        process = self.launch().process
        assert process is not None
        _, said = process.communicate(timeout=DEADLINE_S)
        return process.returncode, said.decode()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=DEADLINE_S)
        self.said += said
        return self.process.returncode

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stderr is not None
            self.process.stderr.close()
            self.process = None

    def log(self) -> bytes:
        """The commit log's files, one after the other, as any process sees them."""
        return b"".join(each.read_bytes() for each in sorted((self.store / "commitlog").iterdir()))

    def anonymous_memory(self) -> int:
        """Bytes of memory of its own: no mapped files."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon"))) * 1024


class NameServerProcess(BrokerProcess):
    """``python -m pairproof.reference.commands.namesrv -c FILE``."""

    module = "pairproof.reference.commands.namesrv"
    settings: dict[str, Any] = {}


class Caller:
    """The reference's client as coroutines."""

    def __init__(self, shell: Shell) -> None:
        self.client = Client(shell)
        shell.start(self.client)

    async def send(self, address: str, body: bytes, queue: int = 0, properties: str = "") -> Outcome:
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.client.send(address, TOPIC, queue, body, properties, ended.set_result)
        return await ended

    async def pull(self, address: str, offset: int, queue: int = 0) -> Outcome:
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.client.pull(address, TOPIC, queue, offset, 32, ended.set_result)
        return await ended

    async def ask(self, address: str, code: int, body: bytes = b"", **fields: Any) -> Command | None:
        """The answer to any request; None if there was none."""
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.client.calls.call(address, code, headers.encode_request(code, fields), body, ended.set_result)
        return (await ended).answer

    async def replicated(self, address: str) -> None:
        """Send until a slave holds what is sent."""
        await eventually(lambda: self.send(address, b"is there a slave?", queue=3), "PUT_OK")


async def eventually(ask: Callable[[], Coroutine[Any, Any, Outcome]], status: str) -> None:
    """Ask again until the answer has this status. The one place where a test waits for time to pass."""
    async with asyncio.timeout(DEADLINE_S):
        while (await ask()).status != status:
            await asyncio.sleep(0.02)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until this holds."""
    async with asyncio.timeout(DEADLINE_S):
        while not holds():
            await asyncio.sleep(0.02)


async def turns(ask: Callable[[], Coroutine[Any, Any, Any]], wanted: Any, deadline_s: float) -> None:
    """Ask again until the answer is this one."""
    found = None
    try:
        async with asyncio.timeout(deadline_s):
            while (found := await ask()) != wanted:
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"not {wanted} within {deadline_s} s, but {found}") from None


@contextlib.asynccontextmanager
async def caller() -> AsyncIterator[Caller]:
    shell = Shell(RealDisk(Path("/nonexistent")), Log(fd=-1))
    try:
        yield Caller(shell)
    finally:
        shell.abandon()
    if shell.ended.done():
        shell.ended.result()


@contextlib.contextmanager
def connected(address: str, buffers: int | None = None) -> Iterator[socket.socket]:
    """A plain blocking connection, with buffers of this size instead of growing ones."""
    host, _, port = address.partition(":")
    with socket.socket() as sock:
        if buffers is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffers)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffers)
        sock.settimeout(DEADLINE_S)
        sock.connect((host, int(port)))
        yield sock
