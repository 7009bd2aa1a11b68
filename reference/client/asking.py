"""One request with typed fields, which closes the connection on a timeout; and the parsing of answers.

A peer that lets such a request time out counts as gone: its connection is closed, which ends the other calls on it.
Pulls and sends do not use this: a slow one is normal. Source: NettyRemotingClient.invokeSync with
clientCloseSocketIfTimeout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ..core.calls import Calls, Done, Outcome
from ..errors import CodecError
from ..wire import beans, headers, record
from ..wire.record import Record
from .settings import SECOND

_Body = TypeVar("_Body")

ASK_TIMEOUT_NS = 3 * SECOND


def ask(
    calls: Calls, address: str, code: int, values: Mapping[str, Any], done: Done, body: bytes = b"",
    timeout_ns: int = ASK_TIMEOUT_NS,
) -> None:  # fmt: skip
    """Send a request with header ``values`` by long names; CodecError if they do not fit its header."""

    def ended(outcome: Outcome) -> None:
        if outcome.phase == "info" and outcome.status == "timeout":
            calls.close(address)
        done(outcome)

    calls.call(address, code, headers.encode_request(code, values), body, ended, timeout_ns)


def unreadable(outcome: Outcome) -> Outcome:
    """The outcome of a malformed answer: the request's effect is unknown."""
    return Outcome("info", "unreadable answer", outcome.answer)


def body_of(kind: type[_Body], outcome: Outcome) -> _Body | None:
    """The body of an ok answer as a ``kind``; None for another outcome or a malformed body."""
    if outcome.phase != "ok" or outcome.answer is None:
        return None
    try:
        return beans.decode(kind, outcome.answer.body)
    except CodecError:
        return None


def messages(body: bytes) -> list[tuple[Record, bytes]]:
    """The messages of an answer's body, each with its bytes. CodecError for anything else."""
    found, at = [], 0
    while at < len(body):
        one = record.decode(body, at)
        if not isinstance(one, Record):
            raise CodecError(f"answer has a filler at {at}, where a message should be")
        found.append((one, body[at : at + one.size]))
        at += one.size
    return found
