"""Campaigns on this machine: the same rows whoever plays, however often it is taken up, and what is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from campaigns import Counting, facts_of, planned
from run_digest import digest_of, numbers

from pairproof.harness.campaign import chunks as playing
from pairproof.harness.campaign.campaign import Campaign, Progress
from pairproof.harness.campaign.local import Local
from pairproof.harness.campaign.plan import chunks
from pairproof.harness.commands.main import main
from pairproof.harness.errors import CorruptRun, UsageError
from pairproof.harness.runs.reader import RunReader
from pairproof.harness.runs.writer import RunWriter

TARGET = "reference+answers_before_flush"
LAWS = ("ack-flushed", "log-flushed-survives")
TRIALS = 60
PLAN = planned(TARGET, TRIALS, LAWS)
FACTS = facts_of(PLAN)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that one process played."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    campaign = Campaign(RunWriter(folder, FACTS), PLAN)
    campaign.lead(Local(PLAN, 1))
    campaign.close()
    return folder


def test_a_campaign_is_a_run_that_finds_and_counts(played: Path) -> None:
    reader = RunReader(played)
    reader.check()
    violated = {row["law"] for row in reader.verdicts() if row["verdict"] == "violated"}
    assert reader.facts["state"] == "complete" and {each["law"] for each in reader.findings()} == violated != set()
    assert numbers(played) == list(range(reader.facts["trials"])) and reader.facts["trials"] > TRIALS
    rows = list(reader.trials())
    assert {row["origin"] for row in rows} == {
        "corpus",
        "moments",
        "sweep",
        "truncation",
        "cluster",
        "swarm",
        "machine",
        "shrink",
    }
    violating = {row["trial"] for row in reader.verdicts() if row["verdict"] == "violated"}
    assert {row["trial"] for row in rows if row["cause"]} == violating
    assert violating <= {number for number, _ in reader.histories()}


def test_whoever_plays_writes_the_same_rows(played: Path, tmp_path: Path) -> None:
    for name, engine in {"two": Local(PLAN, 2), "backwards": Counting()}.items():
        campaign = Campaign(RunWriter(tmp_path / name, FACTS), PLAN)
        campaign.lead(engine)
        campaign.close()
        assert digest_of(tmp_path / name) == digest_of(played)


def test_another_seed_gives_other_rows(played: Path, tmp_path: Path) -> None:
    plan = PLAN._replace(seed="t", trials=20)
    campaign = Campaign(RunWriter(tmp_path / "r", facts_of(plan)), plan)
    campaign.lead(Local(plan, 1))
    campaign.close()
    assert digest_of(tmp_path / "r") != digest_of(played)


def test_what_was_played_is_not_played_again(played: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    first = Counting(give_up=3)
    campaign = Campaign(RunWriter(folder, FACTS), PLAN)
    with pytest.raises(KeyboardInterrupt):
        campaign.lead(first)
    # One chunk was committed and nobody heard of it, another one was about to be.
    unheard, torn = chunks(PLAN)[:2]
    playing.play_chunk(PLAN, str(folder), campaign._about, unheard)
    playing.play_chunk(PLAN, str(folder), campaign._about, torn)
    (folder / playing.file_name(torn.part)).unlink()
    before = (folder / "run.json").read_text()
    with pytest.raises(UsageError, match=f"another process leads the campaign in {folder}; wait for its end, or end"):
        Campaign.resumed(folder)
    assert (folder / "run.json").read_text() == before
    campaign.close("interrupted", "by a test")
    RunReader(folder).check()
    took = RunReader(folder).facts["seconds"]
    found = [each for part in (*first.played, unheard.part) for each in chunks(PLAN) if each.part == part]
    assert len(numbers(folder)) == sum(each.trials for each in found)
    hidden = folder / "verdicts" / ".part-00002.parquet.1f.tmp"
    hidden.write_bytes(b"half")
    second, told = Counting(), list[Progress]()
    campaign = Campaign.resumed(folder)
    campaign.said = told.append
    campaign.lead(second)
    campaign.close()
    assert sorted([*first.played, unheard.part, *second.played]) == [each.part for each in chunks(PLAN)]
    assert digest_of(folder) == digest_of(played) and not hidden.exists()
    assert told[0].trials > 0 == told[0].played and told[-1].trials == told[-1].of
    facts = RunReader(folder).facts
    assert facts["state"] == "complete" and not facts["reason"]
    assert facts["seconds"] > took == facts["campaign"]["seconds"]


def test_a_campaign_whose_leader_was_killed_is_taken_up(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pairproof", "campaign", "--engine", "local", "--jobs", "2", "--target", TARGET]
    command += ["--trials", str(TRIALS), "--seed", "s", "--runs", str(tmp_path)]
    command += [word for law in LAWS for word in ("--law", law)]
    leader = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while len(list(tmp_path.glob("*/chunks/*.json"))) < 2 and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        leader.send_signal(signal.SIGKILL)
        leader.wait()
    (folder,) = tmp_path.iterdir()
    with pytest.raises(CorruptRun, match=r"is missing; take the campaign up again with pairproof campaign --resume"):
        # Nothing was lost in between; what lacks was never played.
        (folder / "trials" / "part-00000.parquet").unlink(missing_ok=True)
        (folder / "chunks" / "00000.json").unlink(missing_ok=True)
        RunReader(folder).check()
    assert main(["campaign", "--engine", "local", "--jobs", "1", "--resume", str(folder)]) == 1
    assert RunReader(folder).facts["state"] == "complete"
    assert numbers(folder) == list(range(RunReader(folder).facts["trials"]))


def test_a_campaign_plays_what_check_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    about = ["--trials", "40", "--seed", "s", "--law", "log-prefix"]
    assert main(["campaign", "--engine", "local", "--jobs", "1", *about, "--runs", "a", "--json", "a.json"]) == 0
    assert main(["check", "--profile", "deep", "--jobs", "1", *about, "--runs", "b", "--json", "b.json"]) == 0
    rows = []
    for name in "ab":
        (folder,) = (tmp_path / name).iterdir()
        reader = RunReader(folder)
        verdicts: Counter[tuple[object, ...]] = Counter()
        for row in reader.verdicts():
            # A row without content stands for several trials of its part, and the parts differ.
            trial = row["trial"] if row["judged"] or row["notes"] != "{}" else None
            verdicts[trial, row["law"], row["verdict"], row["judged"], row["broken"], row["notes"]] += row["trials"]
        rows.append([[{**row, "run": ""} for row in reader.trials()], verdicts])
    # The machine's last batch is drawn with its whole number, see slices.
    assert rows[0] == rows[1]
    told = [json.loads(Path(f"{name}.json").read_text()) for name in "ab"]
    same = ("trials", "events", "laws", "judged_in_trials", "coverage", "sweep", "truncation", "violated", "findings")
    assert [told[0][name] for name in same] == [told[1][name] for name in same]


REFUSED = {
    "real lab": (["--lab", "process"], "a campaign is for labs that are deterministic, not for process"),
    "unknown law": (["--law", "nosuch"], "unknown law"),
    "master without Spark": (["--engine", "local", "--master", "local[2]"], "--master is for --engine spark"),
    "jobs with Spark": (["--jobs", "2"], "--jobs is for --engine local"),
    "resumed otherwise": (["--resume", "x", "--seed", "s"], "leave out seed"),
    "nothing there": (["--resume", "x"], "no run folder x"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, told = REFUSED[case]
    assert main(["campaign", *arguments]) == 2
    assert told in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_what_cannot_be_taken_up_is_refused(played: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is complete; make its report"):
        Campaign.resumed(played)
    with RunWriter(tmp_path / "plain", {"target": TARGET, "lab": "sim"}):
        pass
    with pytest.raises(UsageError, match="is not a campaign's run"):
        Campaign.resumed(tmp_path / "plain")
    writer = RunWriter(tmp_path / "old", facts_of(PLAN._replace(code="0" * 32)))
    writer.close("interrupted")
    with pytest.raises(UsageError, match="begun by another state of the code; go on with that one"):
        Campaign.resumed(tmp_path / "old")
