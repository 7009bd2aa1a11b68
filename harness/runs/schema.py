"""The run folder's layout and tables, format 3. Spark's types and Arrow's both derive from here.

    run.json                       facts: see FACTS; written first, replaced when the run ends
    verdicts/part-NNNNN.parquet    one row per (trial, law); rows without content are merged
    trials/part-NNNNN.parquet      one row per trial
    faults/part-NNNNN.parquet      one row per fault of a trial
    objectives/part-NNNNN.parquet  one row per loss of the master and per return of a slave
    losses/part-NNNNN.parquet      losses of acknowledged messages, one row per trial with a fault
    coverage/part-NNNNN.parquet    how often each protocol state met each event under each fault, once for the whole run
    history/part-NNNNN.parquet     events of violating and unknown trials, and a seeded sample of the others
    findings/NNNN.json             a violation, its minimal schedule and replay line
    logs/NNNNNN-NODE.log           of trials with a kept history, if nodes are processes: the end of each output

Every file appears by rename, so a reader never sees a partial file; a killed run keeps its finished parts.

Tables evolve: columns are only added; a reader ignores unknown ones and reads missing ones as null. Other changes need
a new format.
"""

from __future__ import annotations

from typing import Any

from ..exploration.losses import Loss
from ..history import FIELDS

FORMAT = 4
READS = (1, 2, 3, FORMAT)
"""Formats that can be read: older ones lack some of :data:`ADDED`, and 1 and 2 have the names of
:mod:`harness.renamed`.
"""

Row = dict[str, Any]
"""A row of a table, by column, or a JSON object."""
Column = tuple[str, type]

KINDS: dict[str, type] = {each.__name__: each for each in (int, bool, dict)}


def _columns(names: str) -> tuple[Column, ...]:
    """``run trial:int``: names, with their types if these are not texts."""
    typed = (each.partition(":") for each in names.split())
    return tuple((name, KINDS.get(kind, str)) for name, _, kind in typed)


TABLES: dict[str, tuple[Column, ...]] = {
    "verdicts": _columns("run trial:int law verdict judged:int broken:int seq:int text notes trials:int"),
    "trials": _columns(
        "run trial:int origin seed schedule events:int virtual_ns:int kept:bool skipped target lab settings:dict cause "
        "pairproof commit"
    ),
    "faults": _columns("run trial:int op:int name args began_ns:int ended_ns:int bit:int effect"),
    "objectives": _columns(
        "run trial:int node cause fault role flush seq:int at_ns:int answered:int rpo_messages:int rpo_bytes:int "
        "rpo_ns:int rto_ns:int catch_up_ns:int"
    ),
    "losses": (
        *_columns("run trial:int"),
        *((name, str if name in ("fault", "of", "mode") else int) for name in Loss._fields),
    ),
    "coverage": _columns("run state event fault count:int"),
    "history": (*_columns("run trial:int"), *((each.name, each.type) for each in FIELDS)),
}
"""Columns of each table. ``seq`` and ``text`` of a verdict: the first violation, or the doubt. ``trials``: a row
without content may stand for so many trials of its part and search; ``trial`` is the first. ``notes``, ``args``,
``effect``, ``schedule`` and ``skipped`` are JSON texts. ``objectives`` are the system's: for RocketMQ see
docs/objectives.md. ``settings`` is a map of texts: those of the schedule. ``cause``: the first violation of a violating
trial. ``pairproof``: the version that played it. ``commit``: see the fact.
"""

ADDED: dict[str, tuple[str, ...]] = {
    "verdicts": ("trials",),
    "trials": ("target", "lab", "settings", "cause", "pairproof", "commit"),
    "history": tuple(each.name for each in FIELDS if each.name not in ("seq", "t", "kind")),
}
"""Columns that a part may lack: those added after its format, and the optional columns of histories."""

STATES = ("running", "complete", "interrupted", "failed")

_DEVIATION: dict[str, object] = {"id": str, "about": str, "upstream": [str]}
_COUNTED: dict[str, object] = {"findings": int, "trials": int, "laws": [str]}
_CELL: dict[str, object] = {"says": str, "source": str}
_CONFIGURATION: dict[str, object] = {
    "sides": [{"side": str, "file": str, "version": str, "values": dict}],
    "set": [str],
    "deployment": [str],
    "faults": [{"fault": str, "of": str, "lost": _CELL, "single": _CELL, "unavailable": _CELL}],
    "changes": [{"change": str, "avoids": str, "costs": str}],
    "keys": [str],
    "deviations": [{**_DEVIATION, "means": str, "avoided_by": str}],
    "avoided": [str],
}  # fmt: skip
FACT_KINDS: dict[str, object] = {
    "format": int, "run": str, "command": [str], "state": str, "lab": str, "target": str, "system": str, "profile": str,
    "seed": str, "observes": [str], "laws": [str], "drawn": [str], "corpus_must_judge": [str],
    "must_not_be_vacuous": [str], "cases": [dict], "minimums": [dict], "refused": [str], "unjudged": [str],
    "known_deviations": str, "configuration": _CONFIGURATION, "configuration_remarks": [str], "losses": [dict],
    "began": str, "seconds": float, "trials": int, "events": int, "again": int, "searches": [dict], "known_bugs": str,
    "deviations": [_DEVIATION | _COUNTED], "keep": (str, int), "scenarios": [dict], "left_out": [dict],
    "versions": dict, "commit": str, "contents": dict, "campaign": dict, "reason": str,
}  # fmt: skip
"""The type of each fact: a type, several, a list of values of one, or an object with such values; a number is also a
float. Unknown facts are null.
"""
MAX_NUMBER = 1 << 63

FACTS: dict[str, str] = {
    "format": "version of this layout",
    "run": "the run's id, also its folder's name",
    "command": "the command line, as a list",
    "state": "running, complete, interrupted or failed",
    "lab": "where it ran",
    "target": "what was tested",
    "digests": "SHA-256 of what its nodes run, by name, if fetched or built elsewhere",
    "system": "the target's system, whose states and objectives the run has; empty: the plain one",
    "profile": "the profile's name",
    "seed": "source of all random choices",
    "observes": "event types that this lab records of this target",
    "laws": "ids of the laws that judged",
    "drawn": "names of the faults that its searches may draw",
    "corpus_must_judge": "laws that the fixed corpus must exercise",
    "must_not_be_vacuous": "laws that the searches must exercise",
    "cases": "regression cases played first: case, law, target, lab, verdict, showed, executed, about of each",
    "minimums": "coverage minimums: what, met, least of each",
    "refused": "schedules that could not be played: a line for each reason",
    "unjudged": "promises that no trial judged, each with what it takes",
    "known_deviations": "what a known deviation does to the verdict: fail, or pass",
    "configuration": "brought configuration: sides, deployment, faults, changes, keys, deviations",
    "configuration_remarks": "brought configuration: what decides about loss and was not tested",
    "losses": "losses by class of fault: fault, of, corpus, state, trials, sums of table losses, program",
    "began": "UTC, ISO 8601",
    "seconds": "wall clock",
    "trials": "executed trials",
    "events": "recorded events",
    "again": "trials executed again after a stall of the machine, not among the trials",
    "searches": "each search that ends: origin, what it enumerates, how many of how many, whether all",
    "known_bugs": "programs of known bugs: all, generic or none; none in a simulation",
    "deviations": "known deviations that it met: their own facts, findings, trials, laws, searches, first",
    "keep": "kept histories: all, or one in N besides violating and unknown trials",
    "scenarios": "scenarios played: name, verdict, trials, seconds, reasons, what is not observable, losses, laws",
    "left_out": "scenarios not played, and the abilities that the lab lacks",
    "versions": "pairproof, python, hypothesis",
    "commit": "tested commit, from PAIRPROOF_COMMIT, GITHUB_SHA or CI_COMMIT_SHA; empty without",
    "contents": "after the end: parts by table with rows, findings, failures and logs",
    "campaign": "of a campaign: trials that its searches may play; seconds of earlier leaders",
    "reason": "why it is not complete, if it is not",
}
