"""RocketMQ's histories, written by hand: ``pair().put("m0").replicate().ok("m0").audit()``.

Log ends are tracked, so a correct history needs no numbers; each number can be given to make an incorrect one.
"""

from __future__ import annotations

import json
from typing import Self

from ..testing import History

FILE = 1_000
"""Size of the commit log files of these histories: small round numbers are easy to read."""
SIZE = 100


class H(History):
    """A history in the making; ``end[node]`` is the end of that node's log."""

    def __init__(self) -> None:
        super().__init__()
        self.end = {"master": 0, "slave": 0, "slave2": 0}
        self.link = ""
        self.links = 0
        self.where: dict[str, tuple[int, int]] = {}

    def config(self, node: str, **settings: object) -> Self:
        role = "SLAVE" if node != "master" else "SYNC_MASTER"
        known = {
            "brokerRole": role, "flushDiskType": "ASYNC_FLUSH", "mappedFileSizeCommitLog": FILE,
            "haTransferBatchSize": 300,
        }  # fmt: skip
        return self.add("config", node=node, detail=json.dumps({**known, **settings}))

    def start(self, node: str, hi: int | None = None, lo: int = 0) -> Self:
        hi = self.end[node] if hi is None else hi
        self.end[node] = hi
        return self.add("start", node=node, lo=lo, hi=hi, f="abnormal")

    def restart(self, node: str, hi: int) -> Self:
        """Restarts with a log end at ``hi``, which it reports."""
        before = self.end[node]
        self.start(node, hi)
        return self.add("cut", node=node, lo=hi, hi=before) if hi < before else self

    def commit(self, node: str, hi: int | None = None) -> Self:
        return self.add("commit", node=node, hi=self.end[node] if hi is None else hi)

    def flush(self, node: str, hi: int | None = None) -> Self:
        return self.add("flush", node=node, hi=self.end[node] if hi is None else hi)

    def wipe(self, node: str, f: str = "empty") -> Self:
        self.end[node] = 0
        return self.crash(node).add("wipe", node=node, f=f)

    def connect(self, peer: str = "slave") -> Self:
        self.links += 1
        self.link = f"ha:{self.links}"
        self.add("connect", node=peer, f=peer, link=self.link, side="m")
        return self.add("connect", node=peer, f=peer, link=self.link, side="s")

    def _at_ends(self, kind: str, sides: str, peer: str, link: str | None, **columns: object) -> Self:
        """An event at each of these ends of a connection: m, the master's, and s, its peer's."""
        for side in sides:
            self.add(kind, node="master" if side == "m" else peer, link=link or self.link, side=side, **columns)
        return self

    def close(self, sides: str = "sm", peer: str = "slave", link: str | None = None, f: str = "peer") -> Self:
        return self._at_ends("close", sides, peer, link, f=f)

    def piece(self, side: str, f: str, value: int, lo: int | None = None, detail: str | None = None) -> Self:
        """A partial frame or report passed one end; 0: its socket accepted none."""
        node = "master" if side == "m" else "slave"
        return self.add("partial", node=node, link=self.link, side=side, f=f, value=value, lo=lo, detail=detail)

    def report(
        self, offset: int | None = None, sides: str = "sm", peer: str = "slave", link: str | None = None
    ) -> Self:
        offset = self.end["slave"] if offset is None else offset
        return self._at_ends("report", sides, peer, link, hi=offset)

    def frame(
        self, lo: int, hi: int, sides: str = "ms", digest: int = 0, peer: str = "slave", link: str | None = None
    ) -> Self:
        return self._at_ends("frame", sides, peer, link, lo=lo, hi=hi, digest=digest)

    def source(self, lo: int, hi: int, digest: int = 0) -> Self:
        return self.add("source", node="master", link=self.link, lo=lo, hi=hi, digest=digest)

    def append(self, node: str, lo: int, hi: int, f: str = "replicate", message: str | None = None) -> Self:
        self.end[node] = hi
        return self.add("append", node=node, lo=lo, hi=hi, f=f, message=message)

    def replicate(self, upto: int | None = None) -> Self:
        lo, hi = self.end["slave"], self.end["master"] if upto is None else upto
        return self.frame(lo, hi).append("slave", lo, hi).report(hi)

    def put(self, message: str, wait: bool = True) -> Self:
        self.invoke(message, wait)
        lo = self.end["master"]
        self.where[message] = (lo, lo + SIZE)
        return self.append("master", lo, lo + SIZE, "put", message)

    def ok(self, message: str, status: str = "PUT_OK") -> Self:
        (op, value), (lo, hi) = self.began[message], self.where.get(message, (0, SIZE))
        return self.add(
            "ok", node="master", process=0, op=op, f="send", status=status, message=message, value=value, lo=lo, hi=hi
        )

    def probe(self, message: str) -> Self:
        """A probe send of the lab, which checks the pair; its end is a separate event."""
        self.invoke(message)
        return self.add("mark", op=self.began[message][0], f="probe")

    def sent(self, message: str, wait: bool = True) -> Self:
        return self.put(message, wait).replicate().ok(message)

    def audit(
        self,
        f: str = "final",
        nodes: str = "master slave",
        records: dict[str, list[str]] | None = None,
        hi: dict[str, int] | None = None,
        broken: str = "",
        digests: dict[str, int] | None = None,
        chunk: tuple[int, int] = (0, SIZE),
        compare: str = "",
        start: int = 0,
        whole_to: int | None = None,
    ) -> Self:
        """Both logs read: ``records`` by node (default: none), ``hi`` and ``chunk`` digests if they differ."""
        self.audits += 1
        for node in nodes.split():
            end = {**self.end, **(hi or {})}[node]
            for message in (records or {}).get(node, ()):
                lo, upto = self.where.get(message, (0, SIZE))
                self.add("record", node=node, op=self.audits, message=message, lo=lo, hi=upto)
            self.add("chunk", node=node, op=self.audits, lo=chunk[0], hi=chunk[1], digest=(digests or {}).get(node, 7))
            status = "broken" if node == broken else "whole"
            read = "compare" if node == compare else f
            self.add("audit", node=node, op=self.audits, f=read, lo=start, hi=end, status=status, value=whole_to or end)
        return self


def pair(**settings: object) -> H:
    """Both nodes up on empty stores, the slave connected; it has asked from 0."""
    return bare(**settings).connect().report(0)


def trio(**settings: object) -> H:
    """A master and two slaves on empty stores; ha:1 is slave's, ha:2 slave2's. Both have asked from 0."""
    three = H().config("master", **settings).config("slave").config("slave2")
    for node in ("master", "slave", "slave2"):
        three.start(node)
    return three.connect().report(0).connect("slave2").report(0, peer="slave2")


def bare(**settings: object) -> H:
    """Both nodes up on empty stores, without connections."""
    return H().config("master", **settings).config("slave").start("master").start("slave")
