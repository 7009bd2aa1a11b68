"""Trials that the machine spoilt are played again, so often at most, and nothing that was seen is given away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from stalling_lab import StallingLab

from pairproof.chaos.scenarios import jobs, reading
from pairproof.chaos.scenarios.play import HOLDS, UNKNOWN, VIOLATED, Plan, Played, result
from pairproof.chaos.scenarios.watch import Lines
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.profiles import REAL, profile
from pairproof.harness.exploration.summary import Summary
from pairproof.harness.judging import judge
from pairproof.harness.judging.law import Violation
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.trials import resolve
from pairproof.harness.trials.retry import RETRIES, was_stalled
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.trial import Trial

LAW = "ha-heartbeat"
LATE = "reference+never_beats"
"""Breaks the law by being late, which a stall excuses."""
STALLED = Judgement(LAW, Verdict.UNKNOWN, 1, 0, (), "the machine stalled (master stood still), so it is unknown: x")
UNKNOWN_OTHERWISE = Judgement("log-prefix", Verdict.UNKNOWN, 1, 0, (), "no audit")
KNOWN = {"first-report-believed": 1}
DEVIATES = Judgement("log-prefix", Verdict.DEVIATES, 1, 1, (Violation(0, 0, "broken"),), deviations=KNOWN)
DEVIATES_IN_DOUBT = STALLED._replace(broken=1, violations=(Violation(0, 0, "broken"),), deviations=KNOWN)
BROKEN = Judgement("log-prefix", Verdict.VIOLATED, 1, 1, (Violation(0, 0, "broken"),))
SWARM = profile(REAL)._replace(shares={"swarm": 1.0})
HELD = Judgement("log-prefix", Verdict.HOLDS, 1, 0)


@pytest.mark.parametrize(
    ("judgements", "spoilt"),
    [
        ([HELD, STALLED], True),
        ([UNKNOWN_OTHERWISE, STALLED], True),
        ([HELD], False),
        ([UNKNOWN_OTHERWISE], False),
        ([BROKEN, STALLED], False),
        ([DEVIATES, STALLED], False),
        ([DEVIATES_IN_DOUBT], False),
    ],
)
def test_only_what_a_stall_left_open_and_nothing_broke_is_spoilt(judgements: list[Judgement], spoilt: bool) -> None:
    assert was_stalled(Trial(0, "swarm", Schedule({}, "s", ()), [], judgements)) is spoilt


def explore(spoils: int, trials: int = 1) -> tuple[Summary, list[Trial], StallingLab]:
    lab, heard = StallingLab(spoils), list[Trial]()
    found = Explorer(
        lab, resolve.target(LATE), SWARM, "again-5", judge.laws([LAW]), trials=trials, first=True,
        on_trial=heard.append,
    ).run()  # fmt: skip
    return found, heard, lab


def test_a_search_finds_what_the_first_plays_had_hidden_and_says_how_many_these_were() -> None:
    found, heard, _ = explore(RETRIES)
    assert found.verdicts[LAW] is Verdict.VIOLATED and heard[0].again == found.again == RETRIES
    assert "2 trials were played again, because the machine had stalled" in found.rate()


def test_on_a_machine_that_stalls_all_the_time_the_last_play_stands_as_unknown() -> None:
    found, heard, lab = explore(99)
    assert found.verdicts[LAW] is Verdict.UNKNOWN and found.again == RETRIES == lab.opened - 1 and len(heard) == 1


def test_on_a_punctual_machine_no_trial_is_played_twice() -> None:
    found, heard, _ = explore(0)
    assert found.verdicts[LAW] is Verdict.VIOLATED and found.again == heard[0].again == 0
    assert "again" not in found.rate()


def test_a_run_keeps_how_many_were_played_again(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", {"laws": [LAW], "seed": "s"}) as writer:
        for number, again in enumerate((0, 2, 1)):
            writer.trial(Trial(number, "swarm", Schedule({}, "s", ()), [], [HELD], again=again))
    assert json.loads((tmp_path / "run" / "run.json").read_text())["again"] == 3


IDLE = f"""\
name: idle
about: Nothing happens.
settings: {{haSendHeartbeatInterval: 500}}
timeline:
- {{at: 10s, fault: pause, with: {{node: slave}}, for: 2s}}
laws: [{LAW}]
"""
ABOUT = f"expect: {{judged: [{LAW}]}}\n"


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Played]:
    def played(spoils: int, target: str, expect: str = ABOUT) -> Played:
        monkeypatch.setattr(resolve, "lab", lambda name: StallingLab(spoils))
        heard: list[Played] = []
        found = reading.from_text(IDLE + expect, "idle")
        jobs.run([found], Plan("stalling", target, "s"), 1, Lines(), lambda _, each: heard.append(each))
        (each,) = heard
        assert result(found, heard, 1).verdict == each.verdict
        return each

    return played


def test_a_scenario_is_played_again_until_the_machine_lets_it_be_judged(play: Callable[..., Played]) -> None:
    found = play(RETRIES, LATE)
    assert (found.verdict, found.trial.again) == (VIOLATED, RETRIES)
    found = play(99, LATE)
    assert (found.verdict, found.trial.again) == (UNKNOWN, RETRIES) and "the machine stalled" in found.doubts[0]
    found = play(1, "reference")
    assert found.verdict == HOLDS
