"""One request with typed fields, whose connection does not outlive its silence; and what answers hold.

A peer that lets such a request time out is taken for gone: its connection is closed, and with it end the other calls on
it. Pulls and sends do not go this way: a slow one says nothing about the peer. Source: NettyRemotingClient.invokeSync
with clientCloseSocketIfTimeout.
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
    """Ask with header ``values`` by long names; CodecError if they do not fit the request's header."""

    def ended(outcome: Outcome) -> None:
        if outcome.phase == "info" and outcome.status == "timeout":
            calls.close(address)
        done(outcome)

    calls.call(address, code, headers.encode_request(code, values), body, ended, timeout_ns)


def unreadable(outcome: Outcome) -> Outcome:
    """The outcome of an answer that came and cannot be read: nobody knows what the peer did."""
    return Outcome("info", "unreadable answer", outcome.answer)


def body_of(kind: type[_Body], outcome: Outcome) -> _Body | None:
    """The body of an ok, a ``kind``; None if the call did not end so, or it is no such body."""
    if outcome.phase != "ok" or outcome.answer is None:
        return None
    try:
        return beans.decode(kind, outcome.answer.body)
    except CodecError:
        return None


def messages(body: bytes) -> list[tuple[Record, bytes]]:
    """The messages of an answer's body, one behind the other, each with its bytes. CodecError for anything else."""
    found, at = [], 0
    while at < len(body):
        one = record.decode(body, at)
        if not isinstance(one, Record):
            raise CodecError(f"answer has a filler at {at}, where a message should be")
        found.append((one, body[at : at + one.size]))
        at += one.size
    return found
