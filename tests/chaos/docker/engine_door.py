"""A way to the real engine that a test can shut: the engine is gone then, or silent, for whoever came by it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from pairproof.chaos.labs.docker.connection import Connection

PIECE = 1 << 16


class EngineDoor:
    """A unix socket at ``path`` that anybody may use and that leads to the engine. ``opens`` again after ``shut``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.host = f"unix://{path}"
        found = Connection()
        found.close()
        self._engine = found.where.removeprefix("unix://")
        self._go_on = threading.Event()
        self._all: list[socket.socket] = []

    def __enter__(self) -> Self:
        self.opens()
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()

    def opens(self) -> None:
        """The engine can be reached."""
        self._go_on.set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self.path.chmod(0o666)
        self._listener.listen()
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def shut(self) -> None:
        """The engine is gone, as if it had been killed: connections end, and nobody listens. Nothing if it is."""
        if not self.path.exists():
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.path.unlink()
        for each in self._all:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._all.clear()
        self._go_on.set()

    def hang(self) -> None:
        """The engine takes questions and answers none."""
        self._go_on.clear()

    def goes_on(self) -> None:
        """It answers again."""
        self._go_on.set()

    def _serve(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._engine)
                self._all += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(PIECE):
                self._go_on.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
