"""Plays one schedule after another in a deterministic lab, and returns the violated laws.

Imported behind the hook only: its imports may be changed.
"""

from __future__ import annotations

from typing import Any

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

    def play(self, schedule: dict[str, Any]) -> dict[str, str]:
        """The laws that this schedule violates, in order of violation, each with its first text."""
        trial = run_trial(self.lab, self.target, from_json(schedule), origin="generic", laws=self.laws)
        return {each.law: each.violations[0].text for each in violated(trial)}
