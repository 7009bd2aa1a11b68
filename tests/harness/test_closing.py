"""How a run ends on a terminal: what needs a look, counts by group, what was not tried, and the three last lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands import closing
from pairproof.harness.commands.findings import Findings
from pairproof.harness.commands.main import main
from pairproof.harness.exploration import explore
from pairproof.harness.exploration.coverage_table import CoverageTable
from pairproof.harness.exploration.summary import Summary
from pairproof.harness.judging.verdict import Demands, Verdict
from pairproof.harness.trials import resolve

FACTS = {
    "target": "reference", "lab": "sim", "profile": "quick", "seed": "s 1", "state": "complete",
    "command": ["pairproof", "check", "--time", "9s"], "drawn": ["kill", "wipe", "stall"],
}  # fmt: skip
SYSTEM = resolve.system_of(resolve.target("reference"))


def summary(**verdicts: Verdict) -> Summary:
    seen = {law.replace("_", "-"): frozenset({("sweep", each)}) for law, each in verdicts.items()}
    return Summary(seen, 10, 2_000, {"sweep": 6, "swarm": 4}, [], {"sweep": 8}, 1.5, CoverageTable())


def said(found: Summary, capsys: Any, demands: Demands | None = None, full: bool = False) -> str:
    standings = found.standings(demands or Demands())
    closing.say_run(FACTS, resolve.lab("sim"), found, Path("runs/r"), standings, full)
    printed: str = capsys.readouterr().out
    return printed


def last(found: Summary, first: Path | None = None, **facts: Any) -> list[str]:
    findings = Findings(SYSTEM)
    findings.first = first
    lines = closing.last_lines({**FACTS, **facts}, found, found.standings(), (), Path("runs/r"), findings, SYSTEM)
    return [each.text for each in lines]


MIXED = summary(
    ack_a=Verdict.HOLDS, ack_b=Verdict.HOLDS, ha_a=Verdict.HOLDS, ha_b=Verdict.VACUOUS, log_a=Verdict.DEVIATES,
    log_b=Verdict.VIOLATED, role_a=Verdict.UNKNOWN,
)  # fmt: skip


def test_compact_summary_names_laws_that_need_a_look_violated_first_and_counts_the_others(capsys: Any) -> None:
    lines = said(MIXED, capsys).splitlines()
    rows = [line.split()[:2] for line in lines if line.startswith((" ack-", " ha-", " log-", " role-"))]
    assert rows == [["log-b", "violated"], ["role-a", "unknown"], ["log-a", "known-deviation"]]
    assert "acknowledgement: 2 of 2 hold" in lines and "replication stream: 1 of 2 hold, 1 vacuous" in lines
    assert "log and storage: 0 of 2 hold, 1 violated, 1 known to deviate" in lines


def test_full_summary_names_all_laws(capsys: Any) -> None:
    printed = said(MIXED, capsys, full=True)
    assert all(f" {law} " in printed for law in MIXED.seen)
    assert "ack-a" not in said(MIXED, capsys)


def test_law_that_lacks_what_the_run_demands_is_named_and_no_table_is_there_without_one(capsys: Any) -> None:
    found = summary(a=Verdict.HOLDS, b=Verdict.VACUOUS, c=Verdict.VACUOUS)
    printed = said(found, capsys, Demands(by_searches=frozenset("b")))
    assert printed.count("the searches gave it nothing to judge") == 1 and "\n c " not in printed
    assert "judged in trials" not in said(found, capsys)


def test_searches_have_one_name_and_faults_never_played_are_named(capsys: Any) -> None:
    printed = said(summary(a=Verdict.HOLDS)._replace(faults={"kill": 2, "stall": 0}), capsys)
    assert "\nnot played: wipe; without effect: stall\n" in printed
    assert "10 trials in 1.5 s (seeded swarm 4, single faults 6 of 8, cut short by the clock)\n" in printed
    assert "sweep" not in printed and "profile quick, seed s 1, recorded in runs/r" in printed


def test_one_trial_is_not_called_trials(capsys: Any) -> None:
    found = summary(a=Verdict.HOLDS)._replace(trials=2, by_origin={"corpus": 1, "sweep": 1}, events=1)
    printed = said(found, capsys, full=True)
    assert "fixed corpus: 1 trial; 1 trial after it" in printed and "1 event, " in printed
    assert "1 trials" not in printed and "1 events" not in printed and "1 laws" not in printed
    assert "1 of 1 law holds" in last(found)[0]


def test_last_lines_are_verdict_command_to_run_again_and_the_report() -> None:
    verdict, again, following = last(MIXED)
    assert verdict == (
        "reference in sim: violated; 1 of 7 laws violated, 3 hold, 1 unknown, 1 known to deviate, 1 vacuous"
    )
    assert again.startswith("again: ") and again.endswith("pairproof check --time 9s --seed 's 1'")
    assert following.endswith("pairproof report runs/r")
    assert last(MIXED, command=["pairproof", "check", "--seed=x"])[1].endswith(" check --seed=x")


def test_last_lines_replay_the_first_finding_and_tell_its_story() -> None:
    _, replay, following = last(MIXED, Path("runs/r/findings/0001.json"))
    assert replay.startswith("replay: ") and replay.endswith("pairproof replay runs/r/findings/0001.json")
    assert following.endswith("pairproof autopsy runs/r/findings/0001.json")


def test_verdict_says_first_how_few_trials_there_were_and_that_it_was_interrupted() -> None:
    few = summary(a=Verdict.HOLDS)
    assert last(few)[0] == "10 trials only. reference in sim: holds; 1 of 1 law holds"
    many = few._replace(by_origin={"sweep": 16, "swarm": 4})
    assert last(many, state="interrupted")[0].endswith("holds; 1 of 1 law holds; interrupted before its end")


def test_minimums_that_were_missed_make_the_verdict_unknown() -> None:
    found = summary(a=Verdict.HOLDS)._replace(by_origin={"sweep": 20})
    told = closing.last_lines(FACTS, found, found.standings(), ["a floor"], Path("r"), Findings(SYSTEM), SYSTEM)
    assert told[0].text == "reference in sim: unknown; 1 of 1 law holds"


def test_interrupt_before_the_first_trial_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def interrupt(self: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explore.Explorer, "run", interrupt)
    assert main(["check", "--jobs", "1", "--seed", "s", "--runs", str(tmp_path)]) == 130
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("reference in sim: ") and line.endswith(" before the first trial; nothing was judged")
