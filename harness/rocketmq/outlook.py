"""The promises of a pair of broker files, and the possible losses by fault: computed, nothing is played.

The column *can be lost* applies the durability contract (:mod:`.contract`) to a send that waited and was answered
PUT_OK. :data:`MEASURED` adds the losses of RocketMQ 4.9.7 in decision 43. The other columns are the model: the
reference's behaviour, and the guides and decision 43 about routes and answers. Each cell names its source.

Left out: controller mode and DLedger, which the reader of files refuses; sends that do not wait; several faults at
once, except of both brokers. A transient store pool makes a kill a power loss, unless sends wait for a slave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from .contract import MAY_VANISH, PROMOTED, PUT_OK, WIPE, fault_class, must
from .settings import (
    COMMIT_INTERVAL,
    COMMIT_THOROUGH,
    DEFAULTS,
    HOUSEKEEPING,
    POOL,
    Settings,
    has_pool,
    is_on,
    line,
    promised_slaves,
    refuses_reads,
)
from .topology import MASTER, SLAVES

SLAVE, BOTH, LINK = SLAVES[0], "both", "link"
CONTRACT, MODEL, MEASURED_AT = "contract", "model", "measured"
KILL, POWER, WIPED, PROMOTION = "kill", "power loss", "disk lost or wiped", "promotion"
FULL, READ_ONLY, PARTITION = "full disk", "read-only disk", "partition"
FAILED_FLUSH = "failed-flush-acknowledged"
AHEAD = ("first-report-believed", "reports-unchecked")
"""Known deviations that count a slave as in sync although it is ahead of its master."""
MEASURED_VERSION = "4.9.7"
MODES = [(role, flush) for role in ("ASYNC_MASTER", "SYNC_MASTER") for flush in ("ASYNC_FLUSH", "SYNC_FLUSH")]
MEASURED: Mapping[tuple[str, str], tuple[tuple[int, int, int], ...]] = {
    (KILL, MASTER): ((84, 0, 0), (83, 0, 0), (64, 0, 0), (64, 0, 0)),
    (POWER, MASTER): ((84, 9, 0), (84, 0, 0), (64, 0, 0), (64, 0, 0)),
    (WIPED, MASTER): ((84, 20, 43), (84, 21, 42), (64, 0, 43), (64, 0, 43)),
    (WIPED, SLAVE): ((84, 0, 0), (84, 0, 0), (64, 0, 0), (64, 0, 0)),
    (PROMOTION, SLAVE): ((83, 20, 0), (84, 21, 0), (64, 0, 0), (64, 0, 0)),
}
"""By fault and broker, for each of :data:`MODES`: PUT_OK, lost, on the slave only. Source: 4.9.7's figures in decision
43; its slave lacked 20 messages at the fault.
"""


CLASSES = (
    (POWER, MASTER), (POWER, BOTH), (PROMOTION, SLAVE), (WIPED, MASTER), (READ_ONLY, MASTER), (KILL, MASTER),
    (KILL, BOTH), (PARTITION, LINK), (FULL, MASTER), (PARTITION, MASTER), (READ_ONLY, BOTH), (FULL, BOTH),
    (POWER, SLAVE), (WIPED, SLAVE), (KILL, SLAVE), (READ_ONLY, SLAVE), (FULL, SLAVE), (WIPED, BOTH),
)  # fmt: skip
IDLE = ("allAckInSyncStateSet", "enableAutoInSyncReplicas", "minInSyncReplicas")
ACTING = "enableSlaveActingMaster"
"""Without this or controller mode CommitLog ignores all of :data:`IDLE`."""


class Cell(NamedTuple):
    says: str
    source: str


class Row(NamedTuple):
    fault: str
    of: str
    lost: Cell
    """Messages that were answered PUT_OK and that no broker has at the end."""
    single: Cell
    """Messages that only one broker has."""
    unavailable: Cell


class Pair(NamedTuple):
    master: Settings
    slave: Settings

    @property
    def role(self) -> str:
        return str(self.master.get("brokerRole", "ASYNC_MASTER"))

    @property
    def flush(self) -> str:
        return str(self.master.get("flushDiskType", "ASYNC_FLUSH"))

    @property
    def is_durable(self) -> bool:
        """Whether PUT_OK means the master's disk."""
        return self.flush == "SYNC_FLUSH"

    @property
    def copies(self) -> int:
        """How many slaves hold a message before PUT_OK."""
        return promised_slaves(self.master)

    @property
    def has_pool(self) -> bool:
        """Whether PUT_OK may mean the pool alone. A slave receives only bytes that were written out of it (MappedFile's
        read position), and a flush includes only them, so an answer that waits for one also waits for that.
        """
        return not (self.copies or self.is_durable) and has_pool(self.master)

    def number(self, key: str) -> int:
        return int(self.master.get(key, DEFAULTS[key]))

    @property
    def pooled(self) -> str:
        return f"up to {(self.number(COMMIT_INTERVAL) + self.number(COMMIT_THOROUGH)) / 1000:g} s of sends"

    @property
    def unflushed(self) -> str:
        return f"up to {self.number('flushCommitLogThoroughInterval') / 1000:g} s of sends"


def words(pair: Pair) -> list[str]:
    """The deployment, and the promise of PUT_OK, in words."""
    releases = dict.fromkeys(str(each["rocketmqVersion"]) for each in pair)
    disk = "on the master's disk" if pair.is_durable else f"in the master's memory, not on its disk ({pair.unflushed})"
    if pair.has_pool:
        disk = f"in the master process's own memory ({POOL}; {pair.pooled}), which a kill takes"
    copied = f"yes, in the memory of {pair.copies}" if pair.copies else "no; it follows, and only if one is connected"
    lines = [
        f"RocketMQ {' and '.join(releases)}: {pair.role}, {pair.flush}; its slave "
        f"{pair.slave.get('flushDiskType', 'ASYNC_FLUSH')}; "
        f"slaves waited for: {pair.copies}; reads from the slave while the master is away: "
        f"{'no' if refuses_reads(pair.slave) else 'yes'}",
        f"PUT_OK means: {disk}; on a slave too: {copied}",
    ]
    if pair.role == "SYNC_MASTER" and not pair.copies:
        lines.append("SYNC_MASTER waits for no slave while inSyncReplicas is 1, its default since 5.0")
    idle = [key for key in IDLE if key in pair.master]
    if line(pair.master).counts_replicas and idle and not is_on(pair.master, ACTING):
        lines.append(f"without controller mode and {ACTING} these change nothing: {', '.join(idle)}")
    if pair.copies:
        lines.append(f"without a slave a send is answered {''.join(_without_slave(pair))}: stored on the master only, "
                    "and Java's client raises nothing, so check SendResult.getSendStatus()")  # fmt: skip
    if pair.copies > 1:
        lines.append(f"inSyncReplicas={pair.copies + 1} needs {pair.copies} slaves; with fewer every send ends as "
                    "FLUSH_SLAVE_TIMEOUT")  # fmt: skip
    return lines


def table(pair: Pair, known: Collection[str]) -> Iterator[Row]:
    """A row for each fault. ``known``: ids of the deviations that apply to this pair."""
    for fault, of in classes():
        lost, single = _lost(pair, fault, of, known), _single(pair, fault, of, known)
        yield Row(fault, of, lost, single, _unavailable(pair, fault, of))


def classes(has_slave: bool = True) -> Iterator[tuple[str, str]]:
    """The classes of faults with their targets: the rows of this table, and of the trials that ``check`` plays and
    counts. The most informative come first, for runs that are cut off; destroying both stores comes last, since no
    setting keeps anything then. Without a slave only the master has faults.
    """
    yield from ((fault, of) for fault, of in CLASSES if has_slave or of == MASTER)


def may_lose(pair: Pair, fault: str, of: str) -> bool:
    """Whether the contract lets a fault lose a message that was answered PUT_OK."""
    # A read-only disk ends with a reboot (decision 25).
    how = {KILL: "machine" if pair.has_pool else "process", POWER: "machine", WIPED: WIPE, READ_ONLY: "machine"}
    nodes = {BOTH: (MASTER, SLAVE), LINK: ()}.get(of, (of,))
    happened = [(node, how[fault]) for node in nodes if fault in how]
    if fault == PROMOTION:
        happened = [(MASTER, PROMOTED + SLAVE)]
    copies = pair.copies
    what = fault_class(happened, copies=copies, everyone=copies == max(1, copies))
    return must(pair.role, copies + 1, pair.flush, True, PUT_OK, what) == MAY_VANISH


def _is_measured(pair: Pair) -> bool:
    return {str(each["rocketmqVersion"]) for each in pair} == {MEASURED_VERSION}


def _measured(pair: Pair, fault: str, of: str) -> tuple[int, int, int] | None:
    if not _is_measured(pair) or pair.has_pool or (fault, of) not in MEASURED:
        return None
    return MEASURED[fault, of][MODES.index((pair.role, pair.flush))]


def _lost(pair: Pair, fault: str, of: str, known: Collection[str]) -> Cell:
    if fault == READ_ONLY and of != SLAVE and FAILED_FLUSH in known and not pair.copies:
        source = MEASURED_AT if _is_measured(pair) else MODEL
        return Cell(f"messages answered PUT_OK after the disk failed ({FAILED_FLUSH})", source)
    text = "none"
    if may_lose(pair, fault, of):
        text = f"messages not on the master's disk ({pair.unflushed}){'' if of == BOTH else ' and not on the slave'}"
        if fault == KILL:
            text = f"messages that are still in the master's pool ({pair.pooled}), and so on no slave"
        elif fault == READ_ONLY:
            text = f"messages answered PUT_OK after the disk failed, or {pair.unflushed} before"
            text += "" if of == BOTH else ", and not on the slave"
        elif fault in (WIPED, PROMOTION):
            text = "all of the pair's" if of == BOTH else "messages that the slave lacks: its lag"
    found = _measured(pair, fault, of)
    return Cell(f"{text}; 4.9.7 lost {found[1]} of {found[0]}", MEASURED_AT) if found else Cell(text, CONTRACT)


def _single(pair: Pair, fault: str, of: str, known: Collection[str]) -> Cell:
    if of in (SLAVE, LINK) and fault != PROMOTION:
        older = "; a new slave gets none older than the master's last log file" if fault == WIPED else ""
        return Cell(f"messages sent during the fault: on the master only{older}", MODEL)
    if fault == PROMOTION:
        return Cell("all, until the new master has a slave", MODEL)
    lag = "none" if pair.copies else "the slave's lag: on the master only"
    ahead = next((each for each in AHEAD if each in known), "")
    later = f"; later ones may be PUT_OK on the master only ({ahead})" if ahead and pair.copies else ""
    if fault == WIPED:
        copied = f"copied messages: on the slave only; promote it, an empty master gets nothing back{later}"
        lag = "none" if of == BOTH else copied
    elif fault == POWER and not pair.is_durable and of == MASTER:
        lag = f"copied messages that the master lost: on the slave only{later}"
    elif (fault, of) == (READ_ONLY, MASTER) and pair.copies and (FAILED_FLUSH in known or not pair.is_durable):
        lag = "messages answered PUT_OK after the disk failed: on the slave only, once it restarts"
    found = _measured(pair, fault, of)
    return Cell(f"{lag}; 4.9.7: {found[2]} of {found[0]}", MEASURED_AT) if found else Cell(lag, MODEL)


def _unavailable(pair: Pair, fault: str, of: str) -> Cell:
    if fault == FULL and of != SLAVE:
        return Cell("sends, while the disk is more than 90 % full", MODEL)
    if fault == READ_ONLY and of != SLAVE:
        return Cell("sends, until it is restarted on a disk that it can write", MODEL)
    if fault == PROMOTION:
        return Cell("all sends, until the slave is promoted", MODEL)
    if of in (SLAVE, LINK):
        text = f"none; sends are answered {_without_slave(pair)[0]}" if pair.copies else "none"
        return Cell(text, MEASURED_AT if _measured(pair, fault, of) else MODEL)
    if of == BOTH or refuses_reads(pair.slave):
        return Cell("sends and reads, until the master is back", MODEL)
    # The name server detects a closed connection at once, and silence after 120 s; clients ask it every 30 s.
    soon = "30 s" if fault in (KILL, WIPED) else "3 min"
    return Cell(f"sends, until the master is back; reads, up to {soon}: then the slave serves", MODEL)


def _without_slave(pair: Pair) -> tuple[str, str]:
    """The status of sends without an available slave, and its alternatives."""
    own = line(pair.master)
    late = f"FLUSH_SLAVE_TIMEOUT after {pair.number(own.wait) / 1000:g} s"
    if own.counts_replicas:
        return late, ""
    return "SLAVE_NOT_AVAILABLE", f" ({late} until the silent link ends, {pair.number(HOUSEKEEPING) / 1000:g} s)"
