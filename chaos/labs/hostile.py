"""Strangers: one that the master takes in and that is no slave, one that a slave finds as its master, one that is no
client.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random
from typing import ClassVar

from pairproof.harness.errors import LabError
from pairproof.reference.ports import Conn, Effects

INTRUDERS_CONNECTIONS = 3
INTRUDERS_UTTERANCES = 1_000
ENDLESS, HEADER = 16 * 1024 * 1024 - 64, 30_000
MAX_CONNECTS = 3
MAX_UTTERANCES = 20
PAUSE_NS = 300 * 1_000_000
FAR_AHEAD = 5_000_000


class Stranger:
    """What all of them have in common; what nothing is said of here they do not react to."""

    characters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, character: str, io: Effects, dice: Random) -> None:
        if character not in self.characters:
            what = type(self).__name__.lower()
            raise LabError(f"unknown {what} {character!r}; valid: {', '.join(self.characters)}")
        self.character = character
        self.io = io
        self.dice = dice
        self.effect: dict[str, int] = {}

    def _count(self, what: str, amount: int = 1) -> None:
        self.effect[what] = self.effect.get(what, 0) + amount

    def on_start(self) -> None:
        """Nothing."""

    def on_stop(self) -> None:
        """Nothing."""

    def on_accepted(self, conn: Conn, port: str) -> None:
        """Nothing."""

    def on_connected(self, address: str, conn: Conn) -> None:
        """Nothing."""

    def on_connect_failed(self, address: str) -> None:
        """Nothing."""

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        """Count what it is told."""
        self._count("bytes_received", len(data))

    def on_writable(self, conn: Conn) -> None:
        """Nothing: it never waits for room."""

    def on_closed(self, conn: Conn) -> None:
        """Nothing."""

    def on_timer(self, key: Hashable) -> None:
        """Nothing."""

    def on_flushed(self, token: Hashable) -> None:
        """Nothing: it has no disk."""

    def _again(self) -> None:
        self.io.timer("again", self.io.now() + PAUSE_NS)


class Hostile(Stranger):
    """A stranger at the master's HA port.

    ``silent`` says nothing; ``over-claiming`` reports far above the master's log; ``two-faced`` does so after a first
    report that any new slave could make; ``junk`` sends random bytes.
    """

    characters = ("silent", "over-claiming", "two-faced", "junk")

    def __init__(self, character: str, address: str, io: Effects, dice: Random, master_end: Callable[[], int]) -> None:
        super().__init__(character, io, dice)
        self.address = address
        self.master_end = master_end
        self.conn: Conn | None = None
        self.connects = 0
        self.utterances = 0

    def on_start(self) -> None:
        """Connect."""
        self.connects += 1
        self.io.connect(self.address)

    def on_stop(self) -> None:
        """Hang up."""
        if self.conn is not None:
            self.io.close(self.conn)
            self.conn = None

    def on_connected(self, address: str, conn: Conn) -> None:
        """Say the first thing."""
        self.conn = conn
        self._count("connections")
        self._speak()

    def on_connect_failed(self, address: str) -> None:
        """Try again, a few times."""
        self._again()

    def on_closed(self, conn: Conn) -> None:
        """Thrown out; try again, a few times."""
        self.conn = None
        self._count("thrown_out")
        self._again()

    def on_timer(self, key: Hashable) -> None:
        """Speak again, or connect again."""
        if self.conn is not None:
            self._speak()
        elif self.connects < MAX_CONNECTS:
            self.on_start()

    def _speak(self) -> None:
        if self.conn is None or self.character == "silent" or self.utterances >= MAX_UTTERANCES:
            return
        self.utterances += 1
        if self.character == "junk":
            words = self.dice.randbytes(self.dice.randint(1, 64))
        elif self.character == "two-faced" and self.utterances % 2 == 1:
            words = bytes(8)
        else:
            words = (self.master_end() + FAR_AHEAD + self.utterances).to_bytes(8, "big")
        self._count("bytes_sent", len(words))
        self.io.send(self.conn, words)
        if self.conn is not None:
            self._again()


class Intruder(Stranger):
    """A stranger at a port for clients, on several connections.

    ``silent`` says nothing; ``junk`` sends random bytes, again and again; ``endless`` begins a frame that never ends.
    """

    characters = ("silent", "junk", "endless")

    def __init__(self, character: str, address: str, io: Effects, dice: Random) -> None:
        super().__init__(character, io, dice)
        self.address = address
        self.conns: dict[Conn, bool] = {}
        """Whether it has said something there."""
        self.connects = 0
        self.utterances = 0

    def on_start(self) -> None:
        """Connect."""
        for _ in range(INTRUDERS_CONNECTIONS):
            self._connect()
        self._again()

    def on_stop(self) -> None:
        """Hang up."""
        for conn in self.conns:
            self.io.close(conn)
        self.conns.clear()

    def on_connected(self, address: str, conn: Conn) -> None:
        """Say the first thing."""
        self.conns[conn] = False
        self._count("connections")
        self._speak(conn)

    def on_closed(self, conn: Conn) -> None:
        """Thrown out."""
        self.conns.pop(conn, None)
        self._count("thrown_out")

    def on_timer(self, key: Hashable) -> None:
        """Speak again, or connect again."""
        for conn in list(self.conns):
            self._speak(conn)
        if len(self.conns) < INTRUDERS_CONNECTIONS:
            self._connect()
        self._again()

    def _connect(self) -> None:
        if self.connects < MAX_UTTERANCES:
            self.connects += 1
            self.io.connect(f"{self.address}#{self.connects}")

    def _speak(self, conn: Conn) -> None:
        if self.character == "silent" or self.utterances >= INTRUDERS_UTTERANCES:
            return
        self.utterances += 1
        words = self.dice.randbytes(self.dice.randint(1, 64))
        if self.character == "endless" and not self.conns[conn]:
            # A frame of just below 16 MiB, RocketMQ's limit, a little at a time: not even its header comes whole.
            words = ENDLESS.to_bytes(4, "big") + HEADER.to_bytes(4, "big") + words
        self.conns[conn] = True
        self._count("bytes_sent", len(words))
        self.io.send(conn, words)


class Impostor(Stranger):
    """A stranger in the master's place: answers a slave's first report, and nothing that follows.

    ``misplaced`` sends a frame that begins behind the slave's end; ``junk`` sends random bytes. A slave without any log
    is left alone by both: it would take whatever came, as the protocol says.
    """

    characters = ("misplaced", "junk")

    def __init__(self, character: str, io: Effects, dice: Random) -> None:
        super().__init__(character, io, dice)
        self.answered: dict[Conn, None] = {}

    def on_accepted(self, conn: Conn, port: str) -> None:
        """A slave was taken in."""
        self._count("connections")

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        """The slave's first report tells where its log ends."""
        end = int.from_bytes(data[:8], "big", signed=True)
        if conn in self.answered or len(data) < 8 or end <= 0:
            return
        self.answered[conn] = None
        if self.character == "junk":
            answer = self.dice.randbytes(self.dice.randint(12, 64))
        else:
            # A heartbeat every other time: its offset counts, too.
            body = b"impostor" * self.dice.randint(1, 8) if self.dice.random() < 0.5 else b""
            answer = (end + 100).to_bytes(8, "big") + len(body).to_bytes(4, "big") + body
        self._count("bytes_sent", len(answer))
        self.io.send(conn, answer)

    def on_closed(self, conn: Conn) -> None:
        """The slave saw through it."""
        self._count("seen_through")
