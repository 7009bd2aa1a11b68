"""One capture from its first listener to its last byte: taps that only forward, and a recording that may end earlier.

The brokers receive no bytes except each other's: on RocketMQ 4 a connection that only probes the master would count as
a slave. Back-pressure is preserved, as is each end of a connection. At the end of the session all its connections end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ...harness.errors import UsageError
from ...reference.shell import reach
from ..labs.real.stalls import Watch, harness
from ..labs.real.taps import Door, StraightDoor
from ..labs.real.wires import FLUSHED_S
from ..plan import Address
from .bypass import Bypass
from .forwarders import ClientConnection, HaConnection
from .names import NamesDoor
from .recording import SLAVE, ClientFile, Recording

SAVED_S = 1.0
POLL_S = 0.02
ABSENT_S = 30.0
"""The user is notified after this long without a slave: a restart takes less, and a minute is guaranteed."""

Say = Callable[[str], None]


class Way(NamedTuple):
    listen: Address
    to: Address


class Change(NamedTuple):
    setting: str
    undo: str
    without: str = ""
    """Why the slave may nevertheless not connect."""

    def lost(self) -> str:
        return (
            f"no slave has been connected to its master for {ABSENT_S:g} s. A slave that was restarted with "
            f"{self.setting} and does not connect has lost its master and copies nothing{self.without}. To undo the "
            f"change {self.undo}. Continuing."
        )


async def resolved(way: Way, anywhere: bool) -> Way:
    """The same with IPv4 addresses. UsageError if one is on another machine and that is not allowed."""
    return Way(*[await _resolved(each, anywhere) for each in way])


async def _resolved(address: Address, anywhere: bool) -> Address:
    try:
        return Address(await reach.resolve(address.host, anywhere), address.port)
    except reach.NotAllowed:
        raise UsageError(f"{address} is not on this machine: give {reach.OPTION} to allow it") from None
    except (OSError, ValueError) as why:
        raise UsageError(f"{address.host} cannot be resolved ({why}); give an IPv4 address") from None


class Session:
    def __init__(
        self, recording: Recording, ha: Way, clients: Sequence[Way], say: Say, change: Change, names: Way | None = None
    ) -> None:
        """``names``: the slave's tap for its name server, which reports the HA tap's address."""
        self.recording = recording
        self.say = say
        self.ha = ha
        self.change = change
        self._absent_since: float | None = None
        self._is_lost = False
        self._named: str | None = ""
        self._warn_at: dict[Address, float] = {}
        """By server that did not answer: when that may be reported again."""
        self._refused = 0
        self._bypass = Bypass(ha.to)
        self._is_over = False
        self._files = [ClientFile(recording, f"producer-{number}") for number, _ in enumerate(clients, 1)]
        self.door = StraightDoor(
            *ha, lambda: Reached(recording, SLAVE, self._answers), partial(self._silent, ha.to), patience_s=None
        )
        self.doors: list[Door] = [self.door]
        for file, way in zip(self._files, clients, strict=True):
            made, nobody = partial(ClientConnection, file), partial(self._nobody, way.to)
            self.doors.append(StraightDoor(*way, made, nobody, patience_s=None))
        if names is not None:
            self.doors.append(NamesDoor(*names, ha.listen, self._names, partial(self._no_names, names.to)))

    async def run(self, ready: Callable[[], None], seconds: float | None) -> str:
        """Forward and record until a signal or the time limit; returns which."""
        watch = Watch(asyncio.get_running_loop(), lambda: [harness()])
        try:
            await self._open()
            watch.start()
            ready()
            why = await self._until_over(seconds, watch)
            self.recording.stalls = watch.stop()
            self.recording.end(why)
            return why
        finally:
            await self._close()

    async def _open(self) -> None:
        for door in self.doors:
            try:
                await door.open()
            except OSError as why:
                raise UsageError(
                    f"cannot listen at {door.address}: {_reason(why)}; name an address and a port that are free"
                ) from None

    async def _until_over(self, seconds: float | None, watch: Watch) -> str:
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, over.set)
        ends = None if seconds is None else loop.time() + seconds
        try:
            while ends is None or loop.time() < ends:
                left = SAVED_S if ends is None else min(SAVED_S, ends - loop.time())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), left)
                    return "interrupted"
                self._save(watch)
            return "the time is over"
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    def _save(self, watch: Watch) -> None:
        self._look_round()
        if self.recording.ended is None:
            self.recording.stalls = watch.stalls.all()
            self.recording.save()
        elif not self._is_over:
            self._is_over = True
            self.say(f"recording has ended: {self.recording.ended}. Bytes are still forwarded, until Ctrl-C or --time.")

    async def _close(self) -> None:
        """End all connections in an orderly way; bytes that a peer does not accept in time are lost."""
        for door in self.doors:
            door.shut()
            for forwarder in door.forwarders:
                for wire in forwarder.wires:
                    wire.end("peer")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSHED_S):
                while any(door.forwarders for door in self.doors):
                    await asyncio.sleep(POLL_S)
        for door in self.doors:
            door.stop()
        for file in self._files:
            file.close()

    # Missing peers.

    def _look_round(self) -> None:
        new = self._bypass.check(counts=self.recording.came_ms is not None)
        self._look_for_slave()
        if new and not self.recording.gone_round:
            self.say(
                f"a slave is connected to {self.ha.to} and not through the tap, so the answers to producers will "
                "not be judged: stop other slaves, and capture again. Continuing."
            )
        self.recording.gone_round += new

    def _look_for_slave(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._absent_since is None or self._bypass.standing or self.door.standing():
            self._absent_since, self._is_lost = now, False
        elif not self._is_lost and now - self._absent_since >= ABSENT_S:
            self._is_lost = True
            self.say(self.change.lost())

    def _names(self, real: str | None) -> None:
        if real == self._named:
            return
        self._named = real
        if real is None:
            self.say("the name server's answer is not in JSON, so the slave gets its master's own address. Continuing.")
        else:
            self.say(f"the master's HA address at the name server is {real}; the slave gets {self.ha.listen}")

    def _no_names(self, to: Address, why: OSError) -> None:
        self._warn_rarely(to, f"no name server answers at {to} ({_reason(why)}). Continuing.")

    def _silent(self, to: Address, why: OSError) -> None:
        if not self._refused:
            self._nobody(to, why)
            self.recording.note(f"note: nothing answers at the master's HA port ({_reason(why)})")
        self._refused += 1

    def _nobody(self, to: Address, why: OSError) -> None:
        self._warn_rarely(
            to,
            f"nothing answers at {to} ({_reason(why)}): is the master running, and is this its port? "
            "By default HA listens at listenPort + 1. Continuing.",
        )

    def _warn_rarely(self, to: Address, text: str) -> None:
        """Clients retry repeatedly, and a blocked terminal would hold the tap up."""
        now = asyncio.get_running_loop().time()
        if now >= self._warn_at.get(to, now):
            self._warn_at[to] = now + ABSENT_S
            self.say(text)

    def _answers(self) -> None:
        if self._refused:
            self.recording.note(f"master started: its HA port answers, after {self._refused} refused connections")
            self._refused = 0


def _reason(why: OSError) -> str:
    # asyncio replaces the system's message by a sentence with addresses.
    return os.strerror(why.errno) if why.errno is not None else str(why)


class Reached(HaConnection):
    def __init__(self, recording: Recording, slave: str, answers: Callable[[], None]) -> None:
        super().__init__(recording, slave)
        self.answers = answers

    def stand(self) -> None:
        self.answers()
        super().stand()
