"""Histories of a consumer that subscribes by tag."""

from histories.builder import G, Q, Story
from histories.consumers import consuming
from pairproof.harness.texts.content import content

CODED = ("a", "", "paidBB", "paidAa")
"""Of the messages m0, m1, ... of queue Q; the last two have one hash."""
BY_TAG = "paidAa || a"


def stored(history: Story) -> Story:
    for number, tag in enumerate(CODED):
        history.store(f"m{number}", detail=content(b"x", tag, 0))
    return history


def subscribing(tags: str = BY_TAG) -> Story:
    """A consumer of G that subscribes to these tags holds Q from 0 on."""
    return stored(consuming()).come(tags=tags).take(None)


def pulled(history: Story, *messages: str, at: int = 0, to: int = 4, **more: str) -> Story:
    """A pull whose answer brought these to the application; it is recorded when they have come."""
    op = asked(history, at)
    for message in messages:
        history.deliver(message, op)
    return answered(history, op, at, to, **more)


def asked(history: Story, at: int = 0) -> int:
    """A pull begins; its number."""
    op = history.ops
    history.call(1, "pull", "master", phase="", value=at, detail=history.wanted[1])
    return op


def answered(history: Story, op: int, at: int = 0, to: int = 4, **more: str) -> Story:
    known = {"node": "master", "process": 1, "op": op, "f": "pull", "queue": Q, "group": G, "status": "PUT_OK"}
    history.add("ok", **{**known, "value": at, "queue_offset": to, **more})
    return history
