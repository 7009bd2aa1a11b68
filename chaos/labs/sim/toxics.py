"""Toxiproxy's toxics: each is a generator with the effect of its Go namesake on one direction of one connection.

Source: Shopify/toxiproxy 2.12.0, ``toxics/*.go``; attributes have its names and units. A toxic requests the next chunk
(:class:`Take`), sleeps (:class:`Sleep`), forwards a chunk by yielding it, and closes the connection by returning.
:mod:`pipe` runs it, and handles its held bytes when it is removed.

Left out: ``toxicity`` (always 1) and the precision of Go's timers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from random import Random
from typing import Any, NamedTuple, Protocol

from ....harness.history import MS

SLICE_MS = 100
"""``bandwidth`` splits longer sends into pieces of this."""


class Toxic:
    """A toxic on one direction of a link, and its effects so far; ``dice`` for toxiproxy's random draws."""

    __slots__ = ("attributes", "dice", "effect", "kind")

    def __init__(self, kind: Kind, attributes: Mapping[str, int], dice: Random) -> None:
        self.kind = kind
        self.attributes = attributes
        self.dice = dice
        self.effect: dict[str, int] = {}

    def count(self, what: str, amount: int) -> None:
        self.effect[what] = self.effect.get(what, 0) + amount


class Chunk:
    """Bytes of one read. ``counted``: they still fill the sender's socket buffer."""

    __slots__ = ("at", "counted", "data")

    def __init__(self, data: bytes, at: int, counted: bool = True) -> None:
        self.data = data
        self.at = at
        self.counted = counted

    def split(self, size: int) -> Chunk:
        head = Chunk(self.data[:size], self.at, self.counted)
        self.data = self.data[size:]
        return head


class Take(NamedTuple):
    """The next chunk, None at the end of the stream, or TIMED_OUT if nothing arrived for ``within_ns``."""

    within_ns: int | None = None


class Sleep(NamedTuple):
    """``ns``; None: until it is removed."""

    ns: int | None


TAKE = Take()
TIMED_OUT = Chunk(b"", 0, False)


class Stub(Protocol):
    """One toxic on one direction of one connection."""

    toxic: Toxic
    abrupt: bool
    """The proxy ends this connection with RST rather than FIN."""
    deaf: bool
    """It can no longer be removed."""

    def now(self) -> int:
        """Virtual time, ns."""

    def drop(self, chunk: Chunk) -> None:
        """These bytes are lost."""


Behaviour = Generator[Take | Sleep | Chunk, Any, None]


def latency(stub: Stub) -> Behaviour:
    """``latency`` +/- ``jitter`` ms after it was read; never overtakes; the end of the stream is not delayed."""
    toxic = stub.toxic
    ms, jitter = toxic.attributes.get("latency", 0), toxic.attributes.get("jitter", 0)
    while (chunk := (yield TAKE)) is not None:
        spread = toxic.dice.randrange(2 * jitter) - jitter if jitter > 0 else 0
        sleep = (ms + spread) * MS - (stub.now() - chunk.at)
        if sleep > 0:
            toxic.count("bytes_delayed", len(chunk.data))
        yield Sleep(sleep)
        chunk.at += sleep
        yield chunk


def bandwidth(stub: Stub) -> Behaviour:
    """``rate`` KB/s; at 0 everything but the end of the stream is held until the toxic is removed."""
    rate = stub.toxic.attributes.get("rate", 0)
    sleep = 0
    while (chunk := (yield TAKE)) is not None:
        stub.toxic.count("bytes_held", len(chunk.data))
        if rate <= 0:
            yield Sleep(None)
        sleep += len(chunk.data) * MS // rate
        while len(chunk.data) > rate * SLICE_MS:
            yield Sleep(SLICE_MS * MS)
            yield chunk.split(rate * SLICE_MS)
            sleep -= SLICE_MS * MS
        yield Sleep(sleep)
        sleep = min(sleep, 0)
        yield chunk


def slicer(stub: Stub) -> Behaviour:
    """Pieces of ``average_size`` +/- ``size_variation`` bytes (the smaller one), ``delay`` microseconds apart."""
    toxic = stub.toxic
    average, variation = toxic.attributes["average_size"], toxic.attributes.get("size_variation", 0)
    while (chunk := (yield TAKE)) is not None:
        sizes = pieces(len(chunk.data), average, variation, toxic.dice)
        if len(sizes) > 1:
            toxic.count("pieces", len(sizes))
        for size in sizes:
            yield chunk.split(size)
            yield Sleep(toxic.attributes.get("delay", 0) * 1_000)


def pieces(size: int, average: int, variation: int, dice: Random) -> list[int]:
    """Sizes of the pieces: repeatedly halved, near the middle, until they are small enough."""
    if size - average <= variation:
        return [size]
    middle = size // 2 + (dice.randrange(2 * variation) - variation if variation > 0 else 0)
    return pieces(middle, average, variation, dice) + pieces(size - middle, average, variation, dice)


def limit_data(stub: Stub) -> Behaviour:
    """Closes after ``bytes``, counted from when the toxic met the connection."""
    left = stub.toxic.attributes.get("bytes", 0)
    while (chunk := (yield TAKE)) is not None:
        head = chunk.split(max(0, left))
        if chunk.data:
            stub.drop(chunk)
        left -= len(head.data)
        # From here on it always closes: bytes that it dropped must not be missing in a stream that continues.
        stub.deaf = left <= 0
        if head.data:
            yield head
        if left <= 0:
            stub.toxic.count("connections_closed", 1)
            return


def timeout(stub: Stub) -> Behaviour:
    """Everything is lost; closes when nothing arrived for ``timeout`` ms (0: never), or when it is removed."""
    ms = stub.toxic.attributes.get("timeout", 0)
    take = Take(ms * MS if ms > 0 else None)
    while (chunk := (yield take)) is not None:
        if chunk is TIMED_OUT:
            stub.toxic.count("connections_closed", 1)
            return
        stub.drop(chunk)


def reset_peer(stub: Stub) -> Behaviour:
    """``timeout`` ms after the first bytes, which are lost, it closes: with RST if the toxic was there first."""
    chunk = yield TAKE
    if chunk is not None:
        stub.drop(chunk)
    stub.deaf = True
    yield Sleep(stub.toxic.attributes.get("timeout", 0) * MS)
    stub.toxic.count("connections_reset" if stub.abrupt else "connections_closed", 1)


def slow_close(stub: Stub) -> Behaviour:
    """The end of the stream comes ``delay`` ms late."""
    while (chunk := (yield TAKE)) is not None:
        yield chunk
    stub.toxic.count("closes_delayed", 1)
    yield Sleep(stub.toxic.attributes.get("delay", 0) * MS)


class Kind(NamedTuple):
    behave: Callable[[Stub], Behaviour]
    buffer: int = 0
    """Chunks that may wait before it outside the sender's socket."""
    abrupt: bool = False
    """Connections that begin under it end with RST."""
    closes: bool = False
    """Its removal ends the connection."""


KINDS = {
    "bandwidth": Kind(bandwidth),
    "latency": Kind(latency, buffer=1_024),
    "limit_data": Kind(limit_data),
    "reset_peer": Kind(reset_peer, abrupt=True),
    "slicer": Kind(slicer),
    "slow_close": Kind(slow_close),
    "timeout": Kind(timeout, closes=True),
}
