"""The timers of one client, under its own keys, so that all can be cancelled at its end."""

from collections.abc import Hashable

from ..ports import Effects


class Alarms:
    """The shell receives the keys with ``kind`` in front."""

    def __init__(self, io: Effects, kind: str) -> None:
        self.io = io
        self.kind = kind
        self._armed: dict[Hashable, None] = {}

    def at(self, when: int, *key: Hashable) -> None:
        """Set the alarm for ``when``, ns; replaces an earlier alarm of this key."""
        self._armed[key] = None
        self.io.timer((self.kind, *key), when)

    def after(self, delay_ns: int, *key: Hashable) -> None:
        self.at(self.io.now() + delay_ns, *key)

    def fired(self, *key: Hashable) -> None:
        self._armed.pop(key, None)

    def cancel(self, *key: Hashable) -> None:
        if self._armed.pop(key, self) is None:
            self.io.cancel((self.kind, *key))

    def cancel_all(self) -> None:
        for key in list(self._armed):
            assert isinstance(key, tuple)
            self.cancel(*key)
