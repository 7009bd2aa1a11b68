"""Connections through a tap, and their recording: HA streams unchanged, clients' frames when complete."""

from __future__ import annotations

from ..labs.real.wires import CLIENTS, ITSELF, Forwarder
from ..observers.capture_folder import MASTER
from .recording import ClientFile, HaStream, Recording

LENGTH = 4
MAX_FRAME = 16 * 1024 * 1024
"""RocketMQ's own limit of a frame (com.rocketmq.remoting.frameMaxLength)."""
MAX_HELD = 64 * 1024 * 1024
"""Bytes of incomplete frames, over all connections of a link."""
UP, DOWN = "client-to-server", "server-to-client"


class HaConnection(Forwarder):
    def __init__(self, recording: Recording, slave: str) -> None:
        super().__init__()
        self.recording = recording
        self.slave = slave
        self.stream: HaStream | None = None

    def stand(self) -> None:
        self.stream = self.recording.begin()
        super().stand()

    def client_sent(self, data: bytes) -> None:
        super().client_sent(data)
        if self.stream is not None:
            self.stream.took("s2m", data)

    def server_sent(self, data: bytes) -> None:
        super().server_sent(data)
        if self.stream is not None:
            self.stream.took("m2s", data)

    def closed(self, side: str, how: str) -> None:
        super().closed(side, how)
        # The first of its two ends.
        stream, self.stream = self.stream, None
        if stream is not None:
            stream.close((self.slave if side == CLIENTS else MASTER) if how == ITSELF else None)


class ClientConnection(Forwarder):
    """A client's connection to the master. One without frames (TLS) is forwarded and not recorded."""

    def __init__(self, file: ClientFile) -> None:
        super().__init__()
        self.file = file
        self.number = 0
        self._parts = {UP: bytearray(), DOWN: bytearray()}
        self._is_read = True

    def stand(self) -> None:
        self.file.connections += 1
        self.number = self.file.connections
        super().stand()

    def client_sent(self, data: bytes) -> None:
        super().client_sent(data)
        self._said(UP, data)

    def server_sent(self, data: bytes) -> None:
        super().server_sent(data)
        self._said(DOWN, data)

    def closed(self, side: str, how: str) -> None:
        super().closed(side, how)
        self._forget()

    def _said(self, direction: str, data: bytes) -> None:
        if not self._is_read:
            return
        part = self._parts[direction]
        part += data
        self.file.held += len(data)
        at = 0
        while len(part) - at >= LENGTH:
            size = LENGTH + int.from_bytes(part[at : at + LENGTH], "big")
            if size > MAX_FRAME:
                self._give_up("it does not carry RocketMQ's frames")
                return
            if len(part) - at < size:
                break
            self.file.took(self.number, direction, bytes(part[at : at + size]))
            at += size
        del part[:at]
        self.file.held -= at
        if self.file.held > MAX_HELD:
            self._give_up("too many incomplete frames")

    def _give_up(self, why: str) -> None:
        self._forget()
        self.file.recording.note(f"note: client connection {self.number} is not recorded from here on: {why}")

    def _forget(self) -> None:
        self._is_read = False
        for part in self._parts.values():
            self.file.held -= len(part)
            part.clear()
