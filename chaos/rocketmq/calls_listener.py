"""Records a client's upkeep as events: heartbeats, unregistrations, route and group member requests, their results, and
a broker's notice that the group has changed.

It replaces the client's calls, and parses requests and answers with its own reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ...reference.client.consumer import Consumer
from ...reference.client.producer import Producer
from ...reference.core.calls import CALL_TIMEOUT_NS, Calls, Done, Outcome
from ...reference.ports import Conn
from ...reference.wire.remoting import Command
from ..observers.table_reader import parsed

BEAT, GOODBYE, MEMBERS, ROUTE = "beat", "goodbye", "members", "route"
FUNCTIONS = {34: BEAT, 35: GOODBYE, 38: MEMBERS, 105: ROUTE}
"""By request code."""
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
        self._next = 0

    def call(
        self, address: str, code: int, fields: Mapping[str, str], body: bytes, done: Done,
        timeout_ns: int = CALL_TIMEOUT_NS,
    ) -> None:  # fmt: skip
        f = FUNCTIONS.get(code)
        if f is None:
            super().call(address, code, fields, body, done, timeout_ns)
            return
        op, self._next = self._next, self._next + 1
        columns = {"op": op, "f": f, "message": self.client.settings.client_id, "queue": fields.get("topic")}
        node = self.node_at(address)
        self.add_event("ask", node, status="asked", **columns)

        def ended(outcome: Outcome) -> None:
            status, detail = self._told(f, outcome)
            self.add_event("ask", node, status=status, detail=detail, **columns)
            done(outcome)

        super().call(address, code, fields, body, ended, timeout_ns)

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
                columns = {"op": self._next, "f": "changed", "message": self.client.settings.client_id}
                self._next += 1
                self.add_event("ask", self.node_at(line.address), status="told", **columns)
        self.client.on_request(conn, command)


def listen(client: Consumer | Producer, tell: Tell, node_at: Callable[[str], str]) -> None:
    """Observe a client before its start."""
    calls = ListenedCalls(client, tell, node_at)
    client.calls = client.routes.calls = calls
    if isinstance(client, Consumer):
        client.shared.calls = calls
