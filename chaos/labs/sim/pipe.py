"""One direction of one connection inside the simulated toxiproxy: its chain of toxics, in the order added.

As toxiproxy's ``link.go``: each toxic holds one chunk, ``latency`` has a channel of 1024 before it, and a toxic that
cannot forward its chunk takes no other, so back-pressure reaches the sender. Bytes that the first toxic has not taken
stay with the sender. A removed toxic forwards its held bytes at once and in order; ``timeout`` closes instead.

Left out: the loss when a removal cannot forward a chunk for five seconds; here the next toxic takes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .kernel import Entry, Kernel
from .toxics import TIMED_OUT, Chunk, Sleep, Toxic

Item = Chunk | None
"""None is the end of the stream."""


class Stage:
    """One toxic of one pipe, a :class:`pairproof.chaos.labs.sim.toxics.Stub`."""

    __slots__ = (
        "_pipe", "abrupt", "closed", "deaf", "ended", "hand", "out", "process", "queue", "timer", "toxic", "waiting",
    )  # fmt: skip

    def __init__(self, pipe: Pipe, toxic: Toxic) -> None:
        self._pipe = pipe
        self.toxic = toxic
        self.abrupt = pipe.abrupt
        self.process = toxic.kind.behave(self)
        self.queue: deque[Item] = deque()
        self.hand: Item = None
        self.out: deque[Item] = deque()
        self.timer: Entry | None = None
        self.waiting = False
        self.ended = False
        self.closed = False
        self.deaf = False

    def now(self) -> int:
        return self._pipe.kernel.now

    def drop(self, chunk: Chunk) -> None:
        self.toxic.count("bytes_lost", len(chunk.data))
        if self.hand is chunk:
            self.hand = None
        self._pipe.took(chunk)
        self._pipe.swallowed -= len(chunk.data)

    def silence(self) -> None:
        if self.timer is not None:
            self.timer[2] = None
            self.timer = None


class Pipe:
    """``taken(bytes)`` is called for bytes that leave the sender's socket; ``leave`` receives the output."""

    __slots__ = (
        "_leave", "_taken", "abrupt", "ended", "kernel", "leaving", "source", "stages", "swallowed", "vanished",
    )  # fmt: skip

    def __init__(
        self, kernel: Kernel, abrupt: bool, taken: Callable[[int], None], leave: Callable[[bytes | None, bool], None]
    ) -> None:
        self.kernel = kernel
        self.abrupt = abrupt
        self._taken = taken
        self._leave = leave
        self.stages: list[Stage] = []
        self.source: deque[Item] = deque()
        self.ended = False
        self.leaving = 0
        self.swallowed = 0
        self.vanished = False

    def idle(self) -> bool:
        return not self.stages and not self.leaving

    def feed(self, data: bytes | None) -> None:
        """Bytes, or the end of the stream, have reached the proxy; nothing is read after the end."""
        if self.ended or (self.vanished and data is not None):
            if data is not None:
                self._taken(len(data))
            return
        self.ended = data is None
        self.source.append(Chunk(data, self.kernel.now) if data is not None else None)
        self._settle()

    def vanish(self) -> None:
        """The sender's machine lost power: what waits in its socket, and what would arrive behind that, is gone."""
        self.vanished = bool(self.source)
        self.source.clear()

    def add(self, toxic: Toxic) -> None:
        stage = Stage(self, toxic)
        self.stages.append(stage)
        self._run(stage, None)

    def remove(self, toxic: Toxic) -> None:
        stage = next((each for each in self.stages if each.toxic is toxic), None)
        if stage is None or stage.closed or stage.deaf:
            return
        stage.silence()
        if toxic.kind.closes:
            toxic.count("connections_closed", 1)
            self._close(stage)
        else:
            self._take_off(stage)
        self._settle()

    def _take_off(self, stage: Stage) -> None:
        at = self.stages.index(stage)
        before = self.stages[at - 1].out if at else self.source
        waiting = sum(len(item.data) for item in (*stage.queue, *before) if item is not None)
        if waiting and not stage.out:
            stage.toxic.count("bytes_held", waiting)
        del self.stages[at]
        for item in (*stage.out, stage.hand, *stage.queue):
            if item is not None and item.data:
                self._push(at, item)
        if stage.ended or None in stage.queue:
            self._push(at, None)

    def kill(self) -> int:
        for stage in self.stages:
            stage.silence()
        self.stages.clear()
        self.source.clear()
        self.ended = True
        lost, self.swallowed = self.swallowed, 0
        return lost

    def took(self, chunk: Chunk) -> None:
        """The chunk has left the sender's socket."""
        if chunk.counted:
            chunk.counted = False
            self.swallowed += len(chunk.data)
            self._taken(len(chunk.data))

    def _settle(self) -> None:
        """Move all chunks as far as possible."""
        moved = True
        while moved:
            moved = False
            for at in range(len(self.stages), -1, -1):
                before = self.stages[at - 1].out if at else self.source
                while before and self._offer(at, before[0]):
                    before.popleft()
                    moved = True
                    if at and not before and not self.stages[at - 1].closed:
                        self._run(self.stages[at - 1], None)

    def _offer(self, at: int, item: Item) -> bool:
        """Whether the stage, or the exit behind the last one, takes it."""
        if at == len(self.stages):
            self.leaving += 1
            # Not now: the remover of the toxic may be in the middle of a step.
            self.kernel.at(self.kernel.now, self._out, item)
            return True
        stage = self.stages[at]
        if stage.closed:
            return False
        if stage.waiting:
            stage.waiting = False
            stage.silence()
            self._given(stage, item)
            self._run(stage, item)
        elif item is None or len(stage.queue) < stage.toxic.kind.buffer:
            if item is not None:
                self.took(item)
            stage.queue.append(item)
        else:
            return False
        return True

    def _push(self, at: int, item: Item) -> None:
        if not self._offer(at, item) and not self.stages[at].closed:
            self.stages[at].queue.append(item)

    def _given(self, stage: Stage, item: Item) -> None:
        stage.hand = item
        stage.ended = item is None
        if item is not None and stage.toxic.kind.buffer:
            self.took(item)

    def _run(self, stage: Stage, value: Item) -> None:
        """Run until it sleeps, waits for input, or has output."""
        while True:
            try:
                want = stage.process.send(value)
            except StopIteration:
                self._close(stage)
                return
            if isinstance(want, Chunk):
                if want is stage.hand:
                    stage.hand = None
                stage.out.append(want)
                return
            value = None
            if isinstance(want, Sleep):
                if want.ns is not None and want.ns <= 0:
                    continue
                self._wake_in(stage, want.ns)
                return
            if not stage.queue:
                stage.waiting = True
                self._wake_in(stage, want.within_ns)
                return
            value = stage.queue.popleft()
            self._given(stage, value)

    def _wake_in(self, stage: Stage, ns: int | None) -> None:
        if ns is not None:
            stage.timer = self.kernel.at(self.kernel.now + ns, self._wake, stage)

    def _wake(self, stage: Stage) -> None:
        stage.timer = None
        value = TIMED_OUT if stage.waiting else None
        stage.waiting = False
        self._run(stage, value)
        self._settle()

    @staticmethod
    def _close(stage: Stage) -> None:
        stage.closed = True
        stage.hand = None
        stage.out.append(None)

    def _out(self, item: Item) -> None:
        self.leaving -= 1
        if item is None:
            self._leave(None, False)
        else:
            if not item.counted:
                self.swallowed -= len(item.data)
            self._leave(item.data, item.counted)
