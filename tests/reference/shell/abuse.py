"""What the tests with bad input share: an honest client that notices everything, and frames and peers that are not."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from real_brokers import DEADLINE_S, BrokerProcess, Caller, caller, connected

from pairproof.reference.client.client import Outcome
from pairproof.reference.wire import record, remoting
from pairproof.reference.wire.remoting import Command, CommandReader

MIB = 1024 * 1024
Attack = Callable[[], None]
Turn = Callable[[], Awaitable[None]]


class Honest:
    """Sends and pulls on one queue that it has for itself, and checks each answer."""

    def __init__(self, call: Caller, address: str, acknowledged: list[bytes] | None = None) -> None:
        self.call = call
        self.address = address
        self.acknowledged = [] if acknowledged is None else acknowledged

    async def turn(self) -> None:
        """Send a message that waits for all that its broker promises, and pull it."""
        body = b"honest %d" % len(self.acknowledged)
        sent = await self.call.send(self.address, body)
        assert sent.status == "PUT_OK", sent
        self.acknowledged.append(body)
        pulled = bodies_of(await self.call.pull(self.address, len(self.acknowledged) - 1))
        assert pulled == [body]

    async def finds_everything(self) -> None:
        """Every acknowledged message is there, once and in order."""
        found: list[bytes] = []
        while more := bodies_of(await self.call.pull(self.address, len(found))):
            found += more
        assert found == self.acknowledged


def bodies_of(pulled: Outcome) -> list[bytes]:
    """The messages of a pull's answer."""
    assert pulled.answer is not None, pulled
    assert pulled.answer.code in (remoting.SUCCESS, remoting.PULL_NOT_FOUND), pulled
    found, at = [], 0
    while at < len(pulled.answer.body):
        each = record.decode(pulled.answer.body, at)
        assert isinstance(each, record.Record)
        found.append(each.message.body)
        at += each.size
    return found


async def beside(turn: Turn, attack: Attack) -> int:
    """``turn`` over and over while ``attack`` runs in a thread, at least once before and after; how often meanwhile."""
    await turn()
    attacking = asyncio.get_running_loop().run_in_executor(None, attack)
    turns = 0
    while not attacking.done():
        await turn()
        turns += 1
        await asyncio.sleep(0.01)
    await attacking
    await turn()
    return turns


def survives(address: str, attack: Attack) -> int:
    """An honest client of this broker notices nothing of the attack; how many messages it sent meanwhile."""

    async def play() -> int:
        async with caller() as call:
            honest = Honest(call, address)
            turns = await beside(honest.turn, attack)
            await honest.finds_everything()
            return turns

    return asyncio.run(play())


def frame(header: bytes, body: bytes = b"", kind: int = 0) -> bytes:
    """A frame with this header, whatever that is."""
    return struct.pack(">iI", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body


def command(code: int, opaque: int = 1, body: bytes = b"", *, oneway: bool = False, **fields: object) -> bytes:
    """A request's frame, with fields by the names that travel."""
    texts = {name: str(value) for name, value in fields.items()}
    return remoting.encode(Command(code, opaque, remoting.ONEWAY_FLAG if oneway else 0, texts, body))


def answer(sock: socket.socket, data: bytes) -> Command:
    """What is answered to this request."""
    sock.sendall(data)
    reader = CommandReader()
    while more := sock.recv(65_536):
        for each in reader.feed(more):
            return each
    raise AssertionError(f"closed instead of an answer to {data[:200]!r}")


def last_words(sock: socket.socket) -> bytes:
    """What the other end still says before it closes."""
    said = b""
    try:
        while more := sock.recv(65_536):
            said += more
    except ConnectionResetError:
        pass
    return said


def is_open(sock: socket.socket) -> bool:
    """Whether the other end has not closed, and said nothing."""
    sock.setblocking(False)
    try:
        return sock.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@contextmanager
def crowd(address: str, count: int, buffers: int | None = None) -> Iterator[list[socket.socket]]:
    """So many connections at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4_096 if hard == resource.RLIM_INFINITY else min(4_096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    with ExitStack() as stack:
        yield [stack.enter_context(connected(address, buffers)) for _ in range(count)]


def peak_memory(process: BrokerProcess) -> int:
    """The most bytes of memory that the process has had so far, mapped files included (VmHWM)."""
    assert process.process is not None
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


def wait_until(holds: Callable[[], bool]) -> None:
    """For attacks, which run in a thread."""
    ends = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.02)


class RogueMaster:
    """Listens where a master or a name server should be; ``script`` has each connection, one after the other."""

    def __init__(self, port: int, script: Callable[[socket.socket], None]) -> None:
        self.address = f"127.0.0.1:{port}"
        self.accepted = 0
        self.served = 0
        """Connections that the other end has closed, or the script has reset."""
        self._script = script
        self._over = threading.Event()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen()
        self._listener.settimeout(0.05)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> RogueMaster:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, and leave its port."""
        self._over.set()
        self._thread.join(DEADLINE_S)
        self._listener.close()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                sock, _ = self._listener.accept()
            except TimeoutError:
                continue
            self.accepted += 1
            with sock, contextlib.suppress(TimeoutError):
                sock.settimeout(DEADLINE_S)
                with contextlib.suppress(ConnectionError):
                    self._script(sock)
                self.served += 1
