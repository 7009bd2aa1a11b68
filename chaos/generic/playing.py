"""Plays one schedule after another in a deterministic lab, and returns the violated laws.

Imported behind the hook only: its imports may be changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from ...harness.history import Event
from ...harness.judging import judge
from ...harness.judging.cause import violated
from ...harness.trials import resolve
from ...harness.trials.interpreter import run_trial
from ...harness.trials.schedule_json import from_json
from ..labs.sim import host, watchdog


class Player:
    """One lab and one target, by name."""

    def __init__(self, lab: str, target: str) -> None:
        self.lab, self.target = resolve.lab(lab), resolve.target(target)
        self.laws = judge.laws_for(self.target)
        # A mutant with endless steps has them in each trial: the first need not take longer than the others.
        host.WATCHDOG.limit_s = watchdog.NEXT_LIMIT_S

    def play(self, schedule: dict[str, Any]) -> tuple[dict[str, str], int]:
        """The laws that this schedule violates, in order of violation, each with its first text; and the history's
        digest.
        """
        trial = run_trial(self.lab, self.target, from_json(schedule), origin="generic", laws=self.laws)
        return {each.law: each.violations[0].text for each in violated(trial)}, digest(trial.events)


def digest(events: Sequence[Event]) -> int:
    """A checksum of a history: a mutant whose trials all have the control's changed nothing that is recorded."""
    return crc32(json.dumps(events).encode())
