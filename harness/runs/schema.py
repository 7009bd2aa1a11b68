"""The run folder's layout and tables, format 3. Spark's types and Arrow's both derive from here.

    run.json                       facts: see FACTS; written first, replaced when the run ends
    verdicts/part-NNNNN.parquet    one row per (trial, law)
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

from ..exploration.losses import Loss
from ..history import FIELDS

FORMAT = 3
READS = (1, 2, FORMAT)
"""Formats that can be read: 1 lacks :data:`ADDED`, and 1 and 2 have the old names of :mod:`harness.renamed`."""

Column = tuple[str, type]

KINDS: dict[str, type] = {each.__name__: each for each in (int, bool, dict)}


def _columns(names: str) -> tuple[Column, ...]:
    """``run trial:int``: names, with their types if these are not texts."""
    typed = (each.partition(":") for each in names.split())
    return tuple((name, KINDS.get(kind, str)) for name, _, kind in typed)


TABLES: dict[str, tuple[Column, ...]] = {
    "verdicts": _columns("run trial:int law verdict judged:int broken:int seq:int text notes"),
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
"""Columns of each table. ``seq`` and ``text`` of a verdict: the first violation, or the doubt. ``notes``, ``args``,
``effect``, ``schedule`` and ``skipped`` are JSON texts. ``objectives`` are the system's: for RocketMQ see
docs/objectives.md. ``settings`` is a map of texts: those of the schedule. ``cause``: the first violation of a violating
trial. ``pairproof``: the version that played it. ``commit``: see the fact.
"""

ADDED: dict[str, tuple[str, ...]] = {
    "trials": ("target", "lab", "settings", "cause", "pairproof", "commit"),
    "history": tuple(each.name for each in FIELDS if each.name not in ("seq", "t", "kind")),
}
"""Columns that a part may lack: those added after format 1, and the optional columns of histories."""

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
    "lab": "the lab of the run",
    "target": "the tested system",
    "digests": "of fetched or built programs of its nodes: by name, SHA-256 of their files",
    "system": "the family of targets that it belongs to, whose states and objectives the run has; empty: the plain one",
    "profile": "the profile's name",
    "seed": "the seed of everything random",
    "observes": "event types that this lab could record for this target",
    "laws": "ids of the judging laws",
    "drawn": "names of the faults that its searches may draw",
    "corpus_must_judge": "ids of the laws that must have something to judge in the trials of the fixed corpus",
    "must_not_be_vacuous": "ids of the laws that must have something to judge in the trials of the searches",
    "cases": "of regression cases, played first: case, law, target, lab, verdict, showed, executed, about of each",
    "minimums": "coverage minimums: what, met, least of each; replication, and those of the profile",
    "refused": "the number of schedules of the searches that could not be played, a line for each reason",
    "unjudged": "promises that every user counts on but no trial judged, and the requirement of each",
    "known_deviations": "the effect of a known deviation on the verdict: fail, or pass",
    "configuration": "of a user's configuration: sides, deployment, faults, changes, keys, deviations",
    "configuration_remarks": "of a user's configuration: settings that affect losses and were not tested",
    "losses": "losses of trials by class of fault: fault, of, corpus, state, trials, sums of table losses, program",
    "began": "UTC, ISO 8601",
    "seconds": "the duration, wall clock",
    "trials": "the number of executed trials",
    "events": "the number of their events",
    "again": "the number of retries after stalls of the machine; these are not among the trials",
    "searches": "of each search that ends: origin, enumerated things, done, total, complete",
    "known_bugs": "the programs of known bugs to play: all, generic or none; none in a simulation",
    "deviations": "known deviations that it met: their descriptions, findings, trials, laws, searches, first",
    "keep": "kept histories: all, or one in N besides violating and unknown trials",
    "scenarios": "of a run of scenarios: name, verdict, trials, seconds, reasons, not observable, losses, laws",
    "left_out": "of a run of scenarios: name of each that was not played, and the missing abilities of the lab",
    "versions": "pairproof, python, hypothesis",
    "commit": "of the tested code, from PAIRPROOF_COMMIT, GITHUB_SHA or CI_COMMIT_SHA; empty without these",
    "contents": "after the end of the run: its parts by table, with their rows, and its findings, failures and logs",
    "campaign": "of a campaign: trials, the limit of its searches; seconds of earlier leaders",
    "reason": "why it is not complete, if it is not",
}
