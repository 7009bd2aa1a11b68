"""What the page of traces shows: every table that was measured of recorded histories, in words and bars.

The rows are tables of :mod:`pairproof.reports.measures`; what their columns mean is said where they are made
(:mod:`pairproof.reports.traces`). Each row names how many trials and values it rests on.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from markupsafe import Markup

from ..harness.rocketmq.objectives import NO_FAULT
from . import objectives, rejudging
from .axis import seconds
from .measures import PERCENTILES
from .model import Report
from .svg import Svg
from .traces.calls import ALL
from .traces.deployment import shown
from .traces.faults import IN
from .traces.replication import BY_LOG

Row = dict[str, Any]

NS = 1_000_000_000
SIMULATED = "sim"
NOTHING = "–"
WINDOWS = {True: "while a fault was active", False: "while none was"}


def traces(report: Report) -> Row:
    """For ``traces.html``, of labs with real time; empty without any: virtual time says how programs wait."""

    def real(rows: Iterable[Row]) -> list[Row]:
        return [row for row in rows if row["lab"] != SIMULATED]

    histories = real(report.histories)
    if not rejudging.total(histories)["read"]:
        return {}
    return {
        "places": places(histories),
        "sums": rejudging.total(histories),
        "trials": sum(row["trials"] for row in real(report.search)),
        "throughput": throughput(real(report.throughput)),
        "replicated": replicated(real(report.replicated)),
        "latency": _by_window(real(report.latency), seconds),
        "latency_by_fault": _no_fault_first(spreads(real(report.latency_by_fault), seconds)),
        "lag_bytes": _by_window(real(report.lag_bytes), "{:,}".format),
        "lag_ns": _by_window(real(report.lag_ns), seconds),
        "catch_up": spreads(real(report.catch_up), seconds),
    }


def _deployment(row: Row) -> str:
    return shown(row["masters"], row["slaves"], row["role"], row["flush"])


def places(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Targets and labs of some rows."""
    return sorted({(row["target"], row["lab"]) for row in rows})


def _by_window(rows: Sequence[Row], say: Callable[[int], str]) -> list[Row]:
    # The usual first, then what faults make of it.
    told = [_windowed(row) for row in spreads(rows, say)]
    return sorted(
        told, key=lambda row: (row["target"], row["lab"], row.get("role"), row.get("flush"), row["window"] == IN)
    )


def _no_fault_first(rows: Iterable[Row]) -> list[Row]:
    keys = ("target", "lab", "role", "flush")
    return sorted(rows, key=lambda row: (*(row[name] for name in keys), row["fault"] != NO_FAULT, row["fault"]))


def _windowed(row: Row) -> Row:
    return row | {"when": WINDOWS[row["window"] == IN]}


def spreads(rows: Sequence[Row], say: Callable[[int], str]) -> list[Row]:
    """Rows with a distribution: percentiles in words, and bars on one scale."""
    highest = max((row["max"] or 0 for row in rows), default=0)
    return [
        row
        | {name: NOTHING if row[name] is None else say(row[name]) for name in PERCENTILES}
        | {"values": row["times"] - row["open"], "plot": objectives.plot(row, highest, say)}
        for row in rows
    ]


def throughput(rows: Iterable[Row]) -> list[Row]:
    """Answered calls a second; all calls together come first."""
    found = [_windowed(row) | {"rate": rate(row["answered"], row["span_ns"])} for row in rows]
    found = sorted(found, key=lambda row: (row["target"], row["lab"], row["f"] != ALL, row["f"], row["window"] == IN))
    return _with_bars(found, "a second")


def replicated(rows: Iterable[Row]) -> list[Row]:
    """Bytes a second and slave."""
    found = [
        row
        | {"rate": rate(row["bytes"], row["span_ns"]), "deployment": _deployment(row)}
        | {"how": "their own traces" if row["seen"] == BY_LOG else "their reports to the master"}
        for row in rows
    ]
    return _with_bars(found, "bytes a second")


def rate(amount: int, span_ns: int) -> float | None:
    """A second; None where no time passed."""
    return amount * NS / span_ns if span_ns else None


def said_rate(value: float | None) -> str:
    """A rate with as many digits as it bears."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _with_bars(rows: Sequence[Row], unit: str) -> list[Row]:
    highest = max((row["rate"] or 0 for row in rows), default=0)
    return [row | {"rate": said_rate(row["rate"]), "plot": bar(row["rate"], highest, unit)} for row in rows]


def bar(value: float | None, highest: float, unit: str) -> Markup:
    """One bar on a linear scale."""
    label = f"{said_rate(value)} {unit}"
    svg = Svg(objectives.WIDTH, label)
    svg.line(0, objectives.HEIGHT - 1, objectives.WIDTH, objectives.HEIGHT - 1, "grid")
    if value:
        svg.rect(0, 3, (objectives.WIDTH - 2) * value / highest, objectives.HEIGHT - 6, "share p50", label)
    return svg.done(objectives.HEIGHT)
