"""A pair of which process 1 consumes t/0 for group g, as histories."""

from __future__ import annotations

from pairproof.harness.rocketmq.testing import H


class Group(H):
    """Process 1 consumes t/0 for group g."""

    def serves(self, node: str, broker: int = 0, following: int = 1, group: str | None = "g") -> Group:
        self.add(
            "ok", node=node, process=1, f="pull", status="PUT_OK", queue="t/0", group=group, broker=broker,
            queue_offset=following,
        )  # fmt: skip
        return self

    def comes(self, fixed: int | None = None) -> Group:
        """``fixed``: the broker id that its user chose."""
        self.add("consumer", process=1, status="on", group="g", f="clustering", broker=fixed)
        return self.takes("on")

    def takes(self, status: str) -> Group:
        self.add("assign", process=1, status=status, group="g", queue="t/0", value=0)
        return self

    def registers(self, node: str, status: str = "ok") -> Group:
        self.add("register", node=node, status=status)
        return self

    def syncs(self, *tables: str, node: str = "slave") -> Group:
        for table in tables or ("topics", "groups"):
            self.add("sync", node=node, f=table, status="asked").after(1)
            self.add("sync", node=node, f=table, status="applied")
        return self


def later(history: H, ms: float) -> Group:
    assert isinstance(history, Group)
    history.after(ms)
    return history


def consumed(**settings: object) -> Group:
    """A pair that is known to its name server; t/0 was consumed from the master, and the slave has its tables."""
    return served(**settings).syncs()


def served(**settings: object) -> Group:
    """The same before the slave has its tables."""
    history = Group().config("master", namesrvAddr="n", **settings).config("slave", namesrvAddr="n", **settings)
    assert isinstance(history, Group)
    history.add("start", node="names").start("master").start("slave")
    history.registers("master").registers("slave").comes()
    return later(later(history, 1_000).serves("master"), 1_000)
