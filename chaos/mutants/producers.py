"""Mutants of producers that choose queues and retry, and of requests that only they send to a master."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...reference.client.producer import Producer
from ...reference.core.calls import Outcome
from ...reference.core.processors.sending import Sending
from ...reference.core.requests import Request
from ...reference.wire.bodies_client import MessageQueue
from ...reference.wire.remoting import Command
from .mutant import PRODUCER, seeded


@seeded(PRODUCER, "producer-tries", "a producer sends everything to the topic's first queue")
class TakesFirstQueue(Producer):
    def _in_turn(self, queues: Sequence[MessageQueue]) -> MessageQueue:
        return queues[0]


@seeded(PRODUCER, "producer-tries", "a producer resends a stored message if a slave or the disk was late")
class TriesStoredAgain(Producer):
    def _tried(self, send: Any, outcome: Outcome) -> None:
        late = outcome.phase == "ok" and outcome.status != "PUT_OK" and send.tries_left
        super()._tried(send, outcome) if not late else self._again(send, outcome)

    def _again(self, send: Any, outcome: Outcome) -> None:
        self._report(send, outcome)
        self._try(send)


@seeded(PRODUCER, "producer-tries", "a producer reports every send without PUT_OK as failed")
class CallsOpenFailed(Producer):
    def _end(self, send: Any, status: str, answer: Command | None) -> None:
        send.unknown = False
        super()._end(send, status, answer)


@seeded("master", "producer-tries", "stores one-way messages twice")
class StoresUnaskedTwice(Sending):
    def on_send(self, request: Request) -> None:
        super().on_send(request)
        if request.command.is_oneway:
            super().on_send(request)
