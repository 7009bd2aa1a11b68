"""A step of a visit, as data: what is asked, and what may come back.

``<topic>`` stands for the topic that a visit makes; for other names in such brackets, and for the readers, see
``pairproof.chaos.rocketmq.conversations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .served import DONE, NOTHING, Served

ASKS, POSTS, HEARS, CLOSES = "asks", "posts", "hears", "closes"
"""What a step does: ask, and read the answer; ask, and leave the answer to a later step that hears; hear what came over
its connection since the last step that heard, an answer or what the node sends by itself; close its connection."""
TOPIC = "<topic>"


class Ask(NamedTuple):
    """One request."""

    code: str
    fields: Mapping[str, str] = {}
    body: bytes = b""
    reads: tuple[str, ...] = ()
    """A reader of answers, by its name, and its further arguments."""
    is_padded: bool = False
    """Whether it is asked with a header of 256 KiB."""


class Step(NamedTuple):
    """One step of a visit: its name, what is asked, and what may come back."""

    name: str
    asks: Ask
    """Of a step that hears, ``code`` is that of the request for whose answer it looks, or that the node sends; the rest
    of what came is dropped."""
    served: Served | None = DONE
    """None: a step that posts or closes, which nobody judges."""
    conn: int = 0
    """Which of the visitor's connections it is for. Each opens when it is first used."""
    wait_ms: int = 0
    """How much time passes before it."""
    does: str = ASKS
    in_5: bool = True
    """Whether 5.5.0 answers so, too; the reference answers as 4.9.7."""

    @property
    def may_be_silent(self) -> bool:
        """Whether a correct node may leave this step without an answer for now, or sends nothing by then."""
        return self.served is not None and not self.served.statuses.isdisjoint(("UNANSWERED", NOTHING))


Conversation = Sequence[Step]


def named(steps: Conversation, topic: str) -> Conversation:
    """A visit that makes this topic."""

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
