"""A file of a stranger names no programs: a target that leads to files runs only where the command line names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands import findings, replay
from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.harness.runs.reader import named_finding, to_finding
from pairproof.harness.runs.writer import replay_line
from pairproof.harness.trials import resolve

CASE = Path(__file__).resolve().parents[2] / "examples/broker_team/cases/ha-appends-frames-7a3dbcad.json"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An unpacked RocketMQ, as far as anybody looks before it runs."""
    (tmp_path / "home" / "lib").mkdir(parents=True)
    (tmp_path / "home" / "lib" / "rocketmq-broker-4.9.7.jar").touch()
    return tmp_path / "home"


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the targets that a command was about to run."""
    found: list[str] = []

    def execute(finding: Any, lab: Any, target: Any, times: int) -> Any:
        found.append(target.name)
        raise UsageError("executed")

    monkeypatch.setattr(replay, "execute", execute)
    return found


def case(folder: Path, target: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "case.json"
    path.write_text(json.dumps({**json.loads(CASE.read_text()), "target": target, "lab": "process"}))
    return path


@pytest.mark.parametrize("form", ["rocketmq@{}", "rocketmq@reference,{}", "rocketmq@4.9.7..{}", "rocketmq@{}+agent"])
def test_a_case_that_names_a_path_runs_only_if_the_command_line_repeats_it(
    form: str, home: Path, tmp_path: Path, executed: list[str], capsys: Any
) -> None:
    target = form.format(home)
    path = case(tmp_path / "cases", target)
    assert main(["replay", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"the file names the target {target}, which runs programs from a path; if you trust" in said
    assert f"--target {target}" in said and said.count("\n") == 1
    # Beside others, one that is not played is no reason to leave the others out.
    assert main(["replay", str(tmp_path / "cases")]) == 2
    assert executed == [] and "INVALID" in capsys.readouterr().out
    assert main(["replay", str(path), "--target", target]) == 2
    assert executed == [target]


def test_names_that_lead_to_no_files_run_as_ever(tmp_path: Path, executed: list[str]) -> None:
    for target in ("reference+repeats_frame", "rocketmq@5.3.1", "rocketmq@4.9.7,reference"):
        main(["replay", str(case(tmp_path / "cases", target))])
    assert len(executed) == 3
    # What is known of a run's target is asked without running it.
    assert resolve.target("rocketmq@5.3.1").name == "rocketmq@5.3.1"


def test_a_campaign_that_names_a_path_is_not_taken_up(home: Path, tmp_path: Path, capsys: Any) -> None:
    facts = {"format": 2, "run": "r", "state": "interrupted", "lab": "sim", "campaign": {"trials": 5}}
    (tmp_path / "r").mkdir()
    for target, code, said in (
        (f"rocketmq@{home}", 2, "which runs programs from a path"),
        ("reference", 3, "was changed"),
    ):
        (tmp_path / "r" / "run.json").write_text(json.dumps({**facts, "target": target}))
        assert main(["campaign", "--resume", str(tmp_path / "r")]) == code
        assert said in capsys.readouterr().err


def test_a_finding_of_this_command_is_replayed_and_its_line_repeats_the_target(
    home: Path, tmp_path: Path, executed: list[str], capsys: Any
) -> None:
    path = case(tmp_path / "cases", f"rocketmq@{home}")
    findings.say_replayed(to_finding(named_finding(path)), path)
    assert executed == [f"rocketmq@{home}"] and "executed" in capsys.readouterr().out
    assert replay_line(path, f"rocketmq@{home}").endswith(f" --target rocketmq@{home}")
    assert "--target" not in replay_line(path, "rocketmq@5.3.1")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"master.storePathCommitLog": "/etc"}, "master.storePathCommitLog: the lab sets that itself"),
        ({"slave.rocketmqHome": "/etc"}, "slave.rocketmqHome: the lab sets that itself"),
        ({"slave.readOnlyCommitLogStorePaths": "/etc"}, "the lab sets that itself"),
        ({"brokerName": "a\nstorePathRootDir=/etc"}, "must be one line of printable text, not 'a\\\\nstore"),
        ({"master.regionId": "a\\"}, "must be one line of printable text"),
    ],
)
def test_a_schedule_sets_no_path_and_writes_one_line_for_a_setting(settings: Any, said: str) -> None:
    target: Any = resolve.target("rocketmq@4.9.7")
    assert target.settings({"master.regionId": "a b"})
    with pytest.raises(UsageError, match=said):
        target.settings(settings)
