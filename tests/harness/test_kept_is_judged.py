"""A trial's history is what was judged: what a lab records while it closes its session is no part of it."""

from __future__ import annotations

from typing import Any

from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

SEND = Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0})


class TalkativeLab:
    """A lab whose connections close, and are seen to, when the session ends."""

    def __init__(self) -> None:
        self.lab: Any = resolve.lab("sim")
        self.recorder: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lab, name)

    def open(self, *arguments: Any) -> Any:
        session = self.lab.open(*arguments)
        self.recorder = session.recorder
        lab = self

        class Session:
            def __getattr__(self, name: str) -> Any:
                return getattr(session, name)

            def close(self) -> None:
                lab.recorder.add(session.now(), "close", "master", None, "ha:1", "m", f="reset")
                session.close()

        return Session()


def test_what_is_recorded_after_the_verdict_is_not_kept() -> None:
    lab = TalkativeLab()
    trial = run_trial(lab, resolve.target("reference"), Schedule({}, "1", (SEND,)))  # type: ignore[arg-type]
    assert lab.recorder.events[-1].kind == "close", "the session did record something"
    assert (trial.events[-1].kind, trial.events[-1].f) == ("mark", "end")
