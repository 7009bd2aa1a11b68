"""One builder for pairs, consumers, producers and administrators: ``consuming().store("m0").come().take(0)``.

It adds to :class:`pairproof.harness.rocketmq.testing.H`. By default process 1 is a consumer of group G that reads the
only topic queue, Q. A message's queue offset is the next one, its digest that of its key.
"""

import json
from collections.abc import Callable, Mapping
from typing import Self

from pairproof.harness.history import digest
from pairproof.harness.rocketmq.testing import FILE, SIZE, H
from pairproof.harness.texts.content import content

Q, G = "T/0", "G"
RETRY, DEAD = f"%RETRY%{G}/0", f"%DLQ%{G}/0"
HALF, NOTES = "RMQ_SYS_TRANS_HALF_TOPIC/0", "RMQ_SYS_TRANS_OP_HALF_TOPIC/0"
ROUTE = {"broker-a": {"0": "master", "1": "slave"}}
ROUTE_TO_SLAVE = {"broker-a": {"1": "slave"}}
STEPS = ("topics", "offsets", "delays", "groups")


class Story(H):
    def __init__(self) -> None:
        super().__init__()
        self.offsets: dict[str, int] = {}
        self.next_offset = 0
        self.groups: dict[int, str] = {}
        self.wanted: dict[int, str] = {}
        """By process that subscribes by tag, how it says so."""
        self.records: list[dict[str, object]] = []
        """What a reader finds in the master's log."""

    # Messages.

    def store(
        self, message: str, status: str = "PUT_OK", wait: bool = True, queue: str = Q, detail: str | None = None
    ) -> Self:
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

    def cut(self, to: int) -> Self:
        """The master's machine crashes and takes all messages but the first ``to``."""
        self.crash("master", "machine").restart("master", to * SIZE)
        self.next_offset = to
        return self

    def record(
        self, queue: str, detail: str, lo: int | None = None, message: str | None = "m0", offset: int = 0, ms: int = 0
    ) -> Self:
        """The master's log has a record, stored at ``ms``: the next one, or one that is there."""
        if lo is None:
            lo, self.end["master"] = self.end["master"], self.end["master"] + SIZE
        self.records.append({
            "lo": lo, "hi": lo + SIZE, "queue": queue, "queue_offset": offset, "value": ms, "detail": detail,
            "message": message,
        })  # fmt: skip
        return self

    def listed(self, ms: float = 0, node: str = "master") -> Self:
        """Time passes, and the master's log is read."""
        self.after(ms)
        self.audits += 1
        for record in self.records:
            self.add("record", node=node, op=self.audits, **record)
        return self.add("audit", node=node, op=self.audits, f="final", lo=0, hi=self.end["master"], status="whole")

    # Consumers.

    def come(
        self, process: int = 1, group: str = G, f: str = "clustering", fixed: int | None = None, tags: str = ""
    ) -> Self:
        """``fixed``: the broker id that its user chose; ``tags``: those that it subscribes to, if not to all."""
        self.groups[process] = group
        if tags:
            self.wanted[process] = json.dumps({"tags": tags})
        detail = self.wanted.get(process)
        return self.add("consumer", process=process, group=group, f=f, status="on", broker=fixed, detail=detail)

    def go(self, process: int = 1, status: str = "off") -> Self:
        return self.add("consumer", process=process, group=self.groups[process], f="clustering", status=status)

    def call(
        self, process: int, f: str, node: str, phase: str = "ok", brings: Callable[[int], object] | None = None,
        **columns: object,
    ) -> Self:  # fmt: skip
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

    def query(self, answer: int | None, node: str = "master", process: int = 1) -> Self:
        return self.call(process, "query", node, ok_queue_offset=answer)

    def assign(self, value: int, process: int = 1, status: str = "on") -> Self:
        return self.add("assign", process=process, group=self.groups[process], queue=Q, status=status, value=value)

    def take(self, answer: int | None, node: str = "master", process: int = 1, start: int | None = None) -> Self:
        """Ask a broker, and go on from its answer, or from ``start``."""
        return self.query(answer, node, process).assign(start if start is not None else answer or 0, process)

    def pull(
        self, at: int, *messages: str, node: str = "master", process: int = 1, then: int | None = None, **given: object
    ) -> Self:
        """Ask from ``at`` on, receive messages in order; ``given``: columns of all deliveries that are not honest."""

        def brings(op: int) -> None:
            for message in messages:
                self.deliver(message, op, node, process, **given)

        next_begin = at + len(messages) if then is None else then
        wanted = {"detail": self.wanted[process], "ok_detail": None} if process in self.wanted else {}
        return self.call(process, "pull", node, brings=brings, value=at, ok_queue_offset=next_begin, **wanted)

    def deliver(self, key: str, op: int, node: str = "master", process: int = 1, **given: object) -> Self:
        lo, hi = self.where.get(key, (FILE, FILE + SIZE))
        known = {
            "node": node, "process": process, "op": op, "f": "pull", "message": key, "queue": Q, "lo": lo, "hi": hi,
            "queue_offset": self.offsets.get(key, 0), "digest": digest(key.encode()),
            "group": self.groups.get(process),
        }  # fmt: skip
        return self.add("deliver", **{**known, **given})

    def serve(self, node: str, broker: int = 0, following: int = 1, group: str | None = G) -> Self:
        """A pull of process 1 is answered; the next one is to go to ``broker``."""
        return self.add(
            "ok", node=node, process=1, f="pull", status="PUT_OK", queue=Q, group=group, broker=broker,
            queue_offset=following,
        )  # fmt: skip

    def commit(
        self, offset: int, node: str = "master", process: int = 1, phase: str = "ok", carried: bool = False
    ) -> Self:
        return self.call(process, "commit", node, phase, queue_offset=offset, value=int(carried) or None)

    def learn(self, nodes: dict[str, str], process: int = 1, status: str = "found") -> Self:
        return self.add("route", process=process, status=status, detail=json.dumps(nodes))

    # Messages that a consumer sends back.

    def back(
        self, times: int = 0, at: int = 0, most: int = 2, level: int = 0, phase: str = "ok", message: str = "m0"
    ) -> Self:
        told = json.dumps({"at": at, "times": times, "level": level, "most": most})
        op, self.ops = self.ops, self.ops + 1
        for f, detail in (("asked", told), (phase, None)):
            self.after(1).add(
                "back", process=1, op=op, f=f, node="master", group=G, message=message, queue=Q, queue_offset=0,
                status="PUT_OK", detail=detail,
            )  # fmt: skip
        return self

    def copy(
        self, queue: str, times: int = 1, ms: int = 0, origin: int = 0, topic: str = "T", message: str = "m0"
    ) -> Self:
        """The master's log has a copy, stored at ``ms``."""
        where = {} if queue == DEAD else {"real": RETRY}
        told = content(b"", "", 0, **where, times=times, origin=f"7F00000100002A9F{origin:016X}", **{"from": topic})
        return self.record(queue, told, message=message, ms=ms)

    def retried(self, times: int = 1) -> Self:
        """m0 comes from the retry topic."""
        return self.add(
            "deliver", node="master", process=1, op=self.ops, f="pull", message="m0", queue=RETRY, queue_offset=times,
            lo=0, hi=SIZE, digest=digest(b""), group=G, value=times or None,
        )  # fmt: skip

    # The transaction of m0, the half message at 0 of its topic.

    def decide(self, says: str = "commit", phase: str = "ok", at: int = 0) -> Self:
        op, self.ops = self.ops, self.ops + 1
        call = {"process": 0, "op": op, "node": "master", "message": "m0", "queue": Q, "queue_offset": 0}
        self.after(1).add("decide", **call, f="asked", detail=json.dumps({"says": says, "at": at}))
        return self.after(1).add("decide", **call, f=phase, status="SUCCESS")

    def committed(self, queue: str = Q, kind: str = "commit", prepared: int = 0, offset: int = 0) -> Self:
        return self.record(queue, content(b"", "", 0, real=Q, type=kind, prepared=prepared), offset=offset)

    def noted(self, offset: int = 0, tags: str = "d") -> Self:
        return self.record(NOTES, content(str(offset).encode(), tags, 0), message=None)

    def came(self, group: str | None = None) -> Self:
        return self.add(
            "deliver", node="master", process=1, op=self.ops, f="pull", message="m0", queue=Q, queue_offset=0,
            lo=SIZE, hi=2 * SIZE, digest=digest(b""), group=group,
        )  # fmt: skip

    # What clients ask for, to go on; process n has the client id cn.

    def asked(self, f: str, node: str = "master", process: int = 1, **columns: object) -> Self:
        op, self.ops = self.ops, self.ops + 1
        known = {"process": process, "group": G, "node": node, "f": f, "op": op, "message": f"c{process}"}
        return self.add("ask", **{**known, "status": "asked", **columns})

    def ended(self, status: str = "answered", ms: float = 1, **columns: object) -> Self:
        """What was asked last ends."""
        call = next(each for each in reversed(self.events) if each.kind == "ask" and each.status == "asked")
        known = {key: getattr(call, key) for key in ("process", "group", "node", "f", "op", "message", "queue")}
        return self.after(ms).add("ask", **{**known, "status": status, **columns})

    def ask(
        self, f: str, process: int = 1, status: str = "answered", ms: float = 1, node: str = "master", **columns: object
    ) -> Self:
        return self.asked(f, node, process).ended(status, ms, **columns)

    def route(self, route: object = ROUTE, status: str = "answered", node: str = "names") -> Self:
        detail = json.dumps(route) if status == "answered" else None
        return self.asked("route", node, queue="T").ended(status, detail=detail)

    def beat(self, *nodes: str, ms: float = 0) -> Self:
        self.after(ms)
        for node in nodes or ("master", "slave"):
            self.ask("beat", node=node, ms=0)
        return self

    def members(self, *clients: str, ms: float = 0, status: str = "answered") -> Self:
        return self.after(ms).ask("members", status=status, detail=json.dumps(clients or ("c1",)))

    def told(self, *processes: int) -> Self:
        """The master tells members that their group has changed."""
        for process in processes or (1,):
            self.asked("changed", process=process, status="told")
        return self

    def lock(self, process: int = 1, held: bool = True, status: str = "answered", f: str = "lock") -> Self:
        op = self.begin_lock(process, f)
        return self.after(1).locking(process, f, op, status, (Q,) if held or status != "answered" else ())

    def unlock(self, process: int = 1, status: str = "answered") -> Self:
        return self.lock(process, status=status, f="unlock")

    def begin_lock(self, process: int, f: str = "lock", queues: tuple[str, ...] = (Q,)) -> int:
        """A member asks, in a millisecond; the call's number."""
        op, self.ops = self.ops, self.ops + 1
        self.after(1).locking(process, f, op, "asked", queues)
        return op

    def locking(
        self, process: int, f: str, op: int, status: str, queues: tuple[str, ...] = (Q,), node: str = "master"
    ) -> Self:
        return self.add(
            "lock", process=process, op=op, f=f, status=status, node=node, group=G, message=f"c{process}",
            detail=json.dumps(list(queues)),
        )  # fmt: skip

    # Name servers, tables and their syncs.

    def register(
        self, node: str = "slave", master: str | None = "master", status: str = "ok", address: str | None = None
    ) -> Self:
        """A name server answers, or does not."""
        answer = {"master": master, "ha": master} if master else {}
        return self.add("register", node=node, f=address, status=status, detail=json.dumps(answer))

    def table(
        self, f: str, content: dict[str, object], node: str = "slave", version: tuple[int, int] | None = None
    ) -> Self:
        value, lo = version or (None, None)
        return self.add("table", node=node, op=1, f=f, value=value, lo=lo, detail=json.dumps(content, sort_keys=True))

    def progress(self, offset: int | None, node: str = "master", group: str = G) -> Self:
        """A node's table of offsets is read; None: it has no entry."""
        topic, number = Q.split("/")
        return self.table("offsets", {} if offset is None else {f"{topic}@{group}": {number: offset}}, node)

    def persist(self, f: str, node: str = "slave") -> Self:
        return self.add("persist", node=node, f=f)

    def step(self, f: str, status: str = "same", node: str = "slave", ms: float = 1, saves: bool = True) -> Self:
        """One step of a sync: asked, answered ``ms`` later; what is applied is saved."""
        self.add("sync", node=node, f=f, status="asked").after(ms)
        if status == "applied" and saves:
            self.persist(f, node)
        return self.add("sync", node=node, f=f, status=status)

    def round(self, node: str = "slave", **statuses: str) -> Self:
        """All four steps; offsets and delays have no version."""
        default = {"topics": "same", "offsets": "applied", "delays": "applied", "groups": "same"}
        for f in STEPS:
            self.step(f, statuses.get(f, default[f]), node)
        return self

    def sync(self, *statuses: str, node: str = "slave", f: str = "offsets") -> Self:
        for status in statuses or ("asked", "applied"):
            self.after(1).add("sync", node=node, f=f, status=status)
        return self

    def killed(self, node: str, how: str = "process") -> Self:
        """Down and up, as a fault does it."""
        self.fault("kill", node).crash(node, how)
        return self.start(node).fault("kill", node, "off")

    # Others.

    def client(
        self, f: str, node: str = "master", phase: str = "ok", status: str = "SUCCESS", ms: float = 1, *,
        message: str | None = None, queue: str | None = Q, offset: int | None = None, group: str | None = None,
    ) -> Self:  # fmt: skip
        """A whole call of process 7: it begins, and ``ms`` later it ends."""
        op, self.ops = 1_000 + self.ops, self.ops + 1
        call = {"node": node, "process": 7, "op": op, "f": f, "message": message, "queue": queue, "group": group}
        self.add("invoke", **call, queue_offset=offset if f == "commit" else None).after(ms)
        return self.add(phase, **call, status=status, queue_offset=offset)

    def create(self, f: str, name: str, node: str = "master", phase: str = "ok", status: str = "SUCCESS") -> Self:
        """An administrator creates or changes a topic or a group; a node that does saves it."""
        if phase == "ok" and node == "master":
            self.persist(f"{f}s", node)
        return self.client(f, node, phase, status, message=name, queue=None)

    def client_commit(self, offset: int, node: str = "master", group: str = G, queue: str = Q) -> Self:
        return self.client("commit", node, queue=queue, offset=offset, group=group)


class Administered(Story):
    """With administrators' calls."""

    def asks(self, f: str, name: str, detail: Mapping[str, object], node: str = "master") -> int:
        op = 1_000 + self.ops
        self.ops += 1
        self.add("invoke", node=node, process=7, op=op, f=f, message=name, detail=json.dumps(detail))
        return op

    def ends(self, op: int, f: str, name: str, phase: str = "ok", node: str = "master") -> Self:
        status = {"ok": "SUCCESS", "fail": "SYSTEM_ERROR", "info": "timeout"}[phase]
        self.add(phase, node=node, process=7, op=op, f=f, status=status, message=name)
        return self
