"""The latency of sends under each fault, for the page of faults: in real-time labs only.

Uses the sampled histories; virtual time depends on programs. Left out: throughput and lag, which reflect a trial's few
calls and not a broker; a trial's own timeline draws its lag.
"""

from collections.abc import Iterable

from ..harness.rocketmq.objectives import NO_FAULT
from ..harness.runs.schema import Row
from . import objectives
from .axis import seconds
from .measures import PERCENTILES

SIMULATED = "sim"


def latency(rows: Iterable[Row]) -> list[Row]:
    """Table ``latency``, without faults first: percentiles in words, and bars on one scale."""
    keys = ("target", "lab", "role", "flush")
    found = [row for row in rows if row["lab"] != SIMULATED]
    found.sort(key=lambda row: (*(row[name] for name in keys), row["fault"] != NO_FAULT, row["fault"]))
    highest = max((row["max"] or 0 for row in found), default=0)
    return [
        row
        | {name: "–" if row[name] is None else seconds(row[name]) for name in PERCENTILES}
        | {"plot": objectives.plot(row, highest), "axis": objectives.axis(highest)}
        for row in found
    ]
