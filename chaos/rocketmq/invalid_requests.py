"""Sends invalid requests, and bytes that are not a frame, at a trial's end.

After the questions about its log, each broker and simulated name server receives :data:`MOST` of them, drawn by the
trial's seed. They must change nothing. ``pairproof.harness.rocketmq.invalid_requests`` has the requests and allowed
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from ...harness.rocketmq.invalid_requests import ILLEGAL_FOR_BROKERS, OF_BROKERS, Invalid
from ..observers.remoting_codes import Request
from .frames import Form

MOST = 3
SHOWN = 120
"""Longest recorded remark, in characters."""


def code_of(sent: Invalid) -> int:
    """An unknown number is its own code."""
    code = sent.asks.code
    return int(code) if code.isdecimal() else Request[code]


def framed(sent: Invalid, form: Form, number: int) -> bytes:
    """A request as bytes."""
    return sent.frame or form(code_of(sent), number, sent.asks.fields, sent.asks.body)


def chosen(
    seed: str,
    node: str,
    requests: Sequence[Invalid] = OF_BROKERS,
    illegal: Sequence[Invalid] = ILLEGAL_FOR_BROKERS,
) -> list[Invalid]:
    """This node's requests at the end of this trial: some of these, and one with an illegal field."""
    dice = Random(f"{seed}/invalid/{node}")
    return [*dice.sample(requests, MOST), dice.choice(illegal)]


def record(
    add: Callable[..., None], now: int, node: str, incarnation: int, sent: Invalid, status: str, remark: str | None
) -> None:
    """Record an answer."""
    add(now, "invalid", node, incarnation, f=sent.name, status=status, detail=remark[:SHOWN] if remark else None)
