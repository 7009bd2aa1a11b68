"""Trials of scenarios: when they are green, when they are not, and what is kept of those that did not end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pairproof.chaos.labs.sim.lab import SimLab
from pairproof.chaos.labs.sim.session import SimSession
from pairproof.chaos.scenarios import jobs, meeting, reading, timeline
from pairproof.chaos.scenarios.play import (
    FAILED,
    HOLDS,
    SKIPPED,
    UNKNOWN,
    UNMET,
    VIOLATED,
    Plan,
    Played,
    Result,
    Stopped,
    check,
    exit_code,
    play,
    result,
)  # fmt: skip
from pairproof.chaos.scenarios.scenario import Scenario
from pairproof.chaos.scenarios.watch import Lines
from pairproof.harness.errors import LabError, Unable, UsageError
from pairproof.harness.ports import Target
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Args

LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")
CUT = """\
name: cut
about: The HA link is cut.
settings: {haSendHeartbeatInterval: 500, slaveTimeout: 1000}
workload:
- send: {every: 100ms, for: 2s}
timeline:
- {at: 1s, fault: down, with: {link: ha}, for: 1s, id: cut}
expect:
"""


def scenario(expect: str, head: str = CUT) -> Scenario:
    return reading.from_text(head + expect, "cut")


def played(expect: str, target: Target = REFERENCE, lab: Any = LAB, head: str = CUT) -> Played:
    found = scenario(expect, head)
    return play(found, found.cases[0], lab, target, "s")


GOOD = """\
  judged: [ack-unavailable-honest]
  statuses: {PUT_OK: ">=9", SLAVE_NOT_AVAILABLE: 10, PUT_OK@slave: 0}
  events: {fault: 2, diverged: 0, append@slave: ">=10"}
  before: {cut: {statuses: {PUT_OK: 10, SLAVE_NOT_AVAILABLE: 0}}}
  during: {cut: {statuses: {PUT_OK: 0, SLAVE_NOT_AVAILABLE: 10}, events: {append@slave: 0}}}
  after: {cut: {statuses: {PUT_OK: 0, SLAVE_NOT_AVAILABLE: 0}, events: {append@slave: ">=1"}}}
"""


def test_what_is_expected_and_seen_holds() -> None:
    found = played(GOOD)
    assert (found.verdict, found.unmet, found.doubts) == (HOLDS, (), ())
    assert meeting.answers(found.trial.events) == {"PUT_OK": 10, "SLAVE_NOT_AVAILABLE": 10}
    assert found.trial.origin == "scenario" and found.trial.schedule == timeline.compiled(found.case, "s")


@pytest.mark.parametrize(
    ("expect", "complaint"),
    [
        ("  statuses: {PUT_OK: 99}", "exactly 99 PUT_OK expected, 10 seen (sends: PUT_OK 10, SLAVE_NOT_AVAILABLE 10)"),
        ("  statuses: {timeout: '>=1'}", "at least 1 timeout expected, 0 seen"),
        ("  statuses: {PUT_OK@slave: '>=1'}", "at least 1 PUT_OK@slave expected, 0 seen"),
        ("  events: {fault: <=1}", "at most 1 fault events expected, 2 seen"),
        ("  before: {cut: {statuses: {PUT_OK: <=9}}}", "before cut: at most 9 PUT_OK expected, 10 seen"),
        ("  during: {cut: {statuses: {PUT_OK: 1..3}}}", "during cut: 1 to 3 PUT_OK expected, 0 seen"),
        ("  after: {cut: {events: {append@slave: 0}}}", "after cut: exactly 0 append@slave events expected"),
        ("  after: {cut: {statuses: {PUT_OK: 1}}}", "after cut: exactly 1 PUT_OK expected, 0 seen (sends: none)"),
    ],
)  # fmt: skip
def test_what_is_expected_and_not_seen_is_red(expect: str, complaint: str) -> None:
    found = played(expect)
    assert found.verdict == UNMET and len(found.unmet) == 1 and found.unmet[0].startswith(complaint)
    assert exit_code([result(scenario(expect), [found], 1)]) == 1


KILLED = """\
name: cut
about: The slave is killed.
settings: {haSendHeartbeatInterval: 500, slaveTimeout: 1000}
workload:
- send: {every: 100ms, for: 2s}
- pull: {every: 100ms, from: 1500ms, for: 400ms}
timeline:
- {at: 1s, fault: kill, with: {node: slave}, for: 1s, id: cut}
expect:
"""


@pytest.mark.parametrize(
    ("costs", "complaint"),
    [
        ("lost: 0, stranded: 0, unavailable: 0, readable: 11, tried: 10, accepted: 0, stored: 10", ""),
        ("lost: 1", "costs: exactly 1 lost expected, 0 seen (11 acknowledged, 10 tried)"),
        ("accepted: '>=1'", "costs: at least 1 accepted expected, 0 seen"),
    ],
)
def test_what_a_fault_costs_can_be_expected(costs: str, complaint: str) -> None:
    found = played(f"  costs: {{{costs}}}", head=KILLED)
    assert found.verdict == (UNMET if complaint else HOLDS), found
    assert [each.startswith(complaint) for each in found.unmet] == [True] * bool(complaint)


def test_a_cost_that_nobody_can_tell_is_not_met() -> None:
    idle = KILLED.replace("fault: kill, with: {node: slave}", "fault: slow_close, with: {link: ha}")
    assert played("  costs: {lost: 0}", head=idle).unmet == ("costs: no fault had an effect on the pair",)
    found = played("  costs: {readable: 0}", head=KILLED.replace("- pull", "- send"))
    assert found.unmet == ("costs: exactly 0 readable expected, and the trial does not show it",)


class LateLab(SimLab):
    """Its machine stalled as the trial began."""

    def open(self, target: Target, settings: Args, seed: str) -> SimSession:
        session = super().open(target, settings, seed)
        session.recorder.add(0, "stall", f="harness", value=200_000_000, detail="waited for a CPU")
        return session


@pytest.mark.parametrize(("phase", "verdict"), [("before", UNKNOWN), ("after", UNMET)])
def test_what_was_not_seen_while_the_machine_stalled_is_unknown_and_elsewhere_is_red(phase: str, verdict: str) -> None:
    expect = f"  {phase}: {{cut: {{statuses: {{PUT_OK: 11}}}}}}\n"
    assert played(expect).verdict == UNMET
    found = played(expect, lab=LateLab())
    assert found.verdict == verdict
    if verdict == UNKNOWN:
        (doubt,) = found.doubts
        assert doubt.startswith("the machine stalled (the lab's harness waited for a CPU, 200 ms), so it is unknown: ")


def test_a_law_that_is_violated_is_red_whatever_is_expected() -> None:
    found = played(GOOD, resolve.target("reference+acks_at_once"))
    assert found.verdict == VIOLATED and "ack-replicated is violated: m0" in " ".join(of(found).reasons)


def of(*found: Played, planned: int | None = None, expect: str = GOOD) -> Result:
    return result(scenario(expect), found, len(found) if planned is None else planned)


def test_a_seeded_bug_may_be_expected_and_then_must_show() -> None:
    laws = "laws: [ack-replicated, contract]\n"
    expect = "  violated: [ack-replicated]\n" + laws
    assert played(expect, resolve.target("reference+acks_at_once")).verdict == HOLDS
    missing = played(expect, resolve.target("reference+goes_back"))
    assert missing.verdict == UNMET and missing.unmet == ("ack-replicated should be violated, and is not",)
    other = played("  violated: [contract]\n" + laws, resolve.target("reference+acks_at_once"))
    assert other.verdict == VIOLATED
    with pytest.raises(UsageError, match="expects a violation, which only a target with a seeded bug shows"):
        check(scenario(expect), REFERENCE)
    check(scenario(expect), resolve.target("reference+goes_back"))


def test_a_cut_of_a_link_that_nobody_uses_has_no_effect() -> None:
    found = played(" {}", head=CUT.replace("link: ha", "link: client-slave").rstrip())
    assert found.doubts == ("down (link=client-slave) had no effect",) and found.verdict == UNKNOWN


def test_a_fault_without_effect_proves_nothing() -> None:
    idle = CUT.replace("fault: down, with: {link: ha}", "fault: latency, with: {link: client-slave}")
    found = played(" {}", head=idle.rstrip())
    assert found.verdict == UNKNOWN and exit_code([of(found, expect=" {}")]) == 3
    assert found.doubts == ("latency (link=client-slave, direction=up, ms=200) had no effect",)
    assert played(" {bites: false}", head=idle.rstrip()).verdict == HOLDS


def test_a_law_that_no_trial_put_to_the_test_proves_nothing() -> None:
    expect = "  judged: [deliver-delayed]\n"
    found = of(played(expect), expect=expect)
    assert found.verdict == UNKNOWN and found.reasons == ["deliver-delayed had nothing to judge"]


def test_trials_that_are_missing_prove_nothing() -> None:
    found = of(played(GOOD), planned=3)
    assert found.verdict == UNKNOWN and found.reasons == ["only 1 of 3 trials were played"]
    assert of(played(GOOD)).verdict == HOLDS and of(played(GOOD)).reasons == []


class Blind(SimLab):
    """A simulation that cannot tell some kinds of event."""

    def __init__(self, *hidden: str) -> None:
        self.hidden = frozenset(hidden)

    def observes(self, target: Target) -> frozenset[str]:
        return super().observes(target) - self.hidden


def test_what_a_lab_cannot_observe_is_named_and_is_no_lack_of_something_to_judge() -> None:
    expect = "  judged: [ack-replicated, contract]\n  events: {append@slave: 99}"
    seeing, blind = of(played(expect)), of(played(expect, lab=Blind("append")))
    assert seeing.verdict == UNMET and seeing.not_observable == ()
    assert blind.verdict == HOLDS and blind.reasons == [] and exit_code([blind]) == 0
    assert blind.not_observable == ("ack-replicated", "append events")


def test_a_law_that_could_be_judged_and_was_not_is_still_missed() -> None:
    found = of(played("  judged: [ack-replicated, deliver-no-loss]", lab=Blind("append")))
    assert found.verdict == UNKNOWN and found.reasons == ["deliver-no-loss had nothing to judge"]


def test_a_scenario_of_whose_laws_none_can_be_observed_proves_nothing() -> None:
    found = of(played("  judged: [ack-replicated]", lab=Blind("append")))
    assert found.verdict == UNKNOWN
    assert found.reasons == ["no law that it is about is observable here: ack-replicated"]


def test_settings_of_another_version_are_refused_before_anything_runs() -> None:
    found = scenario(" {}", CUT.replace("slaveTimeout: 1000", "inSyncReplicas: 2"))
    with pytest.raises(
        UsageError, match=r"cut, on reference: inSyncReplicas came with 5\.0, and rocketmqVersion is 4\.9\.7"
    ):
        check(found, REFERENCE)
    with pytest.raises(UsageError, match=r"cut, on rocketmq-4\.9\.7: inSyncReplicas came with"):
        check(found, resolve.target("rocketmq-4.9.7"))
    check(found, resolve.target("rocketmq-5.5.0"))


class Lab(SimLab):
    """A simulation in which something goes wrong when a cut begins."""

    def __init__(self, wrong: Callable[[], None]) -> None:
        self.wrong = wrong
        self.closed = 0

    def open(self, target: Target, settings: Args, seed: str) -> SimSession:
        lab = self

        class Session(SimSession):
            def close(self) -> None:
                lab.closed += 1

        session = Session(target, settings, seed)  # type: ignore[arg-type]
        whole = session.on_links.cut_link
        session.on_links.cut_link = lambda link: (lab.wrong(), whole(link))[1]  # type: ignore[method-assign, func-returns-value]
        return session


def raising(error: BaseException) -> Callable[[], None]:
    def wrong() -> None:
        raise error

    return wrong


def test_what_a_lab_cannot_do_is_skipped_and_never_passed() -> None:
    found = played(GOOD, lab=Lab(raising(Unable("there is no knife"))))
    assert found.verdict == SKIPPED and found.doubts == ("skipped: down: there is no knife",) and found.unmet == ()
    assert exit_code([of(found), of(played(GOOD))]) == 3


@pytest.mark.parametrize(
    ("error", "verdict", "reason"),
    [
        (LabError("the lab burns"), FAILED, "the lab failed: the lab burns"),
        (KeyboardInterrupt(), UNKNOWN, "the trial was interrupted"),
    ],
)
def test_a_trial_that_does_not_end_keeps_its_events_and_closes_its_session(
    error: BaseException, verdict: str, reason: str
) -> None:
    lab = Lab(raising(error))
    with pytest.raises(Stopped) as stopped:
        played(GOOD, lab=lab)
    part = stopped.value.played
    assert stopped.value.why is error and lab.closed == 1 and part is not None
    assert part.verdict == verdict and part.doubts == (reason,)
    assert part.trial.events[-1].kind == "fault" and {each.doubt for each in part.trial.judgements} == {reason}
    assert {each.verdict.value for each in part.trial.judgements} == {"unknown"}


def test_exit_codes_of_several() -> None:
    verdicts: dict[str, Any] = {each: played(GOOD)._replace(verdict=each) for each in (HOLDS, FAILED, VIOLATED)}
    good, failed, bad = (of(each) for each in verdicts.values())
    assert [exit_code(each) for each in ([good], [good, failed], [good, failed, bad])] == [0, 4, 1]


def test_a_plan_names_every_trial_and_spreads_a_sample() -> None:
    many = scenario(" {}\neach: {bytes: 0..16}\nrepeat: 2", CUT.rstrip())
    assert len(Plan("sim", "reference", "x").trials(many)) == 34
    seeds = [seed for _, seed in Plan("sim", "reference", "x", repeat=1).trials(many)]
    assert seeds[0] == "x/cut/0/0" and len(set(seeds)) == 17
    sample = [case.label for case, _ in Plan("sim", "reference", "x", 1, 3).trials(many)]
    assert sample == ["bytes=0", "bytes=8", "bytes=16"]
    assert len(Plan("sim", "reference", "x", 1, 99).trials(many)) == 17
    assert [case.label for case, _ in Plan("sim", "reference", "x", 1, 1).trials(many)] == ["bytes=0"]


def with_lab(monkeypatch: pytest.MonkeyPatch, lab: Any) -> None:
    monkeypatch.setattr(resolve, "lab", lambda name: lab)


def run(scenarios: list[Scenario], plan: Plan, count: int = 1) -> list[tuple[str, Played]]:
    heard: list[tuple[str, Played]] = []
    jobs.run(scenarios, plan, count, Lines(), lambda one, each: heard.append((one.name, each)))
    return heard


def test_a_lab_that_fails_midway_ends_that_scenario_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with_lab(monkeypatch, Lab(raising(LabError("the lab burns"))))
    calm = reading.from_text("name: calm\nabout: Nothing happens.\nexpect: {}", "calm")
    heard = run([scenario(GOOD), calm], Plan("sim", "reference", "x", 3))
    assert [(name, each.verdict) for name, each in heard] == [("cut", FAILED), *[("calm", HOLDS)] * 3]


def test_a_lab_that_opens_no_trial_ends_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(SimLab):
        def open(self, target: Target, settings: Args, seed: str) -> SimSession:
            raise LabError("no toxiproxy-server; install it")

    with_lab(monkeypatch, Closed())
    with pytest.raises(LabError, match="no toxiproxy-server"):
        run([scenario(GOOD), scenario(GOOD)], Plan("sim", "reference", "x"))


def test_an_interrupt_hands_over_what_there_is_and_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    with_lab(monkeypatch, Lab(raising(KeyboardInterrupt())))
    heard: list[Played] = []
    with pytest.raises(KeyboardInterrupt):
        jobs.run([scenario(GOOD)], Plan("sim", "reference", "x"), 1, Lines(), lambda _, each: heard.append(each))
    assert [each.doubts for each in heard] == [("the trial was interrupted",)]


def test_scenarios_side_by_side_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = reading.from_text("name: calm\nabout: Nothing happens.\nexpect: {}", "calm")
    plan = Plan("sim", "reference", "x", 2)
    alone, beside = (run([scenario(GOOD), calm], plan, count) for count in (1, 2))
    assert sorted(name for name, _ in beside) == ["calm", "calm", "cut", "cut"]
    histories = {each.trial.schedule.seed: each.trial.events for _, each in beside}
    assert histories == {each.trial.schedule.seed: each.trial.events for _, each in alone}


def test_a_wrong_request_is_told_from_a_process_of_its_own() -> None:
    calm = reading.from_text("name: calm\nabout: Nothing happens.\nexpect: {}", "calm")
    with pytest.raises(UsageError, match="unknown lab 'moon'"):
        run([scenario(GOOD), calm], Plan("moon", "reference", "x"), 2)


def test_a_long_enumeration_is_shared_out() -> None:
    many = scenario(" {}\neach: {bytes: 0..4}", CUT.rstrip())
    began: list[tuple[int, int]] = []

    class Heard(Lines):
        def began(self, scenario: Scenario, number: int, total: int) -> None:
            began.append((number, total))

        def ended(self, scenario: Scenario, played: Played) -> None:
            # Two are going on until none is left to begin.
            assert len(began) == min(5, len(taken) + 2)

    taken: list[str] = []
    plan = Plan("sim", "reference", "x", 1)
    jobs.run([many], plan, 2, Heard(), lambda _, each: taken.append(each.case.label))
    assert began == [(number, 5) for number in range(1, 6)]
    assert sorted(taken) == [f"bytes={number}" for number in range(5)]
