"""The trace of a reference node's process: one line for each callback of its watcher, its writer and its reader.

Left out: everything that a peer can see, which taps and clients record; flushes of anything but the log.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii

from ...harness.history import digest
from ...reference.ports import Conn
from ...reference.shell.log import Log, LogWatcher
from ..labs.real.trace import Trace
from ..observers.remoting_tap import registered_address
from ..observers.stored_record import stored_key

KINDS = {
    "start": ("f", "lo", "hi"),
    "ready": (),
    "append": ("lo", "hi", "digest", "f", "message"),
    "commit": ("hi",),
    "flush": ("hi",),
    "dispatch": ("hi",),
    "sync": ("f", "status"),
    "persist": ("f",),
    "register": ("status", "masterAddr", "haServerAddr", "f"),
    "expire": ("lo",),
    "unreached": ("address",),
    "refused": ("peer", "hi", "value", "detail"),
    "stopping": (),
    "stopped": (),
    "failed": ("why",),
    "seen": ("kind", "fields"),
    "met": ("address", "label", "who"),
    "heard": ("who",),
    "claimed": ("who", "hi"),
    "answered": ("who", "status", "masterAddr", "haServerAddr", "registered"),
    "fetched": ("who", "table", "status"),
}
"""Columns behind time and type, with their names in events; offsets are bytes of the log, digests the history's.
``start``: recovery (normal, abnormal, empty) and the log's range after it; ``sync`` and ``persist``: a table;
``register``: the registered address last; ``refused``: the reported end, the node's own, why; ``ready``: the node
listens; ``unreached``: a failed connect to this address; ``peer``: ip:port of the other end; ``failed``: one line, as
on stderr. An observer's taps report ``seen``, ``met``, ``heard``, ``claimed`` (a slave's new log end), ``answered``
(a broker's registration) and ``fetched`` (a slave's table call left it, or was answered):
:mod:`pairproof.chaos.rocketmq.ha_listener`. For nodes without a trace, some of these come from outside: see
:mod:`pairproof.chaos.rocketmq.outside.view`.
"""


class TraceWatcher(LogWatcher):
    def __init__(self, trace: Trace, log: Log, name_servers: int) -> None:
        super().__init__(log, name_servers)
        self.trace = trace

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        key = stored_key(data) if f == "put" else None
        message = "null" if key is None else encode_basestring_ascii(key)
        self.trace.write(f'[{time.monotonic_ns()},"append",{lo},{hi},{digest(data)},"{f}",{message}]')

    def committed(self, upto: int) -> None:
        self.trace.note("commit", upto)

    def flushed(self, upto: int) -> None:
        self.trace.note("flush", upto)

    def dispatched(self, upto: int) -> None:
        self.trace.note("dispatch", upto)

    def synced(self, table: str, status: str) -> None:
        self.trace.note("sync", table, status)
        super().synced(table, status)

    def persisted(self, table: str) -> None:
        self.trace.note("persist", table)

    def registered(self, answer: Mapping[str, str] | None, asked: Mapping[str, str]) -> None:
        told = answer or {}
        status = "failed" if answer is None else "ok"
        addresses = told.get("masterAddr"), told.get("haServerAddr"), registered_address(asked)
        self.trace.note("register", status, *addresses)
        super().registered(answer, asked)

    def expired(self, lo: int) -> None:
        self.trace.note("expire", lo)
        super().expired(lo)

    def refused(self, conn: Conn, reported: int, end: int, why: str) -> None:
        self.trace.note("refused", str(conn), reported, end, why)
        super().refused(conn, reported, end, why)
