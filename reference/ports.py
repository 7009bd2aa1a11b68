"""What a sans-IO node may do, and what it is told.

A node acts only through :class:`Effects` and :class:`Disk`; a shell (simulated, or asyncio with real sockets and
files) implements both and calls the node back. No clock, socket, thread or dice anywhere else in the reference.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Protocol

MS = 1_000_000
"""A millisecond: :meth:`Effects.now` and timers count ns."""

Conn = Any
"""An open connection, as the shell knows it: hashable, compared by identity."""


class File(Protocol):
    """One fixed-size, memory-mapped file: a write is visible at once, a flush makes it durable."""

    size: int

    def read(self, at: int, length: int) -> bytes:
        """``length`` bytes from ``at``; both within the file."""

    def write(self, at: int, data: bytes) -> None:
        """Write ``data`` at ``at``; all of it within the file.

        StoreFull, and nothing is written, if the disk has no room: of the commit log only with the first write to a
        file that RocketMQ made, since ours have theirs from the start. Zeros where nothing was ever written always
        succeed.
        """


class Disk(Protocol):
    """A node's store directory. Names are relative paths with ``/``."""

    def names(self, folder: str) -> list[str]:
        """Names of the files in ``folder``, sorted, without the folder."""

    def folders(self, folder: str) -> list[str]:
        """Names of the folders in ``folder`` that hold any file, sorted, without the folder itself."""

    def open(self, name: str, size: int) -> File:
        """Open the file, zero-filled at ``size`` bytes if it is new.

        Raises StoreRefused if it has another size, StoreFull if there is no room.
        """

    def delete(self, name: str) -> None:
        """Remove the file; nothing if it is not there."""

    def sync(self, name: str) -> None:
        """Make the file durable before returning. For recovery, retention and clean stops only: it may block."""


class WholeFiles(Protocol):
    """Small files that are written and read as a whole: the config folder.

    Each call is atomic for every process that runs, and for one that is killed: a reader finds the old file or the
    new one, except that a ``write_whole`` that was cut short leaves any part of its data. A machine crash may take,
    from the end, bytes that no flush or sync has made durable; a renamed file keeps what was durable of it.
    """

    def write_whole(self, name: str, data: bytes) -> None:
        """Create or replace the file. StoreFull if there is no room; then what was there may be gone."""

    def read_whole(self, name: str) -> bytes | None:
        """All of the file; None if it is not there."""

    def rename(self, old: str, new: str) -> None:
        """Give the file another name, in place of any that has it; nothing if ``old`` is not there."""


class Store(Disk, WholeFiles, Protocol):
    """Both kinds of files, in one store directory."""


class Effects(Protocol):
    """What a node may do to the world."""

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
        """Hand over up to ``len(data)`` bytes as a non-blocking socket does; how many were taken.

        If not all: ``on_writable`` follows when there is room again.
        """

    def peer(self, conn: Conn) -> Hashable:
        """Who is at the other end, such as its address: compared only, so that two connections of one are known.

        A shell that cannot tell (behind a proxy, say) returns ``conn`` itself.
        """

    def address(self, conn: Conn) -> tuple[str, int]:
        """IPv4 address and port of the other end: what a message's born host says."""

    def close(self, conn: Conn) -> None:
        """Close it; no ``on_closed`` follows for a close of one's own."""

    def timer(self, key: Hashable, at: int) -> None:
        """Call ``on_timer(key)`` at ``at`` ns (or now, if that is past). Replaces an earlier timer of this key."""

    def cancel(self, key: Hashable) -> None:
        """Forget the timer; nothing if there is none."""

    def runs(self, thread: Hashable) -> bool:
        """Whether this background thread of the node runs now; if not, ``on_timer(thread)`` follows when it does."""

    def flush(self, names: list[str], token: Hashable) -> None:
        """Make what was written to these files until now durable; ``on_flushed(token)`` follows."""


class Watcher(Protocol):
    """Hears what happens inside a node: evidence, never part of the protocol."""

    def dispatched(self, upto: int) -> None:
        """Queues and index hold every whole message of the log up to ``upto``."""

    def synced(self, table: str, status: str) -> None:
        """A slave and its master's ``table`` (topics, offsets, delays, groups): asked, same, applied or failed."""

    def persisted(self, table: str) -> None:
        """A table was written to its file."""

    def registered(self, answer: Mapping[str, str] | None) -> None:
        """A name server answered a registration: ``masterAddr`` and ``haServerAddr``, if it has them; or it did not."""

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        """``data`` is now the log's [lo, hi); ``f``: put, filler or replicate."""

    def flushed(self, upto: int) -> None:
        """The log is durable up to ``upto``."""

    def expired(self, lo: int) -> None:
        """The oldest files are gone: the log starts at ``lo`` now."""

    def misfits(self, why: str) -> None:
        """This slave has stopped copying: its files have another size than the master's, as ``why`` says."""

    def refused(self, conn: Conn, reported: int, end: int, why: str) -> None:
        """The master will not serve this peer: its first report is outside [log start, log end], or it lags behind
        the log's start.
        """


class Node(Protocol):
    """What a shell tells a node. ``port`` is the listening port that a connection came in on: ``main``, ``fast`` (what
    ``main`` serves but pulls) or ``ha``.
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
