"""Histories of a pair with consumers."""

from histories.builder import HALF, Q, Story
from pairproof.harness.texts.content import content

BOTH = {"0": "master", "1": "slave"}
SLAVE_ONLY = {"1": "slave"}


def consuming(slave: dict[str, object] | None = None, **settings: object) -> Story:
    """Both nodes up; time enough has passed for their tables to be written once. ``settings`` are the master's."""
    history = Story().config("master", **settings).config("slave", **(slave or {}))
    return history.start("master").start("slave").after(20_000)


def grouped(*messages: str, slave: dict[str, object] | None = None, **settings: object) -> Story:
    """With messages stored, and a consumer of G that holds Q from 0 on."""
    history = consuming(slave, **settings)
    for message in messages:
        history.store(message)
    return history.come().take(None)


def orderly(*messages: str, f: str = "orderly") -> Story:
    """With messages stored, and a consumer of an orderly group."""
    history = consuming()
    for message in messages:
        history.store(message)
    return history.come(f=f)


def healed(*messages: str, **settings: object) -> Story:
    return grouped(*messages, **settings).mark("heal")


def ended(history: Story, ms: float = 160_000) -> Story:
    return history.after(ms).mark("converged").mark("end")


def carried(offset: int, node: str = "master") -> Story:
    return grouped("m0", "m1").pull(0, "m0", "m1").commit(offset, node, carried=True).after(2_000)


def sent_back(slave: dict[str, object] | None = None, **settings: object) -> Story:
    """A consumer has m0, which it may send back; the master's log is read."""
    history = consuming(slave, **settings).after(180_000).record(Q, content(b"", "", 0), lo=0)
    return history.store("m0").come().take(None).pull(0, "m0")


def transaction(**config: object) -> Story:
    """m0 is a half message."""
    history = consuming(**config).after(180_000).store("m0", detail=content(b"", "", 0, half=True))
    return history.record(HALF, content(b"", "", 0, real=Q), lo=0)


def joined(f: str = "clustering") -> Story:
    """A consumer that has done all that it must in its first 2 ms; then 19 s pass, in which nothing is due."""
    history = Story().config("master").config("slave").start("master").start("slave").come(f=f).route().beat()
    return (history if f == "broadcasting" else history.members()).after(19_000)


def served(**settings: object) -> Story:
    """A pair that is known to its name server; the consumer of Q was served by the master."""
    history = Story().config("master", namesrvAddr="n", **settings).config("slave", namesrvAddr="n", **settings)
    history.add("start", node="names").start("master").start("slave").register("master").register("slave")
    return history.come().assign(0).after(1_000).serve("master").after(1_000)


def consumed(**settings: object) -> Story:
    """The same, and the slave has the master's tables."""
    return served(**settings).step("topics", "applied").step("groups", "applied")
