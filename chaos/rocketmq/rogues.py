"""Rogue peers: a slave that the master accepts, a master that a slave finds, and a client, none of which follow the
protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from random import Random
from typing import ClassVar

from ...harness.errors import LabError
from ...reference.ports import Conn, Effects, Node
from ..observers.ha_tap import FrameTap

INTRUDERS_CONNECTIONS = 3
INTRUDERS_UTTERANCES = 1_000
ENDLESS, HEADER = 16 * 1024 * 1024 - 64, 30_000
MAX_CONNECTS = 3
MAX_UTTERANCES = 20
PAUSE_NS = 300 * 1_000_000
FAR_AHEAD = 5_000_000
CROWD = 70
"""More than an HA port of the reference accepts from all addresses together."""
IDLE_CROWD = 1_010
"""More than the reference accepts on its ports for clients."""
NEWCOMER = "-newcomer"
_ROUTE = json.dumps(
    {"code": 105, "language": "JAVA", "version": 0, "opaque": 1, "flag": 0, "extFields": {"topic": "T"}}
)
QUESTION = (4 + len(_ROUTE)).to_bytes(4, "big") + len(_ROUTE).to_bytes(4, "big") + _ROUTE.encode()
"""A request that a name server answers; a broker answers with an unknown code."""


class RoguePeer(Node):
    """Common base; it ignores events without an override."""

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

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        self._count("bytes_received", len(data))

    def _again(self) -> None:
        self.io.timer("again", self.io.now() + PAUSE_NS)


class Caller(RoguePeer):
    """A rogue peer that connects, once or many times, and sends on each connection from time to time."""

    wanted = 1

    def __init__(self, character: str, address: str, io: Effects, dice: Random) -> None:
        super().__init__(character, io, dice)
        self.address = address
        self.conns: dict[Conn, int] = {}
        """Number of its sends on each connection."""
        self.connects = self.pending = self.utterances = 0

    def on_start(self) -> None:
        self._connect()

    def on_stop(self) -> None:
        for conn in self.conns:
            self.io.close(conn)
        self.conns.clear()

    def on_connected(self, address: str, conn: Conn) -> None:
        self.pending -= 1
        self.conns[conn] = 0
        self._count("connections")
        self._speak(conn)

    def on_connect_failed(self, address: str) -> None:
        self.pending -= 1
        self._again()

    def on_closed(self, conn: Conn) -> None:
        self.conns.pop(conn, None)
        self._count("thrown_out")
        self._again()

    def on_timer(self, key: Hashable) -> None:
        for conn in list(self.conns):
            self._speak(conn)
        self._connect()

    def _most_connects(self) -> int:
        return MAX_CONNECTS * self.wanted

    def _connect(self) -> None:
        while len(self.conns) + self.pending < self.wanted and self.connects < self._most_connects():
            self.connects += 1
            self.pending += 1
            self.io.connect(f"{self.address}#{self.connects}")

    def _speak(self, conn: Conn) -> None:
        raise NotImplementedError

    def _send(self, conn: Conn, words: bytes) -> None:
        self.conns[conn] += 1
        self._count("bytes_sent", len(words))
        self.io.send(conn, words)


class RogueSlave(Caller):
    """A rogue slave at the master's HA port.

    ``silent`` sends nothing; ``over-claiming`` reports far above the master's log; ``two-faced`` does so after a first
    report that any new slave could make; ``junk`` sends random bytes. Two are indistinguishable from slaves on the
    wire: ``acknowledging`` requests the log, reports all received bytes and stores nothing; ``log-end`` reports the
    log's end first on each of its consecutive connections. ``crowd`` are many that do so, and stay.
    """

    characters = ("silent", "over-claiming", "two-faced", "junk", "acknowledging", "log-end", "crowd")

    def __init__(self, character: str, address: str, io: Effects, dice: Random, master_end: Callable[[], int]) -> None:
        super().__init__(character, address, io, dice)
        self.master_end = master_end
        self.wanted = CROWD if character == "crowd" else 1
        self._frames: dict[Conn, FrameTap] = {}
        self._held: dict[Conn, int] = {}

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        """Bytes from the master: one character acknowledges them."""
        super().on_bytes(conn, data)
        if self.character != "acknowledging" or conn not in self.conns:
            return
        for offset, body in self._frames.setdefault(conn, FrameTap()).feed(data):
            self._held[conn] = offset + len(body)
        if conn in self._held:
            self._send(conn, self._held[conn].to_bytes(8, "big"))

    def on_closed(self, conn: Conn) -> None:
        self._frames.pop(conn, None)
        self._held.pop(conn, None)
        super().on_closed(conn)

    def on_timer(self, key: Hashable) -> None:
        if self.character == "log-end":
            self.on_stop()
        super().on_timer(key)

    def _most_connects(self) -> int:
        return MAX_UTTERANCES if self.character == "log-end" else super()._most_connects()

    def _speak(self, conn: Conn) -> None:
        if self.character == "silent" or self.utterances >= MAX_UTTERANCES * self.wanted:
            return
        self.utterances += 1
        self._send(conn, self._words(conn))
        if self.conns:
            self._again()

    def _words(self, conn: Conn) -> bytes:
        if self.character == "junk":
            return self.dice.randbytes(self.dice.randint(1, 64))
        if self.character == "acknowledging" or (self.character == "two-faced" and self.utterances % 2 == 1):
            return self._held.get(conn, 0).to_bytes(8, "big")
        if self.character in ("log-end", "crowd"):
            return self._held.setdefault(conn, self.master_end()).to_bytes(8, "big")
        return (self.master_end() + FAR_AHEAD + self.utterances).to_bytes(8, "big")


class RogueClient(Caller):
    """A rogue client at a port for clients, on several connections.

    ``silent`` sends nothing; ``junk`` repeatedly sends random bytes; ``endless`` begins a frame that never ends.
    ``crowd`` takes every available connection and sends nothing. Meanwhile a newcomer connects now and then and sends a
    normal request: the effect reports whether it is answered.
    """

    characters = ("silent", "junk", "endless", "crowd")

    def __init__(self, character: str, address: str, io: Effects, dice: Random) -> None:
        super().__init__(character, address, io, dice)
        self.wanted = IDLE_CROWD if character == "crowd" else INTRUDERS_CONNECTIONS
        self.newcomers = 0
        self.newcomer: Conn | None = None
        self._comes = False

    def on_start(self) -> None:
        super().on_start()
        self._again()

    def on_connected(self, address: str, conn: Conn) -> None:
        if address.endswith(NEWCOMER):
            self.newcomer = conn
            self.io.send(conn, QUESTION)
        else:
            super().on_connected(address, conn)
            self._invite()

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        if conn is self.newcomer:
            self._over("newcomers_answered")
            self.io.close(conn)
        else:
            super().on_bytes(conn, data)

    def on_connect_failed(self, address: str) -> None:
        if address.endswith(NEWCOMER):
            self._over("newcomers_refused")
        else:
            super().on_connect_failed(address)

    def on_closed(self, conn: Conn) -> None:
        if conn is self.newcomer:
            self._over("newcomers_refused")
        else:
            self.conns.pop(conn, None)
            self._count("thrown_out")

    def on_timer(self, key: Hashable) -> None:
        super().on_timer(key)
        self._invite()
        self._again()

    def _invite(self) -> None:
        if self.character == "crowd" and not self._comes and not self.pending and self.newcomers < MAX_UTTERANCES:
            self._comes = True
            self.newcomers += 1
            self.io.connect(f"{self.address}#{self.newcomers}{NEWCOMER}")

    def _over(self, how: str) -> None:
        self.newcomer, self._comes = None, False
        self._count(how)

    def _most_connects(self) -> int:
        return self.wanted + MAX_UTTERANCES

    def _speak(self, conn: Conn) -> None:
        if self.character in ("silent", "crowd") or self.utterances >= INTRUDERS_UTTERANCES:
            return
        self.utterances += 1
        words = self.dice.randbytes(self.dice.randint(1, 64))
        if self.character == "endless" and not self.conns[conn]:
            # A frame of just below 16 MiB, RocketMQ's limit, in small pieces: not even its header arrives complete.
            words = ENDLESS.to_bytes(4, "big") + HEADER.to_bytes(4, "big") + words
        self._send(conn, words)


class RogueMaster(RoguePeer):
    """A rogue master: answers a slave's first report, and nothing later.

    ``misplaced`` sends a frame that begins behind the slave's end; ``junk`` sends random bytes. Both ignore a slave
    without a log: by the protocol it would accept anything.
    """

    characters = ("misplaced", "junk")

    def __init__(self, character: str, io: Effects, dice: Random) -> None:
        super().__init__(character, io, dice)
        self.answered: dict[Conn, None] = {}

    def on_accepted(self, conn: Conn, port: str) -> None:
        self._count("connections")

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        """The slave's first report has its log end."""
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
        self._count("seen_through")
