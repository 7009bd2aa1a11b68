"""Real-time labs: paced searches, violations that show only sometimes, and what shrinking may take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from shaky_lab import ShakyLab

from pairproof.harness import registry
from pairproof.harness.commands.main import main
from pairproof.harness.exploration import minimums
from pairproof.harness.exploration import watch as watches
from pairproof.harness.exploration.explore import MAX_FINDINGS_PER_LAW, Explorer
from pairproof.harness.exploration.profiles import REAL, profile
from pairproof.harness.exploration.summary import Summary
from pairproof.harness.exploration.watch import Watch
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.ports import Target
from pairproof.harness.rocketmq import real_time
from pairproof.harness.runs.reader import read_finding, to_finding
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.search import pacing as searching
from pairproof.harness.search import repeated
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.trial import Finding, Trial

REFERENCE = resolve.target("reference")
MUTANT = "reference+serves_diverged"
LAW = "ha-divergence-refused"
IMAGE = Op("fault", {"name": "older_image", "node": "master"})
SEND = Op("send", {"producer": 0, "size": 420, "wait": True, "queue": 0})
PULL = Op("pull", {"reader": 0, "node": "master", "queue": 0})
PLACE = Hosted(ShakyLab("reference", 2), REFERENCE)
LONG = searching.paced(PLACE, Schedule({}, "s", (PULL, IMAGE, PULL, SEND, PULL, Op("step", {"events": 5}), PULL)))
SMALL = ["fault", "send", "await"]


def always() -> bool:
    return True


def explore(lab: ShakyLab, target: str = "reference", **options: Any) -> tuple[Summary, list[Trial]]:
    trials: list[Trial] = []
    found = Explorer(lab, resolve.target(target), profile(REAL), "real", on_trial=trials.append, **options).run()
    return found, trials


def test_every_single_fault_is_swept_then_the_others_search_and_all_they_do_is_paced() -> None:
    found, trials = explore(ShakyLab("reference", 2), trials=12)
    assert list(found.by_origin) == ["sweep", "known-bugs", "swarm", "cluster", "machine"] and not found.findings
    assert set(found.totals) == {"sweep", "known-bugs"} and not found.complete("sweep")
    for trial in trials:
        assert searching.paced(PLACE, trial.schedule) == trial.schedule
    assert found.shrinking_s == 0 and "shrinking" not in found.rate()


@pytest.mark.parametrize(("first", "order"), [(False, "losses losses shrink"), (True, "losses shrink losses")])
def test_violations_are_shrunk_after_the_corpus_of_losses_unless_the_first_one_ends_it(
    first: bool, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    explorer = Explorer(
        ShakyLab(MUTANT, 1), resolve.target(MUTANT), profile(REAL), "real", trials=1, first=first,
        on_trial=lambda trial: seen.append(trial.origin),
    )  # fmt: skip
    explorer._lossy = [(LONG, "a"), (LONG, "b")]
    monkeypatch.setattr(explorer, "_shrink_all", lambda trial: seen.append("shrink"))
    explorer._play_losses()
    assert " ".join(seen).startswith(order)


def test_the_machine_begins_no_trial_when_its_time_is_over() -> None:
    found, trials = explore(ShakyLab("reference", 2), seconds=0)
    assert len(trials) == sum(found.by_origin.values()) and max(found.by_origin.values()) == 1


def test_what_a_simulation_shows_too_is_shrunk_there() -> None:
    lab = ShakyLab(MUTANT, 1)
    before = lab.executed
    small = repeated.small(lab, resolve.target(MUTANT), LONG, LAW, always)
    assert small.shrunk_in == "sim" and [op.do for op in small.schedule.ops] == SMALL
    # Only to see whether it shows here.
    assert lab.executed == before + repeated.STEADY and small.shown is not None and small.shown.violates(LAW)


@pytest.mark.parametrize("least", range(len(SMALL), len(LONG.ops) + 1))
def test_where_the_lab_does_not_show_the_smallest_a_larger_one_is_taken_that_it_does(
    least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = ShakyLab(MUTANT, 10**6)
    run_trial = repeated.run_trial

    def timed(place: Any, target: Target, schedule: Schedule, **more: Any) -> Trial:
        lost = place is lab and len(schedule.ops) < least
        return run_trial(place, REFERENCE if lost else target, schedule, **more)

    monkeypatch.setattr(repeated, "run_trial", timed)
    small = repeated.small(lab, resolve.target(MUTANT), LONG, LAW, always)
    assert small.shrunk_in == "sim" and len(small.schedule.ops) >= least
    assert small.shown is not None and small.shown.schedule == small.schedule


class Black(NamedTuple):
    """A target that no simulation runs."""

    model: Target | None
    system: str = "rocketmq"
    name: str = "black"

    def settings(self, schedule: Args) -> Args:
        return REFERENCE.settings(schedule)


@pytest.mark.parametrize(("model", "shrunk_in"), [(MUTANT, "sim"), ("reference", "shaky"), (None, "shaky")])
def test_a_target_that_no_simulation_runs_is_shrunk_in_its_model_if_that_shows_it(
    model: str | None, shrunk_in: str
) -> None:
    target = Black(None if model is None else resolve.target(model))
    small = repeated.small(ShakyLab(MUTANT, 1), target, LONG, LAW, always)
    assert small.shrunk_in == shrunk_in and [op.do for op in small.schedule.ops] == SMALL
    assert small.shown is not None and small.shown.violates(LAW)


def test_one_shrinking_tells_of_every_law_that_the_small_program_breaks() -> None:
    laws = judge.laws([LAW, "log-grows"])
    small = repeated.small(ShakyLab(MUTANT, 1), REFERENCE, LONG, LAW, always, laws)
    assert small.shown is not None and {each.law for each in small.shown.judgements} == {LAW, "log-grows"}


def test_one_violation_may_take_as_long_as_some_trials_and_all_together_are_bounded() -> None:
    now = [0.0]
    watch = Watch(None, lambda: now[0])
    watch.take(Trial(0, "swarm", Schedule({}, "s", ()), [], [], took_s=40.0))
    more, own = watch.shrink(), 40 * watches.SHRINK_TRIALS
    now[0] = own - 1
    assert more()
    now[0] += 1
    assert not more() and watch.shrink()()
    watch.shrinking_s = watches.VIOLATIONS * own
    assert not watch.shrink()()


def test_what_only_the_lab_shows_is_shrunk_there_by_repeats() -> None:
    small = repeated.small(ShakyLab(MUTANT, 2), REFERENCE, LONG, LAW, always)
    assert small.shrunk_in == "shaky" and [op.do for op in small.schedule.ops] == SMALL
    assert small.shown is not None and small.shown.schedule == small.schedule
    assert real_time.SHORT.items() <= small.schedule.settings.items()


@pytest.mark.parametrize(("nth", "shows"), [(3, True), (7, False)])
def test_a_candidate_fails_if_any_of_its_repeats_does(nth: int, shows: bool) -> None:
    shown = repeated.shows(ShakyLab(MUTANT, nth), REFERENCE, LONG, LAW)
    assert (shown is not None) is shows


def test_without_time_nothing_is_made_smaller() -> None:
    small = repeated.small(ShakyLab(MUTANT, 1), REFERENCE, LONG, LAW, lambda: False)
    assert (small.schedule, small.shown) == (LONG, None)


def test_trials_bound_searches_and_shrinking_where_time_is_real() -> None:
    found, trials = explore(ShakyLab(MUTANT, 2), trials=6)
    assert sum(number for origin, number in found.by_origin.items() if origin != "shrink") == 6
    assert "corpus" not in found.by_origin and found.bound == "the number of trials"
    assert len(trials) == found.trials


def test_findings_say_where_they_were_shrunk_and_their_time_is_told_apart() -> None:
    found, trials = explore(ShakyLab(MUTANT, 1), MUTANT, trials=80, first=True, laws=judge.laws([LAW]))
    assert found.verdicts[LAW] is Verdict.VIOLATED and {each.shrunk_in for each in found.findings} == {"sim"}
    assert {each.lab for each in found.findings} == {"shaky"}
    numbers = [each.number for each in trials]
    assert len(set(numbers)) == len(numbers) == found.trials
    assert {each.trial for each in found.findings} | {each.shrunk_trial for each in found.findings} <= set(numbers)
    assert 0 < found.shrinking_s < found.seconds
    assert "shrinking took 7 s in addition" in found._replace(shrinking_s=7.0, seconds=60.0).rate()


def test_a_violation_that_never_shows_again_is_kept_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "shows", lambda *_, **__: None)
    found, trials = explore(ShakyLab(MUTANT, 1), trials=80, first=True, laws=judge.laws([LAW]))
    by_number = {each.number: each for each in trials}
    assert found.findings
    for each in found.findings:
        assert each.trial == each.shrunk_trial and each.schedule == by_number[each.trial].schedule
        assert each.shrunk_in == "" and len(each.schedule.ops) == each.original_ops


def test_as_many_violations_of_a_law_are_findings_as_are_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    shrunk: list[str] = []

    def small(lab: Any, target: Any, schedule: Schedule, law: str, more: Any, laws: Any) -> repeated.Small:
        shrunk.append(law)
        return repeated.Small(schedule, "shaky", None)

    monkeypatch.setattr(repeated, "small", small)
    bad = "reference+repeats_frame"
    found, _ = explore(ShakyLab(bad, 1), bad, trials=20, laws=judge.laws(["ha-appends-frames"]))
    assert len(found.findings) == len(shrunk) == MAX_FINDINGS_PER_LAW


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_whole_run_with_shrinking_ends_in_its_time(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "SHRINKING", share)
    lab = ShakyLab("reference+repeats_frame", 2)
    # Whatever is executed takes a second.
    found, _ = explore(lab, seconds=20, clock=lambda: float(lab.executed))
    assert found.findings and 18 <= found.seconds <= 20 and found.shrinking_s <= share * 20
    assert (found.shrinking_s > 0) == (share > 0)
    if not share:
        assert {each.size.partition(", ")[2].partition(":")[0] for each in found.findings} == {"not shrunk"}


def test_a_trial_begins_only_if_it_is_likely_to_end_in_time() -> None:
    now = [0.0]
    watch = Watch(100, lambda: now[0])
    assert watch.patience() == float("inf"), "one is played in any case"
    watch.take(Trial(0, "swarm", Schedule({}, "s", ()), [], [], took_s=30.0))
    now[0] = 69
    assert watch.left() == 1 and watch.more()() and watch.patience() == 41
    now[0] = 71
    assert watch.left() < 0 and not watch.more()() and watch.more(at_least=5)()


def test_fewer_trials_than_were_demanded_within_a_time_miss_a_floor() -> None:
    def after(asked: int) -> list[str]:
        lab = ShakyLab("reference", 2)
        found, _ = explore(lab, trials=asked, seconds=20, clock=lambda: float(lab.executed))
        return minimums.missed(found.minimums)

    assert after(10) == []
    (missed,) = (each for each in after(500) if each.startswith("trials of the searches"))
    assert missed.endswith(" of 500")


class Registered:
    """The registry with the lab."""

    def __init__(self, lab: ShakyLab, monkeypatch: pytest.MonkeyPatch) -> None:
        find, names = registry.find, registry.names
        monkeypatch.setattr(
            registry, "find", lambda group, name: lab if (group, name) == ("labs", "shaky") else find(group, name)
        )
        monkeypatch.setattr(registry, "names", lambda group: names(group) + ["shaky"] * (group == "labs"))


def finding(folder: Path, shrunk_in: str = "") -> Path:
    found = Finding(LAW, "told", "reference", "shaky", 0, 0, LONG, 9, shrunk_in)
    with RunWriter(folder, {}) as writer:
        return writer.finding(found)


@pytest.mark.parametrize(("options", "executed", "showed"), [((), 3, 1), (("--repeat", "8"), 8, 4)])
def test_a_replay_says_how_often_it_showed(
    options: tuple[str, ...], executed: int, showed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    Registered(ShakyLab(MUTANT, 2), monkeypatch)
    path = finding(tmp_path / "run")
    assert main(["replay", str(path), *options]) == 1
    assert f"{LAW} was violated in {showed} of {executed}" in capsys.readouterr().out
    Registered(ShakyLab(MUTANT, 2), monkeypatch)
    assert main(["replay", str(path), *options, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["executed"], answer["showed"], answer["reproduced"]) == (executed, showed, True)


def test_a_replay_that_never_shows_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Registered(ShakyLab(MUTANT, 99), monkeypatch)
    assert main(["replay", str(finding(tmp_path / "run"))]) == 0
    said = capsys.readouterr().out
    assert f"{LAW} was violated in 0 of 3" in said and "not reproduced" in said


def test_what_was_shrunk_elsewhere_is_replayed_there(tmp_path: Path, capsys: Any) -> None:
    path = finding(tmp_path / "run", "sim")
    assert to_finding(read_finding(path)).shrunk_in == "sim"
    assert main(["replay", str(path), "--target", MUTANT, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["lab"], answer["executed"], answer["reproduced"]) == ("sim", 1, True)


def test_a_finding_written_before_there_was_a_choice_can_be_read(tmp_path: Path) -> None:
    path = finding(tmp_path / "run")
    data = json.loads(path.read_text())
    del data["shrunk_in"]
    path.write_text(json.dumps(data))
    assert to_finding(read_finding(path)).shrunk_in == ""


def test_check_takes_the_profile_for_real_time_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Registered(ShakyLab("reference", 2), monkeypatch)
    arguments = ["check", "--lab", "shaky", "--jobs", "1", "--trials", "4", "--seed", "s", "--runs", str(tmp_path)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "profile real, seed s" in said and "single faults 2 of" in said
