"""Floors: a search that draws nothing useful breaks no law, and does not pass all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import held_lab
import pytest

from pairproof.harness import registry
from pairproof.harness.commands.main import main
from pairproof.harness.event_types.client import Ok
from pairproof.harness.exploration import minimums
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.exploration.minimums import Family, Minimum, Minimums
from pairproof.harness.exploration.profiles import CI, PROFILES, PROOF, profile
from pairproof.harness.exploration.retention import measured
from pairproof.harness.exploration.tally import Tally
from pairproof.harness.judging.law import only
from pairproof.harness.judging.verdict import Standing, Verdict, conclusion, exit_code
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.runs.reader import RunReader
from pairproof.harness.search import machine
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

SIM = resolve.lab("sim")
REFERENCE = resolve.target("reference")
SEND = Op("send", {"producer": 0, "size": 100, "wait": True, "queue": 0})
LATENCY = Op("fault", {"name": "latency", "link": "ha", "direction": "up", "ms": 20})
IDLE = Op("fault", {"name": "latency", "link": "client-slave", "direction": "up", "ms": 20})


def trial(*ops: Op) -> Trial:
    return run_trial(SIM, REFERENCE, Schedule({}, "s", ops), origin="machine")


def count(tally: Tally, played: Trial) -> None:
    tally.count(played, measured(SYSTEM, played.events, kinds=True))


def rows(wanted: Minimums, *trials: Trial) -> dict[str, tuple[int, int]]:
    tally = Tally(wanted, 74)
    for each in trials:
        count(tally, each)
    return {each.what: (each.met, each.least) for each in tally.rows()}


def test_a_fault_that_hit_nothing_is_counted_and_meets_no_floor() -> None:
    wanted = Minimums(faults={"latency": Family(("latency", "jitter"), 1)})
    tally = Tally(wanted, 1)
    count(tally, trial(IDLE, SEND))
    found = tally.faults()["latency"]
    assert (found.drawn, found.began, found.took_effect) == (1, 1, 0)
    assert minimums.missed(tally.rows()) == ["faults that took effect: latency: 0 of 1"]
    count(tally, trial(LATENCY, SEND, Op("advance", {"ms": 100})))
    found = tally.faults()["latency"]
    assert (found.drawn, found.took_effect) == (2, 1) and found.effect["bytes_delayed"] > 0
    assert minimums.missed(tally.rows()) == []


def test_every_kind_of_floor_is_counted() -> None:
    wanted = Minimums(
        {"machine": 2}, {"send": 2, "join": 1}, {"ok send": 3, "fault": 1}, {}, {"caught-up": 5, "refused": 1}, 80
    )
    assert rows(wanted, trial(SEND), trial(SEND)) == {
        "trials of the machine": (2, 2),
        "operations: send": (2, 2),
        "operations: join": (0, 1),
        # Warm-up and probe send, too: histories count what was done, operations what was drawn.
        "events: ok send": (6, 3),
        "events: fault": (0, 1),
        "events in state: caught-up": (rows(wanted, trial(SEND))["events in state: caught-up"][0] * 2, 5),
        "events in state: refused": (0, 1),
        "laws with something to judge": (rows(wanted, trial(SEND))["laws with something to judge"][0], 74),
    }


def test_what_a_target_does_not_show_is_not_demanded_of_it() -> None:
    wanted = Minimums(
        {"machine": 20}, states={"behind": 200, "unconnected": 50}, laws=45, shown_by={"behind": "append"}
    )
    needs = [frozenset({"append"})] * 20 + [frozenset({"ok"})] * 40
    assert wanted.of({"append", "ok"}, needs) == wanted
    assert wanted.of({"ok"}, needs) == wanted._replace(states={"unconnected": 50}, laws=30)


def test_a_missed_floor_makes_what_holds_unknown_and_hides_no_violation() -> None:
    holds, violated = Standing(Verdict.HOLDS), Standing(Verdict.VIOLATED)
    assert (conclusion([holds]), exit_code([holds])) == (Verdict.HOLDS, 0)
    assert (conclusion([holds], ["x: 0 of 1"]), exit_code([holds], ["x: 0 of 1"])) == (Verdict.UNKNOWN, 3)
    assert exit_code([holds, violated], ["x: 0 of 1"]) == 1


def test_minimums_survive_in_facts_and_odd_facts_are_no_minimums() -> None:
    told = [Minimum("sends", 1, 2), Minimum("pulls", 2, 2)]
    assert minimums.of_facts({"minimums": [each._asdict() for each in told]}) == told
    assert minimums.missed(told) == ["sends: 1 of 2"]
    for odd in (None, "x", [1], [{"what": "x", "met": "many", "least": 2}]):
        assert minimums.of_facts({"minimums": odd}) == []


def test_minimums_are_demanded_of_a_profile_s_own_counts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.harness.rocketmq.system.RocketMQ.corpus", lambda _: ())

    def explored(**bounds: Any) -> list[Minimum]:
        found = (
            Explorer(SIM, REFERENCE, PROFILES[PROOF]._replace(counts={"machine": 1}), "s", (), **bounds).run().minimums
        )
        assert found[0].what == minimums.REPLICATED
        return found[1:]

    assert explored() and explored(trials=1) == [] == explored(seconds=0)


# The job, in the simulation.


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def only_run(folder: Path) -> RunReader:
    (found,) = [each for each in (folder / "runs").iterdir() if each.is_dir() and not each.is_symlink()]
    return RunReader(found)


CHECK = ["check", "--jobs", "1", "--profile", PROOF, "--seed", "holds"]


def test_the_job_holds_keeps_every_history_and_tells_what_it_met(part: Path, capsys: Any) -> None:
    assert main([*CHECK, "--json", "answer.json"]) == 0, capsys.readouterr().out
    said = capsys.readouterr().out
    assert "seed holds" in said and "faults took effect" in said and "coverage minimums missed" not in said
    reader = only_run(part)
    assert all(row["kept"] for row in reader.trials()) and reader.facts["keep"] == "all"
    assert all(each.is_met for each in minimums.of_facts(reader.facts))
    answer = json.loads(Path("answer.json").read_text())
    assert answer["minimums"] == reader.facts["minimums"] and answer["faults"]["latency"]["took_effect"] > 0


def test_a_machine_that_never_draws_a_fault_misses_the_minimums(
    part: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(machine, "_fault_rules", lambda lab, system: {})
    assert main([*CHECK, "--jobs", "1"]) == 3
    said = capsys.readouterr().out
    assert (
        "coverage minimums missed: " in said and "faults that took effect: latency or partial writes: 0 of 2; " in said
    )
    facts = only_run(part).facts
    assert facts["state"] == "complete" and "trials of the machine" not in str(
        minimums.missed(minimums.of_facts(facts))
    )


def test_the_job_fails_with_a_broken_target(part: Path, capsys: Any) -> None:
    assert main([*CHECK, "--target", "reference+acks_at_once", "--first"]) == 1
    assert "violated: ack-replicated" in capsys.readouterr().out


def test_the_job_fails_with_a_law_that_fires_wrongly(part: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    law: Any = registry.find("laws", "log-grows")
    monkeypatch.setattr(law, "end", lambda self, last: self.violate(last, "nothing was wrong"))
    assert main([*CHECK, "--jobs", "1", "--law", "log-grows", "--first"]) == 1
    assert "violated: log-grows: nothing was wrong" in capsys.readouterr().out


# Where time is said to be real.


@click.command("report")
@click.option("--engine")
@click.argument("folder")
def told_report(engine: str, folder: str) -> None:
    """Stands for the report: says what it would be made of."""
    reader = RunReader(Path(folder))
    click.echo(f"report of {len(list(reader.trials()))} trials, {reader.facts['state']}: {reader.facts['reason']}")


@pytest.fixture
def held(part: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    held_lab.register(part / "held", monkeypatch)
    monkeypatch.setitem(PROFILES, PROOF, PROFILES[PROOF]._replace(counts={"machine": 6}))
    find = registry.find
    with monkeypatch.context() as patched:
        patched.setattr(
            registry,
            "find",
            lambda group, name: told_report if (group, name) == ("commands", "report") else find(group, name),
        )
        yield part / "held"
    held_lab.forget()


def fails_from_third_trial(held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    before = held_lab.HeldLab.open

    def opens(self: held_lab.HeldLab, target: Any, settings: Any, seed: str) -> Any:
        opened.append(seed)
        if len(opened) == 3:
            (held / "burn").touch()
        return before(self, target, settings, seed)

    monkeypatch.setattr(held_lab.HeldLab, "open", opens)


def test_a_lab_that_fails_in_mid_job_keeps_what_was_recorded_and_makes_its_report(
    held: Path, part: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    fails_from_third_trial(held, monkeypatch)
    assert main([*CHECK[:-1], "a", "--lab", "held", "--report"]) == 4
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == "pairproof: the lab burns down"
    assert "report of 2 trials, failed: the lab burns down" in said.out
    reader = only_run(part)
    assert reader.facts["state"] == "failed" and len(list(reader.trials())) == 2
    # Before, a trial of the machine was not kept, and Hypothesis executed its program again.
    (kept,) = reader.folder.glob("failures/*.json")
    assert json.loads(kept.read_text())["program"]


def test_a_lab_that_fails_from_the_beginning_is_one_line_and_a_report_that_nothing_was_judged(
    held: Path, part: Path, capsys: Any
) -> None:
    (held / "fail").touch()
    assert main([*CHECK[:-1], "a", "--lab", "held", "--report"]) == 4
    said = capsys.readouterr()
    assert said.out.splitlines() == ["with plug-ins: held 1", "report of 0 trials, failed: the lab burns"]
    assert said.err.splitlines()[-1] == "pairproof: the lab burns"


def test_a_violation_counts_more_than_the_lab_that_failed_after_it(
    held: Path, part: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    fails_from_third_trial(held, monkeypatch)
    monkeypatch.setattr("pairproof.harness.exploration.watch.SHRINK_S", 0.0)
    law: Any = registry.find("laws", "log-grows")
    monkeypatch.setattr(law, "end", lambda self, last: self.violate(last, "nothing was wrong"))
    assert main([*CHECK, "--lab", "held", "--report", "--law", "log-grows"]) == 1
    said = capsys.readouterr().out
    assert "violated: log-grows" in said and "the lab failed: the lab burns down" in said and "report of" in said


def test_one_process_s_lab_that_fails_does_not_end_the_job_and_fails_it(held: Path, part: Path, capsys: Any) -> None:
    (held / "fail").touch()
    assert main([*CHECK, "--lab", "held", "--jobs", "2", "--report"]) == 4
    reader = only_run(part)
    assert len(list(reader.trials())) == 5 and reader.facts["state"] == "failed"
    assert "report of 5 trials, failed: the lab burns" in capsys.readouterr().out


def test_where_time_is_real_a_trial_of_the_machine_is_a_function_of_seed_and_number(held: Path) -> None:
    lab = resolve.lab("held")

    def drawn(seed: str, number: int) -> Schedule:
        return machine.play(lab, REFERENCE, (), seed, number).schedule

    assert drawn("s", 0) == drawn("s", 0)
    programs = [str(drawn(seed, number).program()) for seed in ("s", "t") for number in range(4)]
    # Hypothesis's first program is always the same, the simplest; it is not executed.
    assert len(set(programs)) == len(programs)


def test_the_machine_plays_the_same_programs_side_by_side(held: Path, part: Path) -> None:
    def explored(jobs: int) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        lab, chosen = resolve.lab("held"), profile(PROOF)
        heard = lambda each: found.update({each.schedule.seed: each.schedule.program()})  # noqa: E731
        explorer = Explorer(lab, REFERENCE, chosen, "s", (), jobs=jobs, on_trial=heard)
        assert explorer.run().by_origin == {"machine": 6}
        return found

    assert explored(1) == explored(2)


class Silent(Law):
    """Abstains from every send."""

    id, promise, source, needs = "silent", "-", "-", frozenset({"ok"})

    @only("send")
    def on_ok(self, event: Ok) -> None:
        self.abstain("no reason")


class Open(Silent):
    id = "open"

    @only("send")
    def on_ok(self, event: Ok) -> None:
        self.judged += 1


def test_a_law_that_abstains_from_nearly_everything_misses_a_floor_where_trials_are_counted() -> None:
    def missed(law: type[Law], **bounds: Any) -> list[str]:
        wanted = profile(CI)._replace(counts={"cluster": 3}, shares={"cluster": 1.0})
        return minimums.missed(Explorer(SIM, REFERENCE, wanted, "s", (law,), **bounds).run().minimums)

    assert missed(Open) == []
    assert missed(Silent) == ["percent of what silent was offered that it judged: 0 of 10"]
    # A run that the user bounds demands nothing.
    assert missed(Silent, trials=3) == []
