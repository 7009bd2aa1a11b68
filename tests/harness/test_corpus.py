"""The fixed corpus gives every law something to judge, and a run does not depend on how fast its machine is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pairproof.harness import registry
from pairproof.harness.commands.main import main
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import make_corpus
from pairproof.harness.rocketmq.corpus import corpus, to_text
from pairproof.harness.runs.reader import RunReader
from pairproof.harness.search import machine
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule

LAB, REFERENCE = resolve.lab("sim"), resolve.target("reference")
SEEN = [law.id for law in judge.all_laws() if law.needs <= LAB.observes(REFERENCE)]
"""The other laws are for systems whose readers see writes by name: tests/harness/test_toy.py."""
AGAIN = "run python -m pairproof.harness.rocketmq.make_corpus"


def test_the_corpus_gives_every_law_something_to_judge_on_the_reference() -> None:
    verdicts: dict[str, Counter[Verdict]] = {law: Counter() for law in SEEN}
    for schedule in corpus():
        for each in run_trial(LAB, REFERENCE, schedule, laws=judge.laws(SEEN)).judgements:
            verdicts[each.law][each.verdict] += 1
    idle = sorted(law for law, seen in verdicts.items() if not seen[Verdict.HOLDS])
    assert not idle, f"the corpus gives {idle} nothing to judge: {AGAIN}"
    assert not any(seen[Verdict.VIOLATED] or seen[Verdict.UNKNOWN] for seen in verdicts.values())


def test_the_corpus_is_small_and_survives_its_file() -> None:
    assert len(corpus()) <= 40
    assert to_text(corpus()) == Path(make_corpus.__file__).with_name("corpus.json").read_text(encoding="utf-8")


def test_a_few_schedules_are_chosen_that_reach_every_law_twice_where_they_can() -> None:
    def candidate(events: int, laws: str) -> make_corpus.Candidate:
        return make_corpus.Candidate(corpus()[0], events, frozenset(laws))

    cheap, dear, other, useless = candidate(10, "ab"), candidate(900, "ab"), candidate(50, "bc"), candidate(1, "")
    assert make_corpus.chosen([useless, dear, other, cheap]) == [cheap, other, dear]
    # Beside a present corpus only what that lacks, and each part of a law once.
    assert make_corpus.chosen([useless, dear, other, cheap], [cheap]) == [other]
    parts = [make_corpus.Candidate(corpus()[0], events, frozenset({"a judged: power"})) for events in (9, 8)]
    assert make_corpus.chosen(parts) == parts[1:]


@pytest.mark.parametrize("seconds", ["0.01", pytest.param("2", marks=pytest.mark.nightly)])
def test_the_reference_exits_0_however_little_time_there_is(
    seconds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--jobs", "1", "--time", seconds, "--seed", "s", "--runs", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"reference in sim: holds; {len(SEEN)} of " in said and "fixed corpus: " in said
    assert "judged by the fixed corpus only" in said or seconds == "2"


def test_a_bug_that_leaves_laws_nothing_to_judge_is_seen_in_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "BATCH", 4)
    # Nothing is ever delivered: laws of delivery have nothing to judge, and are not violated for it.
    chosen = [part for law in ("deliver-no-phantom", "log-grows") for part in ("--law", law)]
    command = ["check", "--jobs", "1", "--time", "0.01", "--seed", "s", "--runs", str(tmp_path), *chosen]
    assert main(command) == 0
    silent = tuple(
        each._replace(ops=tuple(op for op in each.ops if op.do not in ("join", "fail_consume", "pull", "select")))
        for each in corpus()
    )
    monkeypatch.setattr("pairproof.harness.rocketmq.system.RocketMQ.corpus", lambda _: silent)
    capsys.readouterr()
    assert main(command) == 3
    assert "the corpus gave it nothing to judge" in capsys.readouterr().out


def test_laws_of_third_parties_are_not_demanded_of_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, laws = registry.own, {"live-progress"}
    monkeypatch.setattr(registry, "own", lambda group: frozenset(laws) if group == "laws" else own(group))
    monkeypatch.setattr("pairproof.harness.rocketmq.system.RocketMQ.corpus", lambda _: (Schedule({}, "quiet", ()),))
    command = ["check", "--trials", "4", "--seed", "s", "--runs", str(tmp_path), "--law", "live-progress"]
    assert main(command) == 3
    laws.clear()
    assert main(command) == 0


def test_same_seed_and_number_give_the_same_trials_verdicts_and_findings_in_every_process(tmp_path: Path) -> None:
    def recorded(hash_seed: str) -> tuple[object, ...]:
        runs = tmp_path / hash_seed
        command = [
            str(Path(sys.executable).parent / "pairproof"), "check", "--target", "reference+acks_at_once",
            "--first", "--trials", "20", "--seed", "same", "--runs", str(runs), "--law", "ack-replicated",
            "--law", "log-grows",
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1, done.stderr
        (folder,) = runs.iterdir()
        reader = RunReader(folder)
        rows = [
            [tuple(value for name, value in row.items() if name != "run") for row in table]
            for table in (reader.trials(), reader.verdicts())
        ]
        findings = [(each["law"], each["trial"], each["shrunk_trial"], each["program"]) for each in reader.findings()]
        return done.returncode, rows, findings

    assert recorded("1") == recorded("2")
