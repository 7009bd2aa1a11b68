"""Histories of a pair with a name server: registrations, syncs, tables, and what clients do about them."""

from histories.builder import Story

VERSION = (2, 50)
FULL: dict[str, object] = {"T": {"q": 8}}
OFFSETS: dict[str, object] = {"T@G": {"0": 5}}


def named(version: str = "4.9.7", **settings: object) -> Story:
    """A master and a slave that know a name server, both up; the slave has learned of its master."""
    history = unknown(version, **settings)
    return history.register()


def unknown(version: str = "4.9.7", **settings: object) -> Story:
    """The same, before the name server has answered."""
    history = Story()
    history.config("master", namesrvAddr="names", rocketmqVersion=version)
    history.config("slave", namesrvAddr="names", **{"rocketmqVersion": version, **settings})
    history.start("master").start("slave")
    return history


def used() -> Story:
    """The master has topic T and group G, and the slave has synced both."""
    history = named().after(1_000).client("send", status="PUT_OK").client("pull", status="PUT_OK", group="G")
    return history.after(2_000).round(topics="applied", groups="applied")


def pulled(history: Story, status: str, group: str | None = "G", queue: str = "T/0") -> Story:
    phase = "ok" if status == "PUT_OK" else "fail"
    return history.client("pull", "slave", phase, status, queue=queue, group=group)


def refused() -> Story:
    """The connection could not be made: nothing was asked."""
    history = named().after(3_000)
    for f in ("topics", "offsets", "delays", "groups"):
        history.after(3_000).add("sync", node="slave", f=f, status="failed")
    return history
