"""Hears what an orderly consumer asks brokers about queue locks (41, 42), and what they answer, as events.

It stands between the consumer's locking and its calls, which go on to where they went, and reads requests and answers
with a reader of its own. Everything else that a consumer does, it tells its listener itself.
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
    """The calls of a consumer's locking. ``tell`` records an event; ``node_at`` names the broker behind an address."""

    def __init__(self, calls: Calls, client: str, tell: Callable[..., None], node_at: Callable[[str], str]) -> None:
        self.calls = calls
        self.client = client
        self.tell = tell
        self.node_at = node_at
        self._next = 0

    def call(
        self, address: str, code: int, fields: Mapping[str, str], body: bytes, done: Done,
        timeout_ns: int = CALL_TIMEOUT_NS,
    ) -> None:  # fmt: skip
        """See :meth:`pairproof.reference.core.calls.Calls.call`."""
        columns = {"op": self._next, "f": FUNCTIONS[code], "message": self.client}
        self._next += 1
        asked = _queues(body, "mqSet") or []
        note = partial(self.tell, "lock", self.node_at(address), **columns)
        note(status="asked", detail=json.dumps(asked))

        def ended(outcome: Outcome) -> None:
            status, queues = told(code, outcome, asked)
            note(status=status, detail=json.dumps(queues))
            done(outcome)

        self.calls.call(address, code, fields, body, ended, timeout_ns)

    def close(self, address: str) -> None:
        self.calls.close(address)


def listen(consumer: Consumer, tell: Callable[..., None], node_at: Callable[[str], str]) -> None:
    """Hear the locking of a consumer that has not been started yet."""
    listener = LockListener(consumer.calls, consumer.settings.client_id, tell, node_at)
    consumer.locking.shared = replace(consumer.shared, calls=cast(Calls, listener))


def told(code: int, outcome: Outcome, asked: list[str]) -> tuple[str, list[str]]:
    """How a call ended, and the queues concerned."""
    answer = outcome.answer
    if outcome.phase == "ok" and answer is not None:
        held = _queues(answer.body, "lockOKMQSet") if FUNCTIONS[code] == "lock" else asked
        return ("unknown", asked) if held is None else ("answered", held)
    return ("failed" if outcome.phase == "fail" and answer is None else "unknown"), asked


def _queues(body: bytes, key: str) -> list[str] | None:
    """The queues that a body names under ``key``; None if it is no such body."""
    try:
        found: Any = json.loads(body)
        return sorted(f"{each['topic']}/{each['queueId']}" for each in found[key])
    except (ValueError, KeyError, TypeError):
        return None
