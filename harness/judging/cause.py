"""The first violation of a trial, as the cause of its findings: equal first violations have one cause.

One wrong decision of a broker breaks many laws: a slave that appends a frame twice reports too much, holds records that
the master does not have, and cannot catch up. The earliest violation is the nearest to the decision, so its law, its
event type and the role of its node name the cause. Two bugs with the same first violation form one group, which lists
the programs of both.
"""

from __future__ import annotations

from ..trials.trial import Trial
from .verdict import Judgement

PHASES = frozenset({"invoke", "ok", "fail", "info"})
"""Event types that are phases of any operation: the operation's name is more specific."""


def violated(trial: Trial) -> list[Judgement]:
    """The judgements of violated laws, in the order of their first violations."""
    found = [each for each in trial.violated if each.violations]
    return sorted(found, key=lambda each: (each.violations[0].seq, each.law))


def cause(trial: Trial) -> str:
    """The earliest violation in a few words, ``log-prefix, append at slave``; empty without a violation."""
    first = next(iter(violated(trial)), None)
    if first is None:
        return ""
    seq = first.violations[0].seq
    event = next((each for each in trial.events if each.seq == seq), None)
    if event is None:
        return first.law
    what = f"{event.f} {event.kind}" if event.kind in PHASES and event.f else event.kind
    # slave, slave2 and slave3 have the same role.
    role = (event.node or "").rstrip("0123456789")
    return f"{first.law}, {what}{f' at {role}' if role else ''}"
