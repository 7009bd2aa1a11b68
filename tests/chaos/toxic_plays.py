"""What is done to connections through a proxy, as plays that any stage can give, and what their ends heard.

A play brings its connections and toxics up, and then does things at times counted from its first ``at``. Two outcomes
agree if each end heard the same bytes, each byte and the end at about the same time, and the end of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

FIN, RST, REFUSED = "fin", "rst", "refused"
SHARE = 0.4
SPARE_MS = 150.0
"""A loaded machine is late, and the simulated wire takes 1 ms: times agree within a share of them and this."""


class Heard:
    """What one end heard: pieces with their times in ms, and how it ended, unless it ended that itself."""

    def __init__(self) -> None:
        self.pieces: list[tuple[float, bytes]] = []
        self.end: tuple[float, str] | None = None

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.pieces)

    def at(self, byte: int) -> float:
        """When it heard a byte."""
        for when, data in self.pieces:
            byte -= len(data)
            if byte < 0:
                return when
        raise IndexError(byte)


Outcome = Mapping[tuple[int, str], Heard]
"""By connection, in order of their opening, and end: client or server."""


class Stage(Protocol):
    """Somewhere a play can be given. Connections are numbered from 0; ends are ``client`` and ``server``."""

    heard: dict[tuple[int, str], Heard]

    async def connect(self) -> None: ...
    async def send(self, number: int, end: str, data: bytes) -> None: ...
    async def close(self, number: int, end: str) -> None: ...
    async def add(self, key: str, direction: str, kind: str, attributes: Mapping[str, int]) -> None: ...
    async def remove(self, key: str) -> None: ...
    async def disable(self) -> None: ...
    async def enable(self) -> None: ...
    async def die(self) -> None: ...
    async def until(self, ms: float) -> None: ...


class Connect:
    """A new connection."""

    async def act(self, stage: Stage) -> None:
        await stage.connect()


class Send(NamedTuple):
    """Bytes from one end."""

    data: bytes
    end: str = "client"
    number: int = 0

    async def act(self, stage: Stage) -> None:
        await stage.send(self.number, self.end, self.data)


class Close(NamedTuple):
    """An end closes."""

    end: str = "client"
    number: int = 0

    async def act(self, stage: Stage) -> None:
        await stage.close(self.number, self.end)


class Add(NamedTuple):
    """A toxic, upwards unless told otherwise. ``key`` is for its removal."""

    kind: str
    attributes: Mapping[str, int]
    key: str = "toxic"
    direction: str = "up"

    async def act(self, stage: Stage) -> None:
        await stage.add(self.key, self.direction, self.kind, self.attributes)


class Remove(NamedTuple):
    """A toxic is taken off."""

    key: str = "toxic"

    async def act(self, stage: Stage) -> None:
        await stage.remove(self.key)


class Disable:
    """The proxy is disabled."""

    async def act(self, stage: Stage) -> None:
        await stage.disable()


class Enable:
    """It is enabled again."""

    async def act(self, stage: Stage) -> None:
        await stage.enable()


class Die:
    """The server's process is killed, and its connections with it; the proxy stays."""

    async def act(self, stage: Stage) -> None:
        await stage.die()


class At(NamedTuple):
    """What follows happens at this time; the first one starts the clock."""

    ms: float

    async def act(self, stage: Stage) -> None:
        await stage.until(self.ms)


Step = Connect | Send | Close | Add | Remove | Disable | Enable | Die | At


class Play(NamedTuple):
    """Steps. ``bites``: without its toxics the outcome would be another."""

    name: str
    steps: tuple[Step, ...]
    bites: bool = True

    def without_toxics(self) -> Play:
        return self._replace(steps=tuple(each for each in self.steps if not isinstance(each, (Add, Remove))))


async def give(play: Play, stage: Stage) -> Outcome:
    """Give a play; what was heard."""
    for step in play.steps:
        await step.act(stage)
    return stage.heard


def differences(one: Outcome, other: Outcome) -> list[str]:
    """What two outcomes do not agree on, a line each."""
    found = []
    for key in sorted(one.keys() | other.keys()):
        first, second = one.get(key, Heard()), other.get(key, Heard())
        found += [f"{key}: {line}" for line in _heard_differently(first, second)]
    return found


def _heard_differently(one: Heard, other: Heard) -> list[str]:
    if one.data != other.data:
        return [f"{_short(one.data)} against {_short(other.data)}"]
    found = []
    for byte in range(len(one.data)):
        if _apart(one.at(byte), other.at(byte)):
            found.append(f"byte {byte} after {one.at(byte):.0f} ms against {other.at(byte):.0f} ms")
            break
    if (one.end and one.end[1]) != (other.end and other.end[1]):
        found.append(f"ended with {one.end} against {other.end}")
    elif one.end and other.end and _apart(one.end[0], other.end[0]):
        found.append(f"ended after {one.end[0]:.0f} ms against {other.end[0]:.0f} ms")
    return found


def _short(data: bytes) -> str:
    return f"{len(data)} bytes {data[:20]!r}"


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > SHARE * max(one, other) + SPARE_MS


ABC = b"0123456789"
TEXT = bytes(range(60))
FOREVER = 60_000
C = Connect()


def stall(key: str = "toxic") -> Add:
    return Add("bandwidth", {"rate": 0}, key)


def latency(ms: int, key: str = "toxic") -> Add:
    return Add("latency", {"latency": ms}, key)


def reset_peer(ms: int) -> Add:
    return Add("reset_peer", {"timeout": ms})


PLAYS = (
    Play(
        "limit_data counts from when it met the connection",
        (
            C, At(0), Send(b"before"), At(200), Add("limit_data", {"bytes": 7}), At(500), Send(b"abc"),
            At(800), Send(b"defghijklm"), At(1_200),
        ),
    ),
    Play(
        "limit_data gives each connection its own bytes",
        (Add("limit_data", {"bytes": 7}), C, At(0), Send(ABC), At(500), C, Send(ABC, number=1), At(900)),
    ),
    Play(
        "limit_data of nothing closes at the first byte",
        (C, Add("limit_data", {"bytes": 0}), At(300), Send(b"a"), At(700)),
    ),
    Play(
        "limit_data that is taken off before it is reached",
        (C, Add("limit_data", {"bytes": 7}), At(0), Send(b"abc"), At(300), Remove(), Send(ABC), At(600)),
        bites=False,
    ),
    Play(
        "timeout 0 loses bytes, and closes when it is taken off",
        (C, Add("timeout", {"timeout": 0}), At(0), Send(b"12345"), At(600), Remove(), At(1_000)),
    ),
    Play("timeout closes after silence", (C, At(0), Add("timeout", {"timeout": 600}), At(1_100))),
    Play(
        "timeout is put off by every byte",
        (
            C, At(0), Add("timeout", {"timeout": 500}), At(300), Send(b"z"), At(600), Send(b"z"),
            At(900), Send(b"z"), At(1_900),
        ),
    ),
    Play(
        "timeout of one direction leaves the other alone",
        (C, Add("timeout", {"timeout": 0}), At(200), Send(b"lost"), Send(b"down", "server"), At(500)),
    ),
    Play("reset_peer resets a connection that was opened under it", (reset_peer(0), C, At(400), Send(ABC), At(800))),
    Play("reset_peer resets so much later", (reset_peer(600), C, At(0), Send(ABC), At(1_100))),
    Play("reset_peer ends one that was there before with FIN", (C, reset_peer(0), At(400), Send(ABC), At(800))),
    Play("reset_peer ends one that was there before so much later", (C, reset_peer(600), At(0), Send(ABC), At(1_100))),
    Play("hanging up under reset_peer", (reset_peer(0), C, At(300), Close(), At(700))),
    Play("hanging up where reset_peer was", (reset_peer(0), C, Remove(), At(300), Close(), At(700))),
    Play("cut under reset_peer", (reset_peer(0), C, At(300), Disable(), At(700))),
    Play("cut where reset_peer was", (reset_peer(0), C, Remove(), At(300), Disable(), At(700))),
    Play(
        "reset_peer that has seen bytes cannot be called off",
        (C, reset_peer(900), At(0), Send(ABC), At(200), Remove(), At(1_500)),
    ),
    Play(
        "slow_close delays the end and nothing else",
        (C, Add("slow_close", {"delay": 600}), At(0), Send(b"hi"), Close(), At(1_100)),
    ),
    Play(
        "slow_close that is taken off lets the end pass",
        (C, Add("slow_close", {"delay": FOREVER}), At(0), Close(), At(600), Remove(), At(1_000)),
    ),
    Play(
        "slow_close up does not delay what the server ends",
        (C, Add("slow_close", {"delay": 900}), At(300), Close("server"), At(700)),
        bites=False,
    ),
    Play(
        "slow_close of the other direction keeps the sender in the dark",
        (
            C, Add("slow_close", {"delay": 600}, direction="down"), Add("limit_data", {"bytes": 7}, "limit"), At(0),
            Send(ABC), At(1_100),
        ),
    ),
    Play("stall loses nothing", (C, stall(), At(0), Send(ABC), At(600), Remove(), At(1_000))),
    Play("stall holds an end behind bytes", (C, stall(), At(0), Send(ABC), Close(), At(600), Remove(), At(1_000))),
    Play("stall lets a bare end pass", (C, stall(), At(300), Close(), At(700)), bites=False),
    Play("bandwidth in pieces", (C, Add("bandwidth", {"rate": 1}), At(0), Send(bytes(750)), At(1_300))),
    Play(
        "bandwidth lets the next bytes wait for their own time",
        (C, Add("bandwidth", {"rate": 1}), At(0), Send(bytes(400)), At(150), Send(bytes(400)), At(1_400)),
    ),
    Play(
        "bandwidth that is taken off delivers the rest at once",
        (C, Add("bandwidth", {"rate": 1}), At(0), Send(bytes(1_500)), At(500), Remove(), At(900)),
    ),
    Play(
        "slicer delivers pieces one after the other",
        (C, Add("slicer", {"average_size": 10, "size_variation": 0, "delay": 90_000}), At(0), Send(TEXT), At(1_200)),
    ),
    Play(
        "slicer that is taken off delivers the rest at once",
        (
            C, Add("slicer", {"average_size": 10, "size_variation": 0, "delay": 400_000}), At(0), Send(TEXT),
            At(600), Remove(), At(1_000),
        ),
    ),
    Play(
        "latency counts from when the proxy read a chunk",
        (C, latency(600), At(0), Send(b"a"), At(250), Send(b"b"), At(500), Send(b"c"), At(1_500)),
    ),
    Play(
        "latency of the other direction",
        (C, Add("latency", {"latency": 600}, direction="down"), At(0), Send(b"up"), Send(b"down", "server"), At(1_000)),
    ),
    Play("latency does not delay a bare end", (C, latency(900), At(300), Close(), At(700)), bites=False),
    Play("an end waits behind delayed bytes", (C, latency(600), At(0), Send(b"hi"), Close(), At(1_000))),
    Play("latency taken off delivers at once", (C, latency(FOREVER), At(0), Send(b"zz"), At(600), Remove(), At(900))),
    Play("two latencies add up", (C, latency(400), latency(400, "second"), At(0), Send(b"z"), At(1_300))),
    Play("jitter", (C, Add("latency", {"latency": 700, "jitter": 60}), At(0), Send(b"z"), At(1_200))),
    Play(
        "latency behind a stall counts from when the proxy read it",
        (C, stall(), latency(800, "second"), At(0), Send(ABC), At(400), Remove(), At(1_300)),
    ),
    Play("stall behind latency", (C, latency(300, "first"), stall(), At(0), Send(ABC), At(900), Remove(), At(1_300))),
    Play(
        "limit_data before a stall",
        (C, Add("limit_data", {"bytes": 7}, "limit"), stall(), At(0), Send(ABC), At(600), Remove(), At(1_000)),
    ),
    Play(
        "a dead process behind the proxy is an orderly end before it",
        (C, At(0), Send(b"lost", "server"), At(300), Die(), At(600)),
        bites=False,
    ),
    Play(
        "a disabled proxy ends connections and refuses new ones",
        (C, At(300), Disable(), At(500), C, At(700), Enable(), C, Send(ABC, number=2), At(1_100)),
        bites=False,
    ),
)  # fmt: skip


class Different(NamedTuple):
    """A play whose outcomes differ at one end: the bytes that it heard there and how it ended, in either."""

    play: Play
    end: str
    simulated: tuple[bytes, str | None]
    real: tuple[bytes, str | None]


DIFFERENT = (
    Different(
        Play("a toxic is put behind a stall", (C, stall(), At(0), Send(ABC), At(300), latency(300, "second"), At(900))),
        "server", (b"", None), (ABC, None),
    ),
    Different(
        Play(
            "a toxic is taken off behind a stall",
            (C, stall(), latency(0, "second"), At(0), Send(ABC), At(300), Remove("second"), At(700)),
        ),
        "server", (b"", None), (ABC, None),
    ),
    Different(
        Play(
            "a toxic is taken off before a stall",
            (C, latency(100, "first"), stall(), At(0), Send(ABC), At(500), Remove("first"), At(900)),
        ),
        "server", (b"", None), (ABC, None),
    ),
    Different(
        Play(
            "a toxic is put behind a timeout",
            (C, At(0), Add("timeout", {"timeout": 600}), At(400), Add("slow_close", {"delay": 0}, "second"), At(800)),
        ),
        "client", (b"", FIN), (b"", None),
    ),
    Different(
        Play("reset_peer behind a stall", (C, stall("first"), reset_peer(0), At(0), Send(ABC), At(600))),
        "server", (b"", None), (b"", FIN),
    ),
    Different(
        Play(
            "timeout behind a stall",
            (C, stall("first"), Add("timeout", {"timeout": 500}), At(0), Send(ABC), At(900)),
        ),
        "server", (b"", FIN), (b"", None),
    ),
    Different(
        Play("nobody is behind the proxy", (Die(), At(0), C, At(300))), "client", (b"", REFUSED), (b"", FIN),
    ),
)  # fmt: skip
