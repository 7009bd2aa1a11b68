"""A tap between the slave and its name server, which reports the HA tap as the master's HA address.

A slave of RocketMQ 5 ignores ``haMasterAddress`` and takes the address from the answers to its registrations; a slave
of RocketMQ 4 does so if that key is not set. All other bytes pass unchanged, even if they are not RocketMQ's frames
(TLS), and are not recorded. Source: RegisterBrokerResponseHeader, BrokerController.handleRegisterBrokerResult.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..labs.real.taps import StraightDoor
from ..labs.real.wires import Forwarder, Wire
from ..observers.changed_frames import JSON_HEADER, ChangedFrames
from ..plan import Address

KEY = "haServerAddr"

Named = Callable[[str | None], None]
"""Called with the address in the name server's answer; None if its answer cannot be changed."""


class NamesDoor(StraightDoor):
    def __init__(self, address: Address, to: Address, ha: Address, named: Named, unreached: Callable[[OSError], None]):
        super().__init__(address, to, Forwarder, unreached, patience_s=None)
        self.ha = ha
        self.named = named

    def far(self, said: Callable[[bytes], None]) -> Wire:
        return NamesWire(said, Answers(str(self.ha), self.named))


class NamesWire(Wire):
    def __init__(self, said: Callable[[bytes], None], answers: Answers) -> None:
        super().__init__(said, patience_s=None)
        self.answers = answers

    def data_received(self, data: bytes) -> None:
        super().data_received(self.answers.feed(data))


class Answers(ChangedFrames):
    """Bytes of a name server, changed for the slave."""

    def __init__(self, address: str, named: Named) -> None:
        super().__init__(lambda head, body, form: (self._named(head, form) if KEY.encode() in head else head, body))
        self.address = address
        self.named = named

    def _named(self, head: bytes, form: int) -> bytes:
        try:
            header: Any = json.loads(head) if form == JSON_HEADER else None
            real = header["extFields"][KEY]
        except (ValueError, KeyError, TypeError, RecursionError):
            self.named(None)
            return head
        if not real:
            return head
        self.named(str(real))
        header["extFields"][KEY] = self.address
        return json.dumps(header, separators=(",", ":")).encode()
