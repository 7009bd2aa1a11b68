"""What clients asked and were told, and what consumers did."""

from __future__ import annotations

from typing import Literal

from pairproof.harness.history import Event


class Call(Event):
    """A client's call, in one of its phases."""

    __slots__ = ()
    process: int
    op: int
    f: str
    """send, pull, commit (of a group's progress), query (of it), topic or group (an administrator creates or changes
    one: ``message`` is its name)."""
    node: str
    """Who was asked."""
    message: str | None
    queue: str | None
    group: str | None
    """Of a consumer."""
    value: int | None
    """Of a send: 1 waits, 0 does not; of a pull: the offset asked for; of a commit: 1 if a pull carries it."""
    queue_offset: int | None
    """Of a commit: the group's progress."""
    broker: int | None
    """The id that a consumer chose of its route."""
    detail: str | None
    """The answer's remark."""


class Invoke(Call):
    """A client began."""

    __slots__ = ()
    detail: str | None
    """Of a send, JSON: body (its digest), flag, tags; level of a delayed one, half: true of a half message. Of topic
    and group: the content."""


class Ok(Call):
    """It happened."""

    __slots__ = ()
    status: str
    queue_offset: int | None
    """Of a send its place; of a pull where to go on; of a query none where the broker knows none."""
    lo: int | None
    """Of a send where its record begins; of a pull the queue's first logical offset as answered."""
    hi: int | None
    """Of a send where its record ends; of a pull the queue's next logical offset as answered."""
    broker: int | None
    """Of a pull: the id suggested for the next one."""


class Fail(Call):
    """It did not happen."""

    __slots__ = ()
    status: str
    """The response code's name."""


class Info(Call):
    """Whether it happened is unknown."""

    __slots__ = ()
    status: str
    """timeout, disconnected; unreadable answer: one came, and ``detail`` says what is wrong with it."""


class Deliver(Event):
    """One message of a pull's answer."""

    __slots__ = ()
    process: int
    op: int
    f: Literal["pull"]
    node: str
    message: str | None
    queue: str
    queue_offset: int
    lo: int
    hi: int
    digest: int
    group: str | None


class Consumer(Event):
    """A consumer came or went."""

    __slots__ = ()
    process: int
    group: str
    status: Literal["on", "off", "lost"]
    """lost: as its process dies."""
    f: Literal["clustering", "broadcasting"]
    broker: int | None
    """The id that its user fixed, when it comes; none: it asks whom brokers suggest."""


class Assign(Event):
    """A consumer took a queue (on) or gave it up (off)."""

    __slots__ = ()
    process: int
    group: str
    node: str | None
    """The master of whose queues it is one, if not of the pair's own."""
    queue: str
    status: Literal["on", "off"]
    value: int
    """The offset that it goes on from."""


class Route(Event):
    """A client learned where its topic is."""

    __slots__ = ()
    process: int
    group: str | None
    status: Literal["found", "none"]
    detail: str | None
    """JSON: broker id to node, of the pair's broker name."""
