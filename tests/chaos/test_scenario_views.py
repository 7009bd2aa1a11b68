"""What is shown of scenarios: the live view of a trial, labs side by side, the page, and the recording's facts."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.scenarios import library, page, parity
from pairproof.chaos.scenarios.play import HOLDS, SKIPPED, UNKNOWN, UNMET, VIOLATED, Plan, Result, play, result
from pairproof.chaos.scenarios.recording import Recording
from pairproof.chaos.scenarios.watch import Lines, Live, Sight, line, watching
from pairproof.harness.commands import output
from pairproof.harness.history import Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.ports import Session
from pairproof.harness.runs.reader import RunReader
from pairproof.harness.trials import resolve

ROOT = Path(__file__).resolve().parent.parent.parent
LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")


def played(name: str, opened: Any = lambda session: None, target: Any = REFERENCE) -> Result:
    scenario = library.shipped(name)
    case, seed = Plan("sim", target.name, "s").trials(scenario)[0]
    return result(scenario, [play(scenario, case, LAB, target, seed, opened)], 1)


def seen_at(name: str, fault: str, status: str) -> Sight:
    """What is seen of a trial just after the event at which this fault began or ended."""
    events = played(name).played[0].trial.events
    at = next(each.seq for each in events if each.kind == "fault" and (each.f, each.status) == (fault, status))
    sight = Sight()
    for end in range(1, at + 2, 37):
        sight.look(events[:end])
    sight.look(events[: at + 1])
    return sight


def test_a_cut_link_is_seen_and_then_its_mending() -> None:
    sight = seen_at("cut-under-sync-send", "down", "on")
    assert sight.nodes == {"master": "up", "slave": "up"} and [name for name, _ in sight.faults.values()] == [
        "down(ha)"
    ]
    assert sight.links()["ha"].startswith("cut, ") and sight.received["ha"] > 10_000 and sight.answers["PUT_OK"] > 30
    after = seen_at("cut-under-sync-send", "down", "off")
    assert after.faults == {} and after.links()["ha"].startswith("up, ")
    assert after.answers["SLAVE_NOT_AVAILABLE"] > 30


def test_a_shaped_link_and_nodes_that_are_down_or_stand_still_are_seen() -> None:
    slow = seen_at("ha-latency-around-ack-wait", "latency", "on")
    assert slow.links()["ha"].startswith("shaped: latency(ha, up, 300), ")
    assert seen_at("master-kill-under-load", "kill", "off").nodes == {"master": "up", "slave": "up"}
    events = played("master-kill-under-load").played[0].trial.events
    dead = Sight()
    dead.look(events[: next(each.seq for each in events if each.kind == "crash") + 1])
    assert dead.nodes == {"master": "down", "slave": "up"}
    still = Sight()
    events = played("slave-pause").played[0].trial.events
    still.look(events[: next(each.seq for each in events if each.kind == "pause") + 1])
    assert still.nodes == {"master": "up", "slave": "paused"}


def test_a_line_says_what_a_trial_came_to() -> None:
    (one,) = played("ha-latency-around-ack-wait").played
    said = line(library.shipped("ha-latency-around-ack-wait"), one)
    label = "[direction=up, delay=300ms, told=PUT_OK, never=FLUSH_SLAVE_TIMEOUT]"
    assert said.startswith(f"ha-latency-around-ack-wait {label}: holds; sends: PUT_OK 15; latency took effect; ")


def test_live_view_shows_the_trial_that_runs_and_the_laws_of_those_that_are_over() -> None:
    from rich.console import Console

    live = Live()
    scenario = library.shipped("slave-lag")
    scanned: list[str] = []

    def opened(session: Session) -> None:
        live.opened(session)
        scanned.append(shown())

    def shown() -> str:
        console = Console(file=io.StringIO(), width=200)
        console.print(live.render())
        return console.file.getvalue()  # type: ignore[attr-defined]

    live.began(scenario, 2, 3)
    found = played("slave-lag", opened)
    running = shown()
    assert "slave-lag" in scanned[0] and "trial 2 of 3" in scanned[0] and "no trial is over yet" in scanned[0]
    for wanted in ("master up, slave up", "link ha", "PUT_OK 4", "SLAVE_NOT_AVAILABLE 15", "faults", "none"):
        assert wanted in running
    live.ended(scenario, found.played[0])
    over = shown()
    assert "trial 2 of 3" not in over and "slave-lag: holds" in over and " holds, " in over


def rows(
    *results: Result | None,
    differs: dict[str, str] | None = None,
    lacking: parity.Lacking | None = None,
    models: tuple[str, ...] = (),
) -> parity.Row:
    scenario = library.shipped("slave-lag")._replace(differs=differs or {})
    by_lab = {f"lab{n}": [each._replace(scenario=scenario)] if each else [] for n, each in enumerate(results)}
    (row,) = parity.rows([scenario], by_lab, lacking, set(models))
    return row


def test_labs_that_agree_and_labs_that_do_not() -> None:
    good = played("slave-lag")
    bad = played("slave-lag", target=resolve.target("reference+acks_at_once"))
    assert rows(good, good).differences == () and rows(good, good).verdicts == (HOLDS, HOLDS)
    assert [parity.exit_code([rows(*each)]) for each in ((good, good), (bad, bad), (good, bad))] == [0, 1, 1]
    found = rows(good, bad)
    assert found.verdicts == (HOLDS, VIOLATED)
    assert {each.what for each in found.unexplained} >= {"verdict", "ack-replicated"}
    known = rows(good, bad, differs={"verdict": "One lies.", "ack-replicated": "It lies."})
    assert {each.what: each.reason for each in known.differences}["ack-replicated"] == "It lies."
    assert not {each.what for each in known.unexplained} & {"verdict", "ack-replicated"}
    everything = {each.what: "Known." for each in found.differences}
    assert parity.exit_code([rows(good, bad, differs=everything)]) == 0


def test_a_lab_that_skips_says_why_and_one_that_did_not_play_is_not_explained() -> None:
    good = played("slave-lag")
    (one,) = good.played
    skipped = good._replace(played=(one._replace(verdict=SKIPPED, doubts=("skipped: stall: no such link",)),))
    (difference,) = rows(good, skipped).differences
    assert difference.reason == "skipped: stall: no such link" and rows(good, skipped).unexplained == []
    assert parity.exit_code([rows(good, skipped)]) == 0 and parity.exit_code([rows(skipped, skipped)]) == 3
    assert [each.what for each in rows(good, None).unexplained] == ["verdict"]


def test_a_lab_whose_machine_stalled_is_no_contradiction_and_no_pass_either() -> None:
    good = played("slave-lag")
    (one,) = good.played
    doubt = "ack-replicated: the machine stalled (slave waited for a CPU, 900 ms), so it is unknown: it was late"
    laws = good.laws | {"ack-replicated": Verdict.UNKNOWN}
    late = good._replace(played=(one._replace(verdict=UNKNOWN, doubts=(doubt,)),), laws=laws)
    found = rows(good, late)
    assert {each.what: each.reason for each in found.differences} == {"verdict": doubt, "ack-replicated": doubt}
    assert parity.exit_code([found]) == 3
    other = good._replace(played=(one._replace(verdict=UNKNOWN, doubts=("ack-replicated: law crashed",)),), laws=laws)
    assert parity.exit_code([rows(good, other)]) == 1
    bad = played("slave-lag", target=resolve.target("reference+acks_at_once"))
    assert "verdict" in {each.what for each in rows(good, late, bad).unexplained}
    short = late._replace(played=(late.played[0]._replace(doubts=(doubt, "lag: 0 of 3 events")),))
    assert "verdict" in {each.what for each in rows(good, short).unexplained}


def test_a_model_may_meet_other_things_than_what_it_is_of_and_may_not_contradict_it() -> None:
    good = played("slave-lag")
    (one,) = good.played
    met = good._replace(laws=good.laws | {"ack-replicated": Verdict.DEVIATES, "log-prefix": Verdict.VACUOUS})
    assert rows(met, good, models=("lab0",)).unexplained == []
    assert {each.what for each in rows(met, good).unexplained} == {"ack-replicated", "log-prefix"}
    assert rows(met, good, good, models=("lab0",)).unexplained == []
    assert {each.what for each in rows(good, met, good, models=("lab0",)).unexplained} == {
        "ack-replicated",
        "log-prefix",
    }
    less = good._replace(played=(one._replace(case=one.case._replace(expect=one.case.expect._replace(judged=("x",)))),))
    assert less.reasons == ["x had nothing to judge"]
    assert rows(less, good, models=("lab0",)).unexplained == [] != rows(less, good).unexplained
    (lacking,) = less.played
    fewer = less._replace(played=(lacking._replace(verdict=SKIPPED, doubts=("skipped: stall: no such link",)),))
    assert fewer.verdict == UNKNOWN and rows(good, fewer, models=("lab0",)).unexplained == []
    unsure = good._replace(played=(one._replace(verdict=UNKNOWN, doubts=("ack-replicated: law crashed",)),))
    bad = good._replace(laws=good.laws | {"ack-replicated": Verdict.VIOLATED})
    for other, what in ((unsure, "verdict"), (bad, "ack-replicated")):
        assert what in {each.what for each in rows(other, good, models=("lab0",)).unexplained}


def test_a_lab_that_lacks_an_ability_is_no_difference_and_hides_none_between_the_others() -> None:
    good = played("slave-lag")
    bad = played("slave-lag", target=resolve.target("reference+acks_at_once"))
    lacking = {"lab1": {"slave-lag": ("CanStall",)}}
    same = rows(good, None, good, lacking=lacking)
    assert same.verdicts == (HOLDS, parity.CANNOT, HOLDS) and same.differences == ()
    assert same.lacking == ((), ("CanStall",), ()) and parity.exit_code([same]) == 0
    other = rows(good, None, bad, lacking=lacking)
    assert {each.what for each in other.unexplained} >= {"verdict", "ack-replicated"}
    assert other.differences[0].seen == (HOLDS, parity.CANNOT, VIOLATED)
    everywhere = {f"lab{number}": {"slave-lag": ("CanStall",)} for number in range(2)}
    nobody = rows(None, None, lacking=everywhere)
    alone = rows(bad, None, lacking=lacking)
    assert [parity.exit_code([each]) for each in (other, alone, nobody)] == [1, 1, 3]


def test_what_one_lab_skipped_is_what_the_other_says() -> None:
    good = played("slave-lag")
    bad = played("slave-lag", target=resolve.target("reference+acks_at_once"))
    (one,) = good.played
    skipped = good._replace(played=(one._replace(verdict=SKIPPED, doubts=("skipped: stall: no such link",)),))
    known = {each.what: "It lies." for each in rows(bad, good).differences if each.what != "verdict"}
    found = rows(bad, skipped, differs=known)
    assert found.unexplained == [] and found.verdicts == (VIOLATED, SKIPPED) and parity.exit_code([found]) == 1


def test_a_law_that_only_one_had_to_judge_is_explained_by_a_stall_of_those_that_differ() -> None:
    good = played("slave-lag")
    (one,) = good.played
    fewer = good._replace(laws=good.laws | {"ack-replicated": Verdict.VACUOUS})
    stall = Event(10_000, 0, "stall", "slave", value=900)
    late = fewer._replace(played=(one._replace(trial=one.trial._replace(events=[*one.trial.events, stall])),))
    (told,) = rows(good, late).differences
    assert told.reason == "the machine stalled during the trial, so only one had something to judge"
    assert parity.exit_code([rows(good, late)]) == 3
    # The two labs that did not stall differ all the same.
    assert [len(rows(good, each).unexplained) for each in (fewer, late)] == [1, 0]
    wrong = late._replace(laws=good.laws | {"ack-replicated": Verdict.VIOLATED})
    assert rows(good, wrong).unexplained


def test_page_of_parity_tells_verdicts_times_and_reasons() -> None:
    good = played("slave-lag")
    bad = played("slave-lag", target=resolve.target("reference+acks_at_once"))
    made = parity.page([rows(good, bad, differs={"verdict": "One lies."})], ["sim", "process"], "reference", "chaos")
    assert "| scenario | sim | process | trials | seconds | differences |" in made
    assert "| slave-lag | holds | violated | 1/1 |" in made
    assert "- **slave-lag**, verdict (sim: holds, process: violated): One lies." in made
    assert "- **slave-lag**, ack-replicated (sim: holds, process: violated): not explained" in made
    assert "- **slave-lag** in process: ack-replicated is violated" in made


def test_page_of_scenarios_is_current() -> None:
    written = (ROOT / "docs" / page.PAGE).read_text(encoding="utf-8")
    assert written == page.made(), "run .venv/bin/python -m pairproof.chaos.scenarios.page"


def test_recording_of_a_failure_keeps_its_trials_and_says_why(tmp_path: Path) -> None:
    scenario = library.shipped("slave-lag")
    plan = Plan("sim", "reference+acks_at_once", "s", 2)
    target = resolve.target(plan.target)
    with pytest.raises(RuntimeError), Recording(tmp_path, plan, [scenario]) as recording:
        for case, seed in plan.trials(scenario):
            recording.take(scenario, play(scenario, case, LAB, target, seed))
        raise RuntimeError("out of paper")
    reader = RunReader(recording.folder)
    assert (reader.facts["state"], reader.facts["reason"]) == ("failed", "out of paper")
    (fact,) = reader.facts["scenarios"]
    assert (fact["name"], fact["verdict"], fact["trials"]) == ("slave-lag", VIOLATED, 2)
    assert [each["trial"] for each in reader.trials()] == [0, 1]
    laws = [each["law"] for each in reader.findings()]
    assert "ack-replicated" in laws and len(laws) == len(set(laws))


def test_verdicts_are_ordered_by_how_bad_they_are() -> None:
    good = played("slave-lag")
    (one,) = good.played
    mixed = good._replace(played=(one, one._replace(verdict=UNMET, unmet=("too few",)), one), planned=3)
    assert mixed.verdict == UNMET and mixed.reasons == ["too few"]


def test_on_a_terminal_the_view_is_drawn_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(output, "console", lambda file=None: terminal)
    scenario = library.shipped("slave-lag")
    with watching() as watch:
        assert isinstance(watch, Live)
        watch.began(scenario, 1, 1)
        (one,) = played("slave-lag", watch.opened).played
        watch.ended(scenario, one)
    drawn = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "slave-lag: holds" in drawn and "laws so far" in drawn and "\x1b[2K" in drawn


def test_elsewhere_a_trial_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with watching() as watch:
        assert isinstance(watch, Lines)
        watch.ended(library.shipped("slave-lag"), played("slave-lag").played[0])
    said = capsys.readouterr()
    assert said.err.startswith("slave-lag: holds; sends: PUT_OK 40") and said.err.count("\n") == 1 and not said.out
