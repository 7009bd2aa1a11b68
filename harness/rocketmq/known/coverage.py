"""The slaves that held each stored message, as far as their reports prove it.

A report has one offset: the slave's log covers everything from its *beginning* up to there, so it covers a message only
if the message lies between the two. A slave that joined without a log begins with its master's last file, and its
reports do not cover messages in older files.

Rogue peers, which store nothing, are tracked separately.

Left out: which reports are valid, and the slaves' appends, see ``known``. Source: HAConnection (the first offset of a
slave without a log), HAService.push2SlaveMaxOffset (which ignores it).
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class Put(NamedTuple):
    lo: int
    hi: int
    message: str | None


@dataclass(slots=True, eq=False)
class _Slave:
    bit: int
    begin: int = 0
    reach: int = 0
    """Its log as of its last report: [begin, reach)."""
    passed: int = 0
    """The number of puts, in the log's order, that its reports have reached."""
    missed: list[Put] = field(default_factory=list)
    """The reached puts before the beginning of its log."""


class Coverage:
    """Bounded by the messages and the slaves of one trial."""

    def __init__(self) -> None:
        self._puts: list[Put] = []
        self._covered: dict[tuple[int | None, str | None], int] = {}
        """The slaves that ever held a message, a bit each."""
        self._slaves: dict[str, _Slave] = {}
        self._rogue_peers: dict[str, int] = {}
        """The reports of rogue peers to the master's current incarnation, by connection."""
        self._rogue_peers_before: dict[str, int] = {}
        """The same of the incarnation before, whose answers may still be in flight."""

    def put(self, lo: int, hi: int, message: str | None) -> None:
        self._puts.append(Put(lo, hi, message))

    def cut(self, end: int) -> None:
        """The master's log lost the bytes above ``end``: earlier reports do not cover new bytes there."""
        puts = self._puts
        while puts and puts[-1].hi > end:
            puts.pop()
        for slave in self._slaves.values():
            slave.reach = min(slave.reach, end)
            slave.passed = min(slave.passed, len(puts))
            while slave.missed and slave.missed[-1].hi > end:
                slave.missed.pop()

    def reported(self, name: str, begin: int, reach: int) -> None:
        """A valid report of a slave: it holds [begin, reach)."""
        slave = self._slaves.get(name)
        if slave is None:
            slave = self._slaves[name] = _Slave(1 << len(self._slaves))
        if slave.begin != begin or slave.reach < reach:
            slave.begin, slave.reach = begin, reach
        puts = self._puts
        while slave.passed < len(puts) and puts[slave.passed].hi <= reach:
            put = puts[slave.passed]
            slave.passed += 1
            if put.lo >= begin:
                self._cover(put, slave)
            else:
                slave.missed.append(put)
        # The last one is the highest: most slaves begin after all of them and need no second check.
        if slave.missed and slave.missed[-1].lo >= begin:
            self._check_missed(slave, begin, reach)

    def claimed(self, label: str, reach: int) -> None:
        self._rogue_peers[label] = max(reach, self._rogue_peers.get(label, 0))

    def master_ended(self) -> None:
        self._rogue_peers_before, self._rogue_peers = self._rogue_peers, {}

    def rogue_holders(self, hi: int | None, is_current: bool) -> int:
        """Rogue peers whose reports reach ``hi``: to the master's current incarnation, or to the one before if a call
        that began earlier may have been answered by either.
        """
        claims = (self._rogue_peers,) if is_current else (self._rogue_peers, self._rogue_peers_before)
        return max(sum(hi is not None and hi <= reach for reach in each.values()) for each in claims)

    def _cover(self, put: Put, slave: _Slave) -> None:
        key = (put.lo, put.message)
        self._covered[key] = self._covered.get(key, 0) | slave.bit

    def _check_missed(self, slave: _Slave, begin: int, reach: int) -> None:
        missed, slave.missed = slave.missed, []
        for put in missed:
            if begin <= put.lo and put.hi <= reach:
                self._cover(put, slave)
            else:
                slave.missed.append(put)

    def holders(self, lo: int | None, hi: int | None, message: str | None) -> int:
        """How many slaves held all of this message; by its position alone if its append was not seen."""
        found = self._covered.get((lo, message), 0)
        if hi is not None:
            for slave in self._slaves.values():
                if hi <= slave.reach and (lo is None or slave.begin <= lo):
                    found |= slave.bit
        return found.bit_count()
