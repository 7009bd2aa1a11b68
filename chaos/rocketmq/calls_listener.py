"""Records a client's upkeep as events: heartbeats, unregistrations, route and group member requests, an orderly
consumer's lock requests, their results, and a broker's notice that the group has changed.

It replaces the client's calls, and parses requests and answers with its own reader.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...reference.client.consumer import Consumer
from ...reference.client.producer import Producer
from ...reference.core.calls import CALL_TIMEOUT_NS, Calls, Done, Outcome
from ...reference.ports import Conn
from ...reference.wire.remoting import Command
from ..observers.table_reader import parsed

BEAT, GOODBYE, MEMBERS, ROUTE = "beat", "goodbye", "members", "route"
LOCK, UNLOCK = "lock", "unlock"
FUNCTIONS = {34: BEAT, 35: GOODBYE, 38: MEMBERS, 41: LOCK, 42: UNLOCK, 105: ROUTE}
"""By request code."""
LOCKING = (LOCK, UNLOCK)
"""Events of type ``lock``; the others are of type ``ask``."""
CHANGED = 40
"""NOTIFY_CONSUMER_IDS_CHANGED."""
NO_ROUTE = "TOPIC_NOT_EXIST"

Tell = Callable[..., None]
"""Records an event: type, node, columns."""


class ListenedCalls(Calls):
    """The calls of one client; ``node_at`` maps an address to a node."""

    def __init__(self, client: Consumer | Producer, tell: Tell, node_at: Callable[[str], str]) -> None:
        super().__init__(client.io, self._heard)
        self.client = client
        self.add_event = tell
        self.node_at = node_at
        self._ops: Counter[str] = Counter()
        """Events so far, by type."""

    def call(
        self, address: str, code: int, fields: Mapping[str, str], body: bytes, done: Done,
        timeout_ns: int = CALL_TIMEOUT_NS,
    ) -> None:  # fmt: skip
        if code in FUNCTIONS:
            done = self._noted(FUNCTIONS[code], address, fields, body, done)
        super().call(address, code, fields, body, done, timeout_ns)

    def _noted(self, f: str, address: str, fields: Mapping[str, str], body: bytes, done: Done) -> Done:
        """Record a request; returns ``done``, which records its result before."""
        asked = _queues(body, "mqSet") or [] if f in LOCKING else None
        kind, queue = ("ask", fields.get("topic")) if asked is None else ("lock", None)
        note = partial(self.add_event, kind, self.node_at(address), **self._columns(kind, f), queue=queue)
        note(status="asked", detail=None if asked is None else json.dumps(asked))

        def ended(outcome: Outcome) -> None:
            status, detail = self._told(f, outcome) if asked is None else locked(f, outcome, asked)
            note(status=status, detail=detail)
            done(outcome)

        return ended

    def _columns(self, kind: str, f: str) -> dict[str, Any]:
        self._ops[kind] += 1
        return {"op": self._ops[kind] - 1, "f": f, "message": self.client.settings.client_id}

    def _told(self, f: str, outcome: Outcome) -> tuple[str, str | None]:
        if outcome.answer is None:
            return outcome.status, None
        try:
            if outcome.phase != "ok":
                return ("none" if f == ROUTE and outcome.status == NO_ROUTE else outcome.status), None
            if f == MEMBERS:
                found: Any = parsed(outcome.answer.body)
                return "answered", json.dumps(sorted(map(str, found["consumerIdList"])))
            return "answered", self._leads(outcome.answer.body) if f == ROUTE else None
        except (ValueError, KeyError, TypeError, AttributeError):
            return "unreadable", None

    def _leads(self, body: bytes) -> str:
        brokers: Any = parsed(body)["brokerDatas"]
        ways = {
            each["brokerName"]: {str(key): self.node_at(value) for key, value in sorted(each["brokerAddrs"].items())}
            for each in brokers
        }
        return json.dumps(ways, sort_keys=True)

    def _heard(self, conn: Conn, command: Command) -> None:
        if command.code == CHANGED and isinstance(self.client, Consumer):
            told = command.fields.get("consumerGroup") == self.client.settings.group
            line = self.by_conn.get(conn)
            if told and line is not None:
                self.add_event("ask", self.node_at(line.address), status="told", **self._columns("ask", "changed"))
        self.client.on_request(conn, command)


def listen(client: Consumer | Producer, tell: Tell, node_at: Callable[[str], str]) -> None:
    """Observe a client before its start."""
    calls = ListenedCalls(client, tell, node_at)
    client.calls = client.routes.calls = calls
    if isinstance(client, Consumer):
        client.shared.calls = calls


def locked(f: str, outcome: Outcome, asked: list[str]) -> tuple[str, str]:
    """The result of a lock request, and its queues as JSON."""
    answer, held = outcome.answer, asked
    status = "failed" if outcome.phase == "fail" and answer is None else "unknown"
    if outcome.phase == "ok" and answer is not None:
        found = _queues(answer.body, "lockOKMQSet") if f == LOCK else asked
        status, held = ("unknown", asked) if found is None else ("answered", found)
    return status, json.dumps(held)


def _queues(body: bytes, key: str) -> list[str] | None:
    """The queues under ``key`` in a body; None if it is malformed."""
    try:
        found: Any = json.loads(body)
        return sorted(f"{each['topic']}/{each['queueId']}" for each in found[key])
    except (ValueError, KeyError, TypeError):
        return None
