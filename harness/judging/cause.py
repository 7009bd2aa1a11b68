"""What a trial broke first. Violations that begin alike have one cause, whatever laws and programs show them.

One wrong decision of a broker breaks many laws, and the later ones by many roads: a slave that appends a frame twice
reports too much, holds what the master does not, and cannot catch up. The earliest violation is the nearest to the
decision, so its law, the kind of its event and the role of its node name the cause. Two bugs that begin alike are told
as one: the group lists the programs of both.
"""

from __future__ import annotations

from ..trials.trial import Trial
from .verdict import Judgement, Verdict

PHASES = frozenset({"invoke", "ok", "fail", "info"})
"""Kinds of event that are phases of any operation: the operation's name tells more."""


def violated(trial: Trial) -> list[Judgement]:
    """The judgements that say so, in the order in which their laws were first broken."""
    found = [each for each in trial.judgements if each.verdict is Verdict.VIOLATED and each.violations]
    return sorted(found, key=lambda each: (each.violations[0].seq, each.law))


def cause(trial: Trial) -> str:
    """The earliest violation in a few words, ``log-prefix, append at slave``; empty if nothing is violated."""
    first = next(iter(violated(trial)), None)
    if first is None:
        return ""
    seq = first.violations[0].seq
    event = next((each for each in trial.events if each.seq == seq), None)
    if event is None:
        return first.law
    what = f"{event.f} {event.kind}" if event.kind in PHASES and event.f else event.kind
    # slave, slave2 and slave3 play one role.
    role = (event.node or "").rstrip("0123456789")
    return f"{first.law}, {what}{f' at {role}' if role else ''}"
