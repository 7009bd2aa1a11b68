"""Reads the stores of a simulated trial's brokers right before and right after each start: events ``found``, ``left``.

The recovery mode is the broker's own report (:attr:`~pairproof.reference.core.store.MessageStore.recovered`);
everything else is read from its files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...reference.core.broker import Broker
from ...reference.core.config import BrokerConfig
from ..labs.sim.evidence import Evidence
from ..labs.sim.host import Host
from ..observers import start_reader
from ..observers.start_reader import LOG, Found


class Starts:
    """Stores without a log are not read."""

    def __init__(self, evidence: Evidence, configs: Mapping[str, BrokerConfig]) -> None:
        self.evidence = evidence
        self.configs = configs
        self._found: dict[str, Found] = {}

    def starting(self, host: Host) -> None:
        name, files = host.name, host.disk.files
        self._found.pop(name, None)
        if name in self.configs and start_reader.has_log(files):
            copy = {each: bytes(file.cache) for each, file in files.items()}
            found = self._found[name] = start_reader.find(copy, self.configs[name].maxHashSlotNum)
            start_reader.record(self.evidence.recorder, self.evidence.now(), name, host.incarnation + 1, found)

    def started(self, host: Host) -> None:
        """It has started, and done nothing since."""
        found, broker = self._found.pop(host.name, None), host.node
        if found is None or not isinstance(broker, Broker):
            return
        start, end, recovered = broker.log.start, broker.log.end, broker.store.recovered
        kept = start_reader.compare(found, _files(host), None if found.orderly else end)
        result: dict[str, object] = {"differs": kept.log_differs if kept.derived is None else kept.derived}
        result["behind"] = start_reader.whole_behind(found, end) if found.used > end else (0, 0)
        if not found.orderly:
            result |= {"lost": recovered.lost, "cut_from": recovered.cut_from}
        if not host.disk.lies:
            result["dirty"] = _dirty(host, end)
        self.evidence.add(
            self.evidence.now(), "left", host.name, host.incarnation, f="lacks" if kept.derived else "kept",
            status="same" if kept.log_differs is None else "other", lo=start, hi=end, value=kept.used,
            detail=json.dumps(result),
        )  # fmt: skip

    def refused(self, host: Host) -> None:
        """It refused to start on this store, and should not have changed it."""
        found = self._found.pop(host.name, None)
        if found is None:
            return
        now = _files(host)
        kept = start_reader.compare(found, now, None)
        names = sorted(each for each in {*now, *found.files} if now.get(each) != found.files.get(each))
        self.evidence.add(
            self.evidence.now(), "left", host.name, host.incarnation, f="lacks" if names else "kept",
            status="same" if kept.log_differs is None else "other", lo=found.start, hi=found.whole_to, value=kept.used,
            detail=json.dumps({"differs": names[0] if names else None}),
        )  # fmt: skip


def _files(host: Host) -> dict[str, bytearray]:
    return {name: file.cache for name, file in host.disk.files.items()}


def _dirty(host: Host, end: int) -> int:
    """Bytes of the log's files that begin before ``end`` that a power loss would drop."""
    dirty = 0
    for name, file in host.disk.files.items():
        if name.startswith(LOG):
            upto = end - int(name[len(LOG) :])
            if upto > 0 and file.cache[:upto] != file.durable[:upto]:
                dirty += sum(one != other for one, other in zip(file.cache[:upto], file.durable[:upto], strict=True))
    return dirty
