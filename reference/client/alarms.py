"""The timers of one client, under keys of its own, so that all of them can be put off at its end."""

from collections.abc import Hashable

from ..ports import Effects


class Alarms:
    """Keys given here have ``kind`` in front as the shell sees them."""

    def __init__(self, io: Effects, kind: str) -> None:
        self.io = io
        self.kind = kind
        self._armed: dict[Hashable, None] = {}

    def at(self, when: int, *key: Hashable) -> None:
        """Ring at ``when``, ns; replaces an earlier alarm of this key."""
        self._armed[key] = None
        self.io.timer((self.kind, *key), when)

    def after(self, delay_ns: int, *key: Hashable) -> None:
        self.at(self.io.now() + delay_ns, *key)

    def rang(self, *key: Hashable) -> None:
        self._armed.pop(key, None)

    def cancel(self, *key: Hashable) -> None:
        """Put one off; nothing if it is not armed."""
        if self._armed.pop(key, self) is None:
            self.io.cancel((self.kind, *key))

    def cancel_all(self) -> None:
        for key in list(self._armed):
            assert isinstance(key, tuple)
            self.cancel(*key)
