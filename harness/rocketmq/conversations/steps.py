"""A step of a conformance conversation, as data: a request, and its allowed answers.

``<topic>`` stands for the conversation's topic; for other names in such brackets, and for the readers, see
``pairproof.chaos.rocketmq.conversations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .served import DONE, NOTHING, Served

ASKS, POSTS, HEARS, CLOSES = "asks", "posts", "hears", "closes"
"""The action of a step: send a request and read the answer; send a request whose answer a later step reads; read what
has arrived on its connection since the last such step (an answer, or a message that the node sends by itself); close
its connection.
"""
TOPIC = "<topic>"


class Ask(NamedTuple):
    code: str
    fields: Mapping[str, str] = {}
    body: bytes = b""
    reads: tuple[str, ...] = ()
    """A reader of answers, by its name, and its further arguments."""
    is_padded: bool = False
    """Whether the request has a header of 256 KiB."""


class Step(NamedTuple):
    name: str
    asks: Ask
    """In a step that only reads, ``code`` is that of the earlier request, or of the node's own message; other messages
    are dropped.
    """
    served: Served | None = DONE
    """None: a step without a judged answer."""
    conn: int = 0
    """The number of its connection, which opens at its first use."""
    wait_ms: int = 0
    does: str = ASKS
    in_5: bool = True
    """Whether 5.5.0 answers so, too; the reference answers as 4.9.7."""

    @property
    def may_be_silent(self) -> bool:
        """Whether a correct node may leave this step without an answer so far, or sends nothing."""
        return self.served is not None and not self.served.statuses.isdisjoint(("UNANSWERED", NOTHING))


Conversation = Sequence[Step]


def named(steps: Conversation, topic: str) -> Conversation:
    """A conversation with this topic."""

    def put(step: Step) -> Step:
        asks = step.asks
        return step._replace(
            asks=asks._replace(
                fields={name: value.replace(TOPIC, topic) for name, value in asks.fields.items()},
                body=asks.body.replace(TOPIC.encode(), topic.encode()),
                reads=tuple(each.replace(TOPIC, topic) for each in asks.reads),
            )
        )

    return tuple(put(each) for each in steps)
