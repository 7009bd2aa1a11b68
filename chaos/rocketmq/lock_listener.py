"""Records an orderly consumer's lock requests (41, 42) to brokers, and their answers, as events.

It forwards calls between the consumer's locking and its calls, and parses requests and answers with its own reader. The
consumer's listener receives all other actions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from ...reference.client.consumer import Consumer
from ...reference.core.calls import CALL_TIMEOUT_NS, Calls, Done, Outcome

FUNCTIONS = {41: "lock", 42: "unlock"}
"""By request code."""


class LockListener:
    """The calls of a consumer's locking. ``add`` records an event; ``node_at`` maps an address to a broker."""

    def __init__(self, calls: Calls, client: str, add: Callable[..., None], node_at: Callable[[str], str]) -> None:
        self.calls = calls
        self.client = client
        self.add = add
        self.node_at = node_at
        self._next = 0

    def call(
        self, address: str, code: int, fields: Mapping[str, str], body: bytes, done: Done,
        timeout_ns: int = CALL_TIMEOUT_NS,
    ) -> None:  # fmt: skip
        columns = {"op": self._next, "f": FUNCTIONS[code], "message": self.client}
        self._next += 1
        asked = _queues(body, "mqSet") or []
        note = partial(self.add, "lock", self.node_at(address), **columns)
        note(status="asked", detail=json.dumps(asked))

        def ended(outcome: Outcome) -> None:
            status, queues = result(code, outcome, asked)
            note(status=status, detail=json.dumps(queues))
            done(outcome)

        self.calls.call(address, code, fields, body, ended, timeout_ns)

    def close(self, address: str) -> None:
        self.calls.close(address)


def listen(consumer: Consumer, add: Callable[..., None], node_at: Callable[[str], str]) -> None:
    """Observe the locking of a consumer before its start."""
    listener = LockListener(consumer.calls, consumer.settings.client_id, add, node_at)
    consumer.locking.shared = replace(consumer.shared, calls=cast(Calls, listener))


def result(code: int, outcome: Outcome, asked: list[str]) -> tuple[str, list[str]]:
    """A call's result, and its queues."""
    answer = outcome.answer
    if outcome.phase == "ok" and answer is not None:
        held = _queues(answer.body, "lockOKMQSet") if FUNCTIONS[code] == "lock" else asked
        return ("unknown", asked) if held is None else ("answered", held)
    return ("failed" if outcome.phase == "fail" and answer is None else "unknown"), asked


def _queues(body: bytes, key: str) -> list[str] | None:
    """The queues under ``key`` in a body; None if it is malformed."""
    try:
        found: Any = json.loads(body)
        return sorted(f"{each['topic']}/{each['queueId']}" for each in found[key])
    except (ValueError, KeyError, TypeError):
        return None
