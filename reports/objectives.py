"""The page of losses: the cost of each class of faults, in every trial, and the objectives (RPO, RTO).

The numbers are tables ``losses`` and ``objectives`` (:mod:`pairproof.reports.measures`), defined in
:mod:`pairproof.harness.rocketmq.losses` and :mod:`pairproof.harness.rocketmq.objectives`. Runs with the corpus of
losses also name the classes that were not executed (the fact ``losses``). Times of the simulation are left out: they
depend on its programs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log10
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..harness.commands.losses import single, unavailable
from ..harness.history import MS
from ..harness.rocketmq.outlook import classes
from ..harness.runs.schema import Row
from ..harness.search.repeated import SIMULATION
from ..harness.texts.wording import counted
from .axis import seconds
from .measures import OBJECTIVES, OF_LOSSES, PERCENTILES
from .svg import Svg

if TYPE_CHECKING:
    from .model import Report


WIDTH, HEIGHT = 220, 16
LEAST_NS = MS

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

UNSEEN = {"trials": 0, "state": "", "program": []}
"""A class in a run without the corpus."""
BAD = ("lost", "other_lost", "slave_only", "unknown")
"""Columns of a row that is never folded."""
MAX_OPEN = 25
AMOUNTS = {"rpo_messages": "{:,}".format, "rpo_bytes": "{:,}".format}
LEAST = {"p50": 20, "p99": 100}
"""Values below which a percentile is left out: it would be one of few values, and read like a forecast."""


def known(row: Row) -> Row:
    """A row of table ``objectives``, with the percentiles that its number of values supports."""
    values = row["times"] - row["open"]
    return row | {name: None for name, least in LEAST.items() if values < least}


def page(report: "Report") -> Row:
    """For ``losses.html``."""
    rows = [_worded(row) for row in sorted(report.losses, key=_order)]
    highest = max((row["max"] or 0 for row in report.objectives if _is_rto(row)), default=0)
    return {
        "played": corpora(report.runs),
        "sentence": sentence(report.losses),
        "worst": (worst := [row for row in rows if any(row[name] for name in BAD)]),
        "harmless": [row for row in rows if row not in worst],
        "objectives": at_stake(report.objectives, highest),
        "max_open": MAX_OPEN,
        "timed": any(row["lab"] != SIMULATION for row in report.objectives),
        "axis": axis(highest),
        "places": sorted({(row["target"], row["lab"]) for row in (*report.losses, *report.objectives)}),
    }


def corpora(runs: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Runs with the corpus of losses or with files: each class of faults with its predicted cost (``faults`` of the
    configuration) and its measured one. Equal predictions appear once if nothing was executed.
    """
    found: list[Row] = []
    foretold: list[Any] = []
    for run in runs:
        seen = {(each["fault"], each["of"]): _worded(dict(each)) for each in run.get("losses") or () if each["corpus"]}
        expected = (run.get("configuration") or {}).get("faults") or []
        foreseen = {(each["fault"], each["of"]): each for each in expected}
        if seen or (expected and expected not in foretold):
            foretold.append(expected)
            rows = [
                {"fault": key[0], "of": key[1], "foreseen": foreseen.get(key), **seen.get(key, UNSEEN)}
                for key in seen or foreseen
            ]
            others = [each for each in run.get("losses") or () if not each["corpus"]]
            more = {name: sum(each[name] for each in others) for name in ("trials", "lost")}
            of = {name: run[name] for name in ("run", "target", "lab")}
            found.append(of | {"rows": rows, "seen": bool(seen), "more": more})
    return found


def sentence(rows: Iterable[Row]) -> str:
    """The total losses of all trials with an effective fault; empty without any."""
    sums = Counter[str]()
    for row in rows:
        sums.update({name: row[name] for name in ("trials", *OF_LOSSES)})
    if not sums["trials"]:
        return ""
    single = sums["slave_only"] + sums["master_only"]
    unknown = f" {counted(sums['unaudited'], 'trial')} cannot say it." if sums["unaudited"] else ""
    other = f" Of {sums['other']:,} stored with another answer, {sums['other_lost']:,} are lost."
    other = other if sums["other"] else ""
    removed = f" Retention removed {sums['removed']:,}, which are not counted as lost." if sums["removed"] else ""
    return (
        f"Of {sums['acknowledged']:,} messages that were answered PUT_OK in {counted(sums['trials'], 'trial')} with a "
        f"fault, {sums['lost']:,} are lost and {single:,} are left on one broker only.{other}{removed}{unknown}"
    )


CLASSES = list(classes())


def _order(row: Row) -> tuple[Any, ...]:
    key = (row["fault"], row["of"])
    return (row["target"], row["lab"], row["mode"], CLASSES.index(key) if key in CLASSES else len(CLASSES), key)


def _worded(row: Row) -> Row:
    longest = {"unavailable_ns": row.get("unavailable_ns", row.get("max")) or 0}
    return row | {
        "single": single(row),
        "unavailable": "" if row.get("lab") == SIMULATION else unavailable(longest),
        "unknown": row["unaudited"] == row["trials"],
    }


def _is_rto(row: Row) -> bool:
    return bool(row["what"] == "rto_ns" and row["lab"] != SIMULATION)


def at_stake(rows: Iterable[Row], highest: int = 0) -> list[Row]:
    """Table ``objectives`` with a row for each cause, fault and mode: the median and the largest of each objective, and
    ``plot``, the bars of the RTO, on a scale up to ``highest``.
    """
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in ("target", "lab", "cause", "fault", "role", "flush"))
        own = found.setdefault(
            key, dict.fromkeys((*OBJECTIVES, "plot"), "") | row | {"why": CAUSES.get(row["cause"], row["cause"])}
        )
        is_time = row["what"] not in AMOUNTS
        if is_time and row["lab"] == SIMULATION:
            continue
        if _is_rto(row):
            own["plot"] = plot(row, highest)
        say = AMOUNTS.get(row["what"], seconds)
        own[row["what"]] = "–" if row["max"] is None else say(row["max"])
        if row["p50"] is not None and row["p50"] != row["max"]:
            own[row["what"]] = f"{say(row['p50'])} to {own[row['what']]}"
        own["trials"] = max(own["trials"], row["trials"])
        if is_time and row["open"]:
            own[row["what"]] += f"; {row['open']:,} open"
    return [found[key] for key in sorted(found) if any(found[key][what] for what in OBJECTIVES)]


def _at(ns: int, highest: int) -> float:
    """Pixels of a duration on a logarithmic scale from :data:`LEAST_NS` to ``highest``."""
    return (WIDTH - 2) * log10(max(ns, LEAST_NS) / LEAST_NS) / log10(max(highest, 10 * LEAST_NS) / LEAST_NS)


def plot(row: Row, highest: int) -> Markup:
    """Three bars over one another, to the median, to p99, to the largest time; only a baseline if all are 0."""
    label = ", ".join(f"{name} {seconds(row[name])}" for name in PERCENTILES if row[name] is not None) or "never came"
    svg = Svg(WIDTH, label)
    svg.line(0, HEIGHT - 1, WIDTH, HEIGHT - 1, "grid")
    for name, inset in reversed(list(zip(PERCENTILES, (5, 3, 1), strict=True))):
        if row[name]:
            svg.rect(0, inset, _at(row[name], highest), HEIGHT - 2 * inset, f"share {name}", label)
    return svg.done(HEIGHT)


def axis(highest: int) -> Markup:
    """The scale of :func:`plot`: a tick and a label for each power of ten."""
    svg = Svg(WIDTH, f"logarithmic scale from {seconds(LEAST_NS)} to {seconds(max(highest, 10 * LEAST_NS))}")
    ns = LEAST_NS
    while ns <= max(highest, 10 * LEAST_NS):
        x = _at(ns, highest)
        svg.line(x, 0, x, 4, "tick")
        # A label at the end precedes its tick.
        side = "begin" if ns == LEAST_NS else "end" if x > WIDTH - 20 else ""
        svg.text(x, HEIGHT - 2, seconds(ns), f"gap {side}".strip())
        ns *= 10
    return svg.done(HEIGHT)
