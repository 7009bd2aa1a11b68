"""What a campaign's commit record is worth: whatever is damaged is played again or named, and nothing is lost."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from campaigns import Counting, facts_of, planned, play
from power_loss import Power, PowerLoss
from run_digest import digest_of

from pairproof.harness.campaign import campaign as leading
from pairproof.harness.campaign import chunks as playing
from pairproof.harness.campaign.campaign import Campaign
from pairproof.harness.campaign.plan import chunks
from pairproof.harness.commands.main import main
from pairproof.harness.errors import CorruptRun, UsageError
from pairproof.harness.runs import atomic
from pairproof.harness.runs.reader import RunReader
from pairproof.harness.runs.wholeness import digest, part_name
from pairproof.harness.runs.writer import RunWriter

LAWS = ("log-prefix",)
PLAN = planned("reference", 24, LAWS, keep="1")
OTHER = planned("reference", 24, LAWS, "t", "1")
TABLES = ("coverage", "faults", "history", "losses", "objectives", "trials", "verdicts")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("whole") / "run", PLAN)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of another seed."""
    return play(tmp_path_factory.mktemp("other") / "run", OTHER)


Pick = Callable[[str], int]


@pytest.fixture(scope="module")
def pick(whole: Path, other: Path) -> Pick:
    """Of a table, the number of a chunk of which another seed has other rows."""

    def differs(name: str) -> bool:
        one, another = whole / name, other / name
        return one.exists() and another.exists() and one.read_bytes() != another.read_bytes()

    return lambda table: next(each.part for each in chunks(PLAN) if differs(f"{table}/{part_name(each.part)}"))


@pytest.fixture(scope="module")
def chunk(pick: Pick) -> int:
    return pick("trials")


@pytest.fixture
def killed(whole: Path, tmp_path: Path) -> Path:
    """As it is when the leader is killed at its end: no list of contents."""
    return as_killed(shutil.copytree(whole, tmp_path / "run"))


def as_killed(folder: Path) -> Path:
    facts = json.loads((folder / "run.json").read_bytes())
    began = {name: each for name, each in facts.items() if name not in ("contents", "seconds", "trials", "events")}
    (folder / "run.json").write_text(json.dumps({**began, "state": "running"}))
    return folder


def resumed(folder: Path) -> tuple[list[int], list[str]]:
    """The chunks that were played, and what was said of damage."""
    told, engine = list[str](), Counting()
    campaign = Campaign.resumed(folder)
    campaign.damaged = told.append
    campaign.lead(engine)
    campaign.close()
    RunReader(folder).check()
    return engine.played, told


def emptied(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def deleted(path: Path, _: Path) -> None:
    path.unlink()


def swapped(path: Path, other: Path) -> None:
    shutil.copy(other, path)


@pytest.mark.parametrize("damage", [emptied, cut, deleted, swapped])
@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_part_is_played_again(
    table: str, damage: Callable[[Path, Path], None], killed: Path, whole: Path, other: Path, pick: Pick
) -> None:
    chunk = pick(table)
    part = f"{table}/{part_name(chunk)}"
    damage(killed / part, other / part)
    played, told = resumed(killed)
    assert played == [chunk] and part in told[0] and told[0].endswith("its chunk is played again")
    assert digest_of(killed) == digest_of(whole)


def test_an_undamaged_campaign_plays_nothing_again(killed: Path, whole: Path) -> None:
    assert resumed(killed) == ([], []) and digest_of(killed) == digest_of(whole)


def changed(path: Path, **fields: Any) -> None:
    """A chunk's record with other values, and its own digest right."""
    told = json.loads(path.read_bytes())["told"]
    text = json.dumps({**told, **fields})
    path.write_text(f'{{"digest": "{digest(text.encode())}", "told":\n{text}\n}}')


RECORDS: dict[str, Callable[[Path, Path], object]] = {
    "emptied": lambda path, _: path.write_text(""),
    "cut": lambda path, _: path.write_bytes(path.read_bytes()[:100]),
    "no object": lambda path, _: path.write_text("[]"),
    "of another seed": lambda path, other: shutil.copy(other, path),
    "edited": lambda path, _: path.write_text(path.read_text().replace('"holds"', '"vacuous"')),
    "edited with its digest": lambda path, _: changed(path, verdicts={"log-prefix": {"vacuous": 3}}),
    "of another kind": lambda path, _: changed(path, tables=[]),
    "of another kind within": lambda path, _: changed(path, deviations=[["id", [], 1, None]]),
    "without what violates": lambda path, _: changed(path, first={"log-prefix": {"": 0}}),
    "of another plan": lambda path, _: changed(path, plan="0" * 32),
    "of another chunk": lambda path, _: shutil.copy(path.with_name("00000.json"), path),
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_record_that_is_not_its_chunk_s_is_worth_nothing(
    case: str, killed: Path, whole: Path, other: Path, chunk: int
) -> None:
    name = playing.file_name(chunk)
    RECORDS[case](killed / name, other / name)
    played, told = resumed(killed)
    assert played == [chunk] and name in told[0]
    assert digest_of(killed) == digest_of(whole)


@pytest.mark.parametrize("fact", ["seed", "target", "laws", "profile", "keep", "campaign"])
def test_an_edited_plan_is_refused(fact: str, killed: Path) -> None:
    facts = json.loads((killed / "run.json").read_bytes())
    edited = {
        "seed": "t",
        "target": "reference+answers_before_flush",
        "laws": ["ack-flushed"],
        "profile": "quick",
        "keep": 3,
    }
    value = edited.get(fact) or {**facts["campaign"], "trials": 25}
    (killed / "run.json").write_text(json.dumps({**facts, fact: value}))
    with pytest.raises(CorruptRun, match=r"run\.json was changed: its target, seed, profile"):
        Campaign.resumed(killed)


def test_a_whole_campaign_is_complete_and_a_damaged_one_is_taken_up(whole: Path, tmp_path: Path, chunk: int) -> None:
    folder = shutil.copytree(whole, tmp_path / "run")
    with pytest.raises(UsageError, match="is complete"):
        Campaign.resumed(folder)
    (folder / "verdicts" / part_name(chunk)).write_bytes(b"")
    with pytest.raises(CorruptRun, match=rf"verdicts/{part_name(chunk)} is damaged"):
        RunReader(folder).check()
    assert resumed(folder)[0] == [chunk] and digest_of(folder) == digest_of(whole)


def test_complete_is_said_of_what_was_read_again_only(tmp_path: Path, chunk: int) -> None:
    """A disk that loses what it was given, between a chunk's commit and the campaign's end."""
    campaign = Campaign(RunWriter(tmp_path / "run", facts_of(PLAN)), PLAN)
    campaign.lead(Counting())
    (tmp_path / "run" / "trials" / part_name(chunk)).write_bytes(b"")
    with pytest.raises(CorruptRun, match=rf"trials/{part_name(chunk)} is not as it was written"):
        campaign.close()
    campaign.close("failed", "by a test")
    assert json.loads((tmp_path / "run" / "run.json").read_bytes())["state"] == "failed"
    assert resumed(tmp_path / "run")[0] == [chunk]


def test_an_edited_record_of_a_complete_campaign_is_a_corrupt_run(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(whole, tmp_path / "run")
    assert main(["show", str(folder)]) == 0
    changed(folder / playing.file_name(2), faults={})
    assert main(["show", str(folder)]) == 3
    assert "chunks/00002.json is not as it was written" in capsys.readouterr().err


@pytest.fixture
def unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks end with their process; here it lives on."""
    monkeypatch.setattr(leading, "alone", lambda folder: None)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How often a whole campaign writes a name or syncs."""
    folder = tmp_path_factory.mktemp("counted") / "run"
    with Power(folder, random.Random(0)) as power:
        play(folder, PLAN)
    return power.calls


def after_power_losses(folder: Path, seed: object, calls: int) -> list[str]:
    """Play the plan, lose power at a random moment, take it up, twice; what was said of damage."""
    chance = random.Random(f"power {seed}")
    told: list[str] = []
    for after in (chance.randrange(calls), chance.randrange(calls), None):
        with Power(folder, chance, after) as power:
            try:
                if (folder / "run.json").exists():
                    campaign = Campaign.resumed(folder)
                else:
                    campaign = Campaign(RunWriter(folder, facts_of(PLAN)), PLAN)
                campaign.damaged = told.append
                campaign.lead(Counting())
                campaign.close()
                break
            except PowerLoss:
                pass
            except UsageError as why:
                # It was all on the disk, and only nobody had heard.
                assert "is complete" in str(why)
                break
        power.lose()
    return told


@pytest.mark.usefixtures("unlocked")
@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_a_loss_of_power_takes_nothing_that_was_committed(seed: str, calls: int, whole: Path, tmp_path: Path) -> None:
    told = after_power_losses(tmp_path / "run", seed, calls)
    RunReader(tmp_path / "run").check()
    assert digest_of(tmp_path / "run") == digest_of(whole)
    assert not [line for line in told if ".parquet" in line]


@pytest.mark.nightly
@pytest.mark.usefixtures("unlocked")
@pytest.mark.parametrize("seed", range(30))
def test_thirty_losses_of_power_take_nothing(seed: int, calls: int, whole: Path, tmp_path: Path) -> None:
    assert not [line for line in after_power_losses(tmp_path / "run", seed, calls) if ".parquet" in line]
    assert digest_of(tmp_path / "run") == digest_of(whole)


@pytest.mark.usefixtures("unlocked")
def test_parts_that_are_not_synced_are_found_out(
    calls: int, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken case: a chunk that is committed before its parts are on the disk loses them, and is played again."""
    monkeypatch.setattr(playing, "atomic", SimpleNamespace(sync=lambda paths: None, put=atomic.put))
    told = after_power_losses(tmp_path / "run", "d", calls)
    assert any(".parquet" in line for line in told)
    assert digest_of(tmp_path / "run") == digest_of(whole)
