"""Histories of a pair with a name server: registrations, syncs, tables, and what clients do about them."""

from __future__ import annotations

import json

from pairproof.harness.rocketmq.testing import H

STEPS = ("topics", "offsets", "delays", "groups")


class M(H):
    """A builder as :class:`histories.H`, for what a metadata law sees."""

    def register(self, node: str = "slave", master: str | None = "master", status: str = "ok") -> M:
        """A name server answers, or does not."""
        answer = {"master": master, "ha": master} if master else {}
        self.add("register", node=node, status=status, detail=json.dumps(answer))
        return self

    def wait(self, ms: float) -> M:
        self.after(ms)
        return self

    def step(self, f: str, status: str = "same", node: str = "slave", ms: float = 1, saves: bool = True) -> M:
        """One step of a sync: asked, answered ``ms`` later; what is applied is saved."""
        self.add("sync", node=node, f=f, status="asked").after(ms)
        if status == "applied" and saves:
            self.persist(f, node)
        self.add("sync", node=node, f=f, status=status)
        return self

    def round(self, node: str = "slave", **statuses: str) -> M:
        """All four steps; offsets and delays have no version."""
        default = {"topics": "same", "offsets": "applied", "delays": "applied", "groups": "same"}
        for f in STEPS:
            self.step(f, statuses.get(f, default[f]), node)
        return self

    def persist(self, f: str, node: str = "slave") -> M:
        self.add("persist", node=node, f=f)
        return self

    def call(
        self,
        f: str,
        node: str = "master",
        phase: str = "ok",
        status: str = "SUCCESS",
        ms: float = 1,
        *,
        message: str | None = None,
        queue: str | None = "T/0",
        offset: int | None = None,
        group: str | None = None,
    ) -> M:
        """A whole call: it began, and ``ms`` later it ended."""
        op = 1_000 + self.ops
        self.ops += 1
        asked = offset if f == "commit" else None
        self.add(
            "invoke", node=node, process=7, op=op, f=f, message=message, queue=queue, queue_offset=asked, group=group
        )
        self.after(ms)
        self.add(
            phase, node=node, process=7, op=op, f=f, status=status, message=message, queue=queue, queue_offset=offset,
            group=group,
        )  # fmt: skip
        return self

    def create(self, f: str, name: str, node: str = "master", phase: str = "ok", status: str = "SUCCESS") -> M:
        """An administrator creates or changes a topic or a group; a node that does saves it."""
        if phase == "ok" and node == "master":
            self.persist(f"{f}s", node)
        return self.call(f, node, phase, status, message=name, queue=None)

    def commit(self, offset: int, node: str = "master", group: str = "G", queue: str = "T/0") -> M:
        return self.call("commit", node, queue=queue, offset=offset, group=group)

    def table(
        self, f: str, content: dict[str, object], node: str = "slave", version: tuple[int, int] | None = None
    ) -> M:
        value, lo = version or (None, None)
        detail = json.dumps(content, sort_keys=True)
        self.add("table", node=node, op=1, f=f, value=value, lo=lo, detail=detail)
        return self

    def down(self, node: str, how: str = "process") -> M:
        self.crash(node, how)
        return self

    def up(self, node: str) -> M:
        self.start(node)
        return self

    def again(self, node: str, how: str = "process") -> M:
        """Down and up, as a fault does it."""
        self.fault("kill", node).crash(node, how)
        self.start(node).fault("kill", node, "off")
        return self

    def marked(self, f: str) -> M:
        self.mark(f)
        return self


def named(version: str = "4.9.7", **settings: object) -> M:
    """A master and a slave that know a name server, both up; the slave has learned of its master."""
    history = unknown(version, **settings)
    return history.register()


def unknown(version: str = "4.9.7", **settings: object) -> M:
    """The same, before the name server has answered."""
    history = M()
    history.config("master", namesrvAddr="names", rocketmqVersion=version)
    history.config("slave", namesrvAddr="names", **{"rocketmqVersion": version, **settings})
    history.start("master").start("slave")
    return history


def used() -> M:
    """The master has topic T and group G, and the slave has synced both."""
    history = named().wait(1_000).call("send", status="PUT_OK").call("pull", status="PUT_OK", group="G")
    return history.wait(2_000).round(topics="applied", groups="applied")


def pulled(history: M, status: str, group: str | None = "G", queue: str = "T/0") -> M:
    phase = "ok" if status == "PUT_OK" else "fail"
    return history.call("pull", "slave", phase, status, queue=queue, group=group)
