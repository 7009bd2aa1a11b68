"""A toy pair, for trials without a real system: ``conformance.run(toy.TARGET, toy.LAB, trials=100)``.

A source and its copy in memory, in virtual time. Clients write names to the source, which adds each to its log and
answers with its promises; the copy follows. Nothing is random. A source's write survives a kill, and with the setting
``flush: sync`` also a power loss. Its seeded bugs are :data:`BUGS`: ``TARGET.mutant("early")``.

Left out: clients' links, more than one copy, and slow operations of real systems.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from pairproof.harness.errors import Unable, UsageError
from pairproof.harness.history import MS, Recorder
from pairproof.harness.ports import Effect, Lab, Target
from pairproof.harness.trials.schedule import Args

SOURCE, COPY, LINK = "master", "slave", "ha"
LATENCY_MS, PATIENCE_MS, SETTLE_MS = 5, 200, 2_000
BUGS = {
    "early": "The source promises for a copy that has not answered.",
    "forgetful": "A source that is killed loses its last write.",
    "reversed": "A copy that was down catches up in the wrong order.",
    "keeps_refused": "A source that refuses a write for lack of copies stores it anyway.",
    "sleepy": "A copy that lost its source once does not follow it again.",
    "mortal": "A copy ends by itself when its source comes back.",
}


class Toy(NamedTuple):
    name: str = "toy"
    bug: str = ""

    def settings(self, schedule: Args) -> Args:
        return {"flush": "async", **schedule}

    def mutant(self, name: str) -> Toy:
        if name not in BUGS:
            raise UsageError(f"unknown mutant {name!r} of the toy; valid: {', '.join(BUGS)}")
        return Toy(f"toy+{name}", name)


class Node:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.flushed = 0
        """The part of the log that survives a power loss."""
        self.up = False
        self.starts = 0


class ToySession:
    def __init__(self, target: Toy, settings: Args) -> None:
        self.recorder = Recorder()
        self.bug, self.sync = target.bug, settings.get("flush") == "sync"
        self.nodes = {SOURCE: Node(), COPY: Node()}
        self.cut = self.asleep = False
        self._t = 0
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order, self._ops = count(), count()

    def now(self) -> int:
        return self._t

    def advance(self, ms: int) -> None:
        until = self._t + ms * MS
        while self._due and self._due[0][0] <= until:
            self._t, _, happen = heappop(self._due)
            happen()
        self._t = until

    def _after(self, ms: int, happen: Callable[[], None]) -> None:
        heappush(self._due, (self._t + ms * MS, next(self._order), happen))

    def _add(self, kind: str, **columns: object) -> None:
        self.recorder.add(self._t, kind, **columns)

    def warm_up(self) -> None:
        for node in self.nodes:
            self.restart(node)
        self.advance(LATENCY_MS)
        self._add("mark", f="warm")

    def settle(self) -> None:
        for node in self.nodes:
            self.restart(node)
        self.advance(SETTLE_MS)
        source, copy = self.nodes[SOURCE], self.nodes[COPY]
        at_rest = len(source.log) == len(copy.log)
        self._add("mark", f="converged" if at_rest else "unsettled")
        op = next(self._ops)
        for name in (name for name, node in self.nodes.items() if node.up):
            self._scan(op, name, "final")
        self._add("mark", f="end")

    def close(self) -> None:
        self._due.clear()

    def write_one(self, client: int, copies: int) -> None:
        op, source, copy = next(self._ops), self.nodes[SOURCE], self.nodes[COPY]
        call = {"node": SOURCE, "process": client, "op": op, "f": "write", "message": f"w{op}"}
        self._add("invoke", value=copies, **call)
        if not source.up or copies > int(copy.up):
            if source.up and self.bug == "keeps_refused":
                source.log.append(f"w{op}")
            self._after(1, lambda: self._add("fail", status="NO_COPIES" if source.up else "REFUSED", **call))
            return
        source.log.append(f"w{op}")
        source.flushed = len(source.log) if self.sync else source.flushed
        starts, begun = (source.starts, copy.starts), self._t

        def answer() -> None:
            there = copies and (f"w{op}" in copy.log or self.bug == "early") and copy.starts == starts[1] and copy.up
            if (source.starts, source.up) != (starts[0], True):
                self._add("info", status="disconnected", **call)
            elif copies and not there and self._t - begun < PATIENCE_MS * MS:
                self._after(LATENCY_MS, answer)
            else:
                self._add("ok", status="OK", value=int(bool(there)), **call)
                self._promise(call, SOURCE, "machine" if self.sync else "process")
                if there:
                    self._promise(call, COPY, "process")

        self._after(LATENCY_MS, self._follow)
        self._after(1 if self.bug == "early" else 2 * LATENCY_MS, answer)

    def _promise(self, call: dict[str, object], node: str, survives: str) -> None:
        columns = {key: call[key] for key in ("process", "op", "message")}
        self._add("promise", node=node, status=survives, **columns)

    def read_all(self, client: int, node: str) -> None:
        op = next(self._ops)
        call = {"node": node, "process": client, "op": op, "f": "read"}
        self._add("invoke", **call)
        if not self._node(node).up:
            self._add("fail", status="REFUSED", **call)
            return
        self._add("ok", status="OK", **call)
        self._scan(op, node, "read")

    def _scan(self, op: int, node: str, f: str) -> None:
        for place, write in enumerate(self.nodes[node].log):
            self._add("held", node=node, op=op, message=write, queue_offset=place)
        self._add("scanned", node=node, op=op, f=f, status="source" if node == SOURCE else "copy")

    def _follow(self) -> None:
        source, copy = self.nodes[SOURCE], self.nodes[COPY]
        if not (source.up and copy.up) or self.cut or self.asleep:
            return
        missed = source.log[len(copy.log) :]
        if copy.log != source.log[: len(copy.log)]:
            # The source has lost records of the copy.
            copy.log, missed = [], source.log
        copy.log = [*copy.log, *(reversed(missed) if self.bug == "reversed" else missed)]
        copy.flushed = len(copy.log)

    def _node(self, name: str) -> Node:
        if name not in self.nodes:
            raise Unable(f"the toy has no {name}")
        return self.nodes[name]

    def kill(self, node: str) -> Effect:
        return self._end(node, "process", 1 if self.bug == "forgetful" and node == SOURCE else 0)

    def crash_machine(self, node: str, keep: str) -> Effect:
        found = self._node(node)
        return self._end(node, "machine", 0 if keep == "all" else len(found.log) - found.flushed)

    def _end(self, node: str, how: str, lost: int) -> Effect:
        found = self._node(node)
        if not found.up:
            return {}
        found.log = found.log[: len(found.log) - lost]
        found.up = False
        self.asleep = self.bug == "sleepy"
        self._add("crash", node=node, f=how, value=lost, incarnation=found.starts)
        return {"processes_killed": 1}

    def restart(self, node: str) -> None:
        found = self._node(node)
        if found.up:
            return
        found.up, found.starts, found.flushed = True, found.starts + 1, len(found.log)
        self._add("start", node=node, incarnation=found.starts, f="normal")
        if self.bug == "mortal" and node == SOURCE and found.starts > 1:
            self.nodes[COPY].up = False
            self._add("crash", node=COPY, f="process", value=0, status="own", detail="its source came back")
        self._after(LATENCY_MS, self._follow)

    def cut_link(self, link: str) -> str:
        self.cut = self.cut or link == LINK
        return link

    def mend_link(self, handle: str) -> Effect:
        if handle != LINK:
            return {}
        self.cut = False
        self._after(LATENCY_MS, self._follow)
        return {"connections_closed": 1}

    def reset_link(self, link: str) -> Effect:
        return {}


class ToyLab:
    name = "toy"
    deterministic = True

    def takes(self, target: Target) -> bool:
        return isinstance(target, Toy)

    def observes(self, target: Target) -> frozenset[str]:
        client = {"invoke", "ok", "fail", "info", "promise", "held", "scanned"}
        return frozenset(client | {"start", "crash", "abort", "stop", "wipe", "fault", "mark"})

    def open(self, target: Target, settings: Args, seed: str) -> ToySession:
        assert isinstance(target, Toy)
        return ToySession(target, settings)


LAB: Lab = ToyLab()
TARGET = Toy()
