"""Ports of a sans-IO node: its effects, its disk, and its events.

A node acts only through :class:`Effects` and :class:`Disk`; a shell (simulated, or asyncio with real sockets and files)
implements both and calls the node back. The reference has no other clock, socket, thread or randomness.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Protocol

MS = 1_000_000
"""A millisecond, in the unit of :meth:`Effects.now` and timers."""

Conn = Any
"""An open connection of the shell: hashable, compared by identity."""


class File(Protocol):
    """One fixed-size, memory-mapped file: a write is visible at once, a flush makes it durable."""

    size: int

    def read(self, at: int, length: int) -> bytes:
        """``length`` bytes from ``at``; both within the file."""

    def write(self, at: int, data: bytes) -> None:
        """Write ``data`` at ``at``; all of it within the file.

        StoreFull, with nothing written, without disk room. For the commit log only at the first write to a file that
        RocketMQ created, since ours are allocated at creation. Writing zeros where nothing was written always succeeds.
        """


class Disk(Protocol):
    """A node's store directory. Names are relative paths with ``/``."""

    def names(self, folder: str) -> list[str]:
        """Sorted names of the files in ``folder``, without the folder."""

    def folders(self, folder: str) -> list[str]:
        """Sorted names of the folders in ``folder`` that hold any file, without the folder."""

    def open(self, name: str, size: int) -> File:
        """Open the file; a new one has ``size`` zero bytes.

        StoreRefused if it has another size, StoreFull without room.
        """

    def delete(self, name: str) -> None:
        """Remove the file, if it exists."""

    def sync(self, name: str) -> None:
        """Make the file durable before returning. For recovery, retention and clean stops only: it may block."""


class WholeFiles(Protocol):
    """Small files, read and written as a whole: the config folder.

    Each call is atomic for running and killed processes: a reader finds the old file or the new one, except that an
    interrupted ``write_whole`` leaves any part of its data. A machine crash may remove, from the end, bytes that no
    flush or sync made durable; a renamed file retains its durable bytes.
    """

    def write_whole(self, name: str, data: bytes) -> None:
        """Create or replace the file. StoreFull without room; then the old content may be gone."""

    def read_whole(self, name: str) -> bytes | None:
        """The file's content; None without a file."""

    def rename(self, old: str, new: str) -> None:
        """Rename the file, replacing any other; nothing if ``old`` does not exist."""


class Store(Disk, WholeFiles, Protocol):
    """Both kinds of files, in one store directory."""


class Effects(Protocol):
    @property
    def disk(self) -> Store:
        """The node's store."""

    def now(self) -> int:
        """Monotonic time, ns."""

    def wall_ms(self) -> int:
        """Wall clock, ms since the epoch: for timestamps in messages only."""

    def connect(self, address: str) -> None:
        """Start to connect; ``on_connected`` or ``on_connect_failed`` follows."""

    def send(self, conn: Conn, data: bytes) -> int:
        """Send up to ``len(data)`` bytes as a non-blocking socket does; returns the number taken.

        If that is less, ``on_writable`` follows when there is room.
        """

    def peer(self, conn: Conn) -> Hashable:
        """The identity of the remote end, such as its address, to recognise two connections of one peer.

        A shell without that information (behind a proxy, say) returns ``conn``.
        """

    def address(self, conn: Conn) -> tuple[str, int]:
        """IPv4 address and port of the remote end, for a message's born host."""

    def close(self, conn: Conn) -> None:
        """Close the connection; no ``on_closed`` follows."""

    def timer(self, key: Hashable, at: int) -> None:
        """Call ``on_timer(key)`` at ``at`` ns, or now if that is past. Replaces an earlier timer of this key."""

    def cancel(self, key: Hashable) -> None:
        """Cancel the timer, if there is one."""

    def runs(self, thread: Hashable) -> bool:
        """Whether this background thread of the node runs now; if not, ``on_timer(thread)`` follows when it does."""

    def flush(self, names: list[str], token: Hashable) -> None:
        """Make everything written to these files so far durable; ``on_flushed(token)`` follows."""


class Watcher:
    """Observes a node: evidence, never part of the protocol. By default it records nothing."""

    def dispatched(self, upto: int) -> None:
        """Queues and index hold every whole message of the log up to ``upto``."""

    def synced(self, table: str, status: str) -> None:
        """A slave's sync of its master's ``table`` (topics, offsets, delays, groups): asked, same, applied, failed."""

    def persisted(self, table: str) -> None:
        """A table was written to its file."""

    def registered(self, answer: Mapping[str, str] | None, asked: Mapping[str, str]) -> None:
        """A name server's answer to a registration: ``masterAddr`` and ``haServerAddr`` if set; None: no answer.

        ``asked``: the registration's own fields.
        """

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        """``data`` is now the log's [lo, hi); ``f``: put, filler or replicate."""

    def committed(self, upto: int) -> None:
        """The log is in the page cache up to ``upto``; called only with a transient store pool."""

    def flushed(self, upto: int) -> None:
        """The log is durable up to ``upto``."""

    def expired(self, lo: int) -> None:
        """The oldest files are deleted: the log starts at ``lo``."""

    def misfits(self, why: str) -> None:
        """This slave has stopped copying: its files have another size than the master's, as ``why`` explains."""

    def refused(self, conn: Conn, reported: int, end: int, why: str) -> None:
        """The master refuses this peer: its first report is outside [log start, log end], or it lags behind the log's
        start.
        """


class Node:
    """Events of a node. ``port`` is the listening port of an accepted connection: ``main``, ``fast`` (as ``main``,
    without pulls) or ``ha``. By default an event has no effect.
    """

    def on_start(self) -> None: ...
    def on_stop(self) -> None: ...
    def on_accepted(self, conn: Conn, port: str) -> None: ...
    def on_connected(self, address: str, conn: Conn) -> None: ...
    def on_connect_failed(self, address: str) -> None: ...
    def on_bytes(self, conn: Conn, data: bytes) -> None: ...
    def on_writable(self, conn: Conn) -> None: ...
    def on_closed(self, conn: Conn) -> None: ...
    def on_timer(self, key: Hashable) -> None: ...
    def on_flushed(self, token: Hashable) -> None: ...
