"""A lab that records an effect before its cause has failed, and its trial accuses nobody."""

from __future__ import annotations

from typing import Any

import pytest

from pairproof.harness.errors import LabError
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

SEND = {"producer": 0, "size": 100, "wait": True, "queue": 0}


class HastyLab:
    """The simulation, which has a message in its history before it is sent."""

    def __init__(self, message: str) -> None:
        self.lab: Any = resolve.lab("sim")
        self.message = message

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lab, name)

    def open(self, *given: Any) -> Any:
        session = self.lab.open(*given)
        session.recorder.add(0, "append", "master", 1, f="put", message=self.message, lo=0, hi=1, digest=0)
        return session


def play(message: str) -> Any:
    lab: Any = HastyLab(message)
    return run_trial(lab, resolve.target("reference"), Schedule({}, "hasty", (Op("send", SEND),)), laws=())


def test_a_trial_whose_history_has_an_effect_before_its_cause_is_a_failure_of_the_lab() -> None:
    sent = next(each.message for each in play("nobody's").events if each.kind == "invoke" and each.f == "send")
    with pytest.raises(LabError, match=f"append of {sent}, comes before event .*, its cause") as failed:
        play(str(sent))
    assert failed.value.trial is not None and not failed.value.trial.judgements
