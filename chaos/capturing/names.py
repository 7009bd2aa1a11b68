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
from ..plan import Address
from .forwarders import LENGTH, MAX_FRAME

KEY = "haServerAddr"
JSON_HEADER = 0
SIZE_BITS = 24
"""The bits of a header's length; the byte above has the header's encoding."""

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


class Answers:
    """Bytes of a name server, changed for the slave. Holds at most one frame between feeds."""

    def __init__(self, address: str, named: Named) -> None:
        self.address = address
        self.named = named
        self._held = bytearray()
        self._is_read = True

    def feed(self, data: bytes) -> bytes:
        held, heard = self._held, bytearray()
        held += data
        while self._is_read and len(held) >= LENGTH:
            end = LENGTH + int.from_bytes(held[:LENGTH], "big")
            if not 2 * LENGTH <= end <= MAX_FRAME:
                self._is_read = False
            elif len(held) < end:
                return bytes(heard)
            else:
                heard += self._frame(bytes(held[LENGTH:end]))
                del held[:end]
        if not self._is_read:
            heard += held
            held.clear()
        return bytes(heard)

    def _frame(self, frame: bytes) -> bytes:
        mixed = int.from_bytes(frame[:LENGTH], "big")
        end = LENGTH + (mixed & (1 << SIZE_BITS) - 1)
        head, body = frame[LENGTH:end], frame[end:]
        if KEY.encode() in head:
            head = self._named(head, mixed >> SIZE_BITS)
        length = (LENGTH + len(head) + len(body)).to_bytes(LENGTH, "big")
        return length + (mixed >> SIZE_BITS << SIZE_BITS | len(head)).to_bytes(LENGTH, "big") + head + body

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
