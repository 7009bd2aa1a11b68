"""What the page of objectives shows: RPO, RTO and catch-up by cause, fault, role and flush mode, with small plots.

The numbers are table ``objectives`` (:mod:`pairproof.reports.measures`); what they mean is defined in
:mod:`pairproof.harness.rocketmq.objectives`. Bars share a logarithmic scale within a section, so rows can be compared.
"""

from collections.abc import Callable, Sequence
from math import log10
from typing import Any

from markupsafe import Markup

from ..harness.texts.wording import counted
from .axis import seconds
from .measures import PERCENTILES
from .svg import Svg

Row = dict[str, Any]

WIDTH, HEIGHT = 220, 16

CAUSES = {
    "process": "killed",
    "own": "crashed by itself",
    "machine": "power lost",
    "stop": "stopped cleanly",
    "wipe": "store wiped",
    "image": "older image of its store",
    "promotion": "promotion of a slave in its place",
    "pause": "paused",
}

SECTIONS: tuple[tuple[str, str, str], ...] = (
    (
        "rpo_messages", "RPO in messages",
        "Messages that had been answered as stored and that no slave held when the master went away: what a failover "
        "at that moment would have cost.",
    ),
    ("rpo_bytes", "RPO in bytes", "The records of those messages."),
    ("rpo_ns", "RPO in time", "How long before that moment the oldest of those messages had been answered."),
    (
        "rto_ns", "RTO",
        "From that moment to the first answered send that began after it. Open: none came before the trial ended.",
    ),
    (
        "catch_up_ns", "Catch-up of slaves",
        "From a slave's return until its log reached the master's end. Open: it did not, or went down again first.",
    ),
)  # fmt: skip


LEAST = {"p50": 20, "p99": 100}
"""Values below which a percentile is left out: it would be one of the few values, and read like a forecast."""


def known(row: Row) -> Row:
    """A row of table ``objectives`` with those percentiles only that its number of values can bear."""
    values = row["times"] - row["open"]
    return row | {name: None for name, least in LEAST.items() if values < least}


def sections(rows: Sequence[Row]) -> list[Row]:
    """One section for each objective that was measured; its rows with the largest values first."""
    found = []
    for what, title, meaning in SECTIONS:
        own = sorted((row for row in rows if row["what"] == what), key=lambda row: -(row["max"] or 0))
        say = shown(what)
        highest = max((row["max"] or 0 for row in own), default=0)
        told = [
            row
            | {name: "–" if row[name] is None else say(row[name]) for name in PERCENTILES}
            | {"why": CAUSES.get(row["cause"], row["cause"]), "plot": plot(row, highest, say)}
            for row in own
        ]
        if told:
            found.append({"what": what, "title": title, "meaning": meaning, "rows": told})
    return found


def worst(rows: Sequence[Row]) -> list[str]:
    """The largest value of each objective, in words, with where it was measured."""
    found = []
    for what, title, _ in SECTIONS:
        own = [row for row in rows if row["what"] == what]
        known = [row for row in own if row["max"] is not None]
        times, open_ = sum(row["times"] for row in own), sum(row["open"] for row in own)
        if known:
            most = max(known, key=lambda row: row["max"])
            where = f"{CAUSES.get(most['cause'], most['cause'])}, fault {most['fault']}, {most['role']} {most['flush']}"
            median = f"; p50 {shown(what)(most['p50'])}" if most["p50"] is not None else f"; {_values(most)}"
            left = f"; {open_:,} of {times:,} {'open' if what.endswith('_ns') else 'unknown'}" if open_ else ""
            found.append(f"{title}: at most {shown(what)(most['max'])} ({where}{median}{left})")
    return found


def _values(row: Row) -> str:
    return f"of {counted(row['times'] - row['open'], 'value')}"


def shown(what: str) -> Callable[[int], str]:
    """How values of an objective are written."""
    return seconds if what.endswith("_ns") else "{:,}".format


def plot(row: Row, highest: int, say: Callable[[int], str]) -> Markup:
    """Three bars over one another, to the median, to p99, to the largest value; a baseline only where all are 0."""
    label = ", ".join(f"{name} {say(row[name])}" for name in PERCENTILES if row[name] is not None) or "never came"
    svg = Svg(WIDTH, label)
    svg.line(0, HEIGHT - 1, WIDTH, HEIGHT - 1, "grid")
    for name, inset in reversed(list(zip(PERCENTILES, (5, 3, 1), strict=True))):
        if row[name]:
            width = (WIDTH - 2) * log10(1 + row[name]) / log10(1 + highest)
            svg.rect(0, inset, width, HEIGHT - 2 * inset, f"share {name}", label)
    return svg.done(HEIGHT)
