"""Errors of the reference: conditions that stop a node. Errors that a peer causes are answered, not raised."""

EXIT_USAGE = 2
"""Exit status: the process cannot start (settings, a taken port or lock)."""
EXIT_FAILED = 4
"""Exit status: the process cannot continue."""
EXIT_REFUSED = 5
"""Exit status: the process refuses its store; see :class:`StoreRefused`."""


class BrokerError(Exception):
    """Base of the reference's errors."""


class ConfigError(BrokerError):
    """An unusable broker configuration; the message names the key and the remedy."""


class CodecError(BrokerError):
    """Malformed bytes; the message says where and why."""


class StoreError(BrokerError):
    """A store cannot be opened, or a write fails."""


class StoreRefused(StoreError):
    """A broker refuses to start on a store because starting could destroy data; the message names the remedy.

    Raised only at a start, before a byte of the store has changed.
    """


class StoreFull(StoreError):
    """The disk has no room for another file."""


def exit_code(why: BrokerError) -> int:
    """The exit status of a process that cannot start for this reason."""
    return EXIT_REFUSED if isinstance(why, StoreRefused) else EXIT_USAGE
