"""The builder of :mod:`histories` with consumers: ``consuming().store("m0").come().take(0).pull(0, "m0").commit(1)``.

One topic queue, Q; the first consumer is process 1 of group G. A message's queue offset is the next one, its digest
that of its key.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from pairproof.harness.history import digest
from pairproof.harness.rocketmq.testing import FILE, SIZE, H

Q = "T/0"
G = "G"
BOTH = {"0": "master", "1": "slave"}
SLAVE_ONLY = {"1": "slave"}


class C(H):
    """A history with consumers in the making."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets: dict[str, int] = {}
        self.next_offset = 0
        self.groups: dict[int, str] = {}
        self.wanted: dict[int, str] = {}
        """By process that subscribes by tag, how it says so."""

    # Messages.

    def store(
        self, message: str, status: str = "PUT_OK", wait: bool = True, queue: str = Q, detail: str | None = None
    ) -> C:
        """A client sends, the master stores and answers."""
        op, self.ops = self.ops, self.ops + 1
        lo = self.end["master"]
        hi = lo + SIZE
        self.where[message] = (lo, hi)
        self.offsets[message] = self.next_offset
        call = {"node": "master", "process": 0, "op": op, "f": "send", "message": message, "queue": queue}
        self.add("invoke", **call, value=int(wait), detail=detail)
        self.end["master"] = hi
        self.add("append", node="master", lo=lo, hi=hi, f="put", message=message, digest=digest(message.encode()))
        ended = {**call, "value": int(wait), "status": status, "lo": lo, "hi": hi}
        self.add("ok", **ended, queue_offset=self.next_offset)
        self.next_offset += 1
        return self

    def cut(self, to: int) -> C:
        """The master's machine crashes and takes all messages but the first ``to``."""
        self.crash("master", "machine").restart("master", to * SIZE)
        self.next_offset = to
        return self

    # Consumers.

    def come(
        self, process: int = 1, group: str = G, f: str = "clustering", fixed: int | None = None, tags: str = ""
    ) -> C:
        """``fixed``: the broker id that its user chose; ``tags``: those that it subscribes to, if not to all."""
        self.groups[process] = group
        if tags:
            self.wanted[process] = json.dumps({"tags": tags})
        detail = self.wanted.get(process)
        self.add("consumer", process=process, group=group, f=f, status="on", broker=fixed, detail=detail)
        return self

    def go(self, process: int = 1, status: str = "off") -> C:
        self.add("consumer", process=process, group=self.groups[process], f="clustering", status=status)
        return self

    def call(
        self, process: int, f: str, node: str, phase: str = "ok", brings: Callable[[int], object] | None = None,
        **columns: object,
    ) -> C:  # fmt: skip
        """A call begins a millisecond later and ends after another; columns of its end alone begin with ``ok_``.

        ``brings``: adds what comes just before its end, by the call's number.
        """
        self.after(1)
        op, self.ops = self.ops, self.ops + 1
        asked = {key: value for key, value in columns.items() if not key.startswith("ok_")}
        told = {key[3:]: value for key, value in columns.items() if key.startswith("ok_")}
        known = {"node": node, "process": process, "op": op, "f": f, "queue": Q, "group": self.groups.get(process)}
        self.add("invoke", **{**known, **asked}).after(1)
        if brings is not None:
            brings(op)
        return self.add(phase, **{**known, **asked, **told}) if phase else self

    def query(self, answer: int | None, node: str = "master", process: int = 1) -> C:
        return self.call(process, "query", node, ok_queue_offset=answer)

    def assign(self, value: int, process: int = 1, status: str = "on") -> C:
        self.add("assign", process=process, group=self.groups[process], queue=Q, status=status, value=value)
        return self

    def take(self, answer: int | None, node: str = "master", process: int = 1, start: int | None = None) -> C:
        """Ask a broker, and go on from its answer, or from ``start``."""
        return self.query(answer, node, process).assign(start if start is not None else answer or 0, process)

    def pull(
        self, at: int, *messages: str, node: str = "master", process: int = 1, then: int | None = None, **given: object
    ) -> C:
        """Ask from ``at`` on, receive messages in order; ``given``: columns of all deliveries that are not honest."""

        def brings(op: int) -> None:
            for message in messages:
                self.deliver(message, op, node, process, **given)

        next_begin = at + len(messages) if then is None else then
        wanted = {"detail": self.wanted[process], "ok_detail": None} if process in self.wanted else {}
        return self.call(process, "pull", node, brings=brings, value=at, ok_queue_offset=next_begin, **wanted)

    def deliver(self, key: str, op: int, node: str = "master", process: int = 1, **given: object) -> C:
        lo, hi = self.where.get(key, (FILE, FILE + SIZE))
        known = {
            "node": node, "process": process, "op": op, "f": "pull", "message": key, "queue": Q, "lo": lo, "hi": hi,
            "queue_offset": self.offsets.get(key, 0), "digest": digest(key.encode()),
            "group": self.groups.get(process),
        }  # fmt: skip
        self.add("deliver", **{**known, **given})
        return self

    def commit(
        self, offset: int, node: str = "master", process: int = 1, phase: str = "ok", carried: bool = False
    ) -> C:
        return self.call(process, "commit", node, phase, queue_offset=offset, value=int(carried) or None)

    # Tables.

    def table(self, offset: int | None, node: str = "master", group: str = G) -> C:
        """A node's table of offsets is read; None: it has no entry."""
        topic, number = Q.split("/")
        content = {} if offset is None else {f"{topic}@{group}": {number: offset}}
        self.add("table", node=node, f="offsets", op=0, detail=json.dumps(content))
        return self

    def sync(self, *statuses: str, node: str = "slave") -> C:
        for status in statuses or ("asked", "applied"):
            self.after(1).add("sync", node=node, f="offsets", status=status)
        return self

    def learn(self, nodes: dict[str, str], process: int = 1, status: str = "found") -> C:
        self.add("route", process=process, status=status, detail=json.dumps(nodes))
        return self


def consuming(slave: dict[str, object] | None = None, **settings: object) -> C:
    """Both nodes up; time enough has passed for their tables to be written once. ``settings`` are the master's."""
    history = C()
    history.config("master", **settings).config("slave", **(slave or {})).start("master").start("slave")
    history.after(20_000)
    return history


def grouped(*messages: str, slave: dict[str, object] | None = None, **settings: object) -> C:
    """With messages stored, and a consumer of G that holds Q from 0 on."""
    history = consuming(slave, **settings)
    for message in messages:
        history.store(message)
    return history.come().take(None)
