"""The reference's own errors: what cannot go on. What a peer may do to us is answered, not raised."""

from __future__ import annotations

EXIT_USAGE = 2
"""Of a node's process that cannot start: settings, or a store that it refuses."""
EXIT_FAILED = 4
"""Of one that cannot go on."""


class BrokerError(Exception):
    """Base of the reference's errors."""


class ConfigError(BrokerError):
    """A broker configuration that cannot be used; the message names the key and the remedy."""


class CodecError(BrokerError):
    """Bytes that are not what they should be; the message says where and why."""


class StoreError(BrokerError):
    """A store that cannot be opened, or a write that cannot be made."""


class StoreFull(StoreError):
    """The disk has no room for another file."""
