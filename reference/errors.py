"""The reference's own errors: what cannot go on. What a peer may do to us is answered, not raised."""

EXIT_USAGE = 2
"""Of a node's process that cannot start: settings, a port or a lock that is taken."""
EXIT_FAILED = 4
"""Of one that cannot go on."""
EXIT_REFUSED = 5
"""Of one that refuses its store: see :class:`StoreRefused`."""


class BrokerError(Exception):
    """Base of the reference's errors."""


class ConfigError(BrokerError):
    """A broker configuration that cannot be used; the message names the key and the remedy."""


class CodecError(BrokerError):
    """Bytes that are not what they should be; the message says where and why."""


class StoreError(BrokerError):
    """A store that cannot be opened, or a write that cannot be made."""


class StoreRefused(StoreError):
    """A store that a broker will not start on, since that could destroy what it holds; the message says what to do.

    Raised at a start only, before a byte of the store has changed.
    """


class StoreFull(StoreError):
    """The disk has no room for another file."""


def exit_code(why: BrokerError) -> int:
    """What a process that could not start for this reason exits with."""
    return EXIT_REFUSED if isinstance(why, StoreRefused) else EXIT_USAGE
