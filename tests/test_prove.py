"""The job's script, with a pairproof that only says what it was asked: parts, folder, exit codes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FAKE = """\
#!/bin/sh
echo "$@" >>asked
case "$1" in
  check) (shift $(($# - 1)); mkdir -p "$1/run") ;;
  report) (shift $(($# - 2)); mkdir -p "$2"; touch "$2/junit.xml"; [ -n "$NO_JAVA" ] || touch "$2/index.html") ;;
esac
for each in $FAIL; do
  case "$* " in *${each%%=*}*) echo "violated: a-law: why"; exit "${each#*=}" ;; esac
done
"""


def prove(folder: Path, *arguments: str, **environment: str) -> tuple[int, list[str], str]:
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "prove", folder / ".ci" / "prove")
    fake = folder / ".venv" / "bin" / "pairproof"
    fake.parent.mkdir(parents=True)
    fake.write_text(FAKE)
    fake.chmod(0o755)
    done = subprocess.run(
        [folder / ".ci" / "prove", *arguments],
        env={"FAIL": "", "NO_JAVA": "", **{k: v for k, v in os.environ.items() if k == "PATH"}, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    asked = (folder / "asked").read_text().splitlines()
    # It is made while the mutants are played: where among them it is asked for says nothing.
    return done.returncode, sorted(asked, key=lambda each: each.startswith("report ")), done.stdout


BOTH = {"PROOF_FEW": "", "PROOF_MUTANT_LABS": "docker process"}
"""In both labs the same."""


def test_the_job_plays_both_labs_finds_a_bug_in_the_first_and_makes_one_report(tmp_path: Path) -> None:
    code, asked, said = prove(tmp_path, "runs/mine", PROOF_SEED="s")
    assert code == 0 and "prove: seed s" in said
    assert asked[:4] == [
        "labs install toxiproxy",
        "check --profile proof --lab docker --jobs 6 --seed s --runs runs/mine/runs/docker",
        "check --profile proof --lab process --jobs 6 --trials 8 --seed s --runs runs/mine/runs/process",
        "mutants loses_first_frame --lab docker --jobs 6 --seed s --runs runs/mine/mutants/mutant-docker",
    ]
    assert len(asked) == 5 and asked[4].startswith("report ")


def test_where_it_is_asked_for_the_second_lab_plays_all_trials_too_and_finds_the_bug(tmp_path: Path) -> None:
    code, asked, _ = prove(tmp_path, "runs/mine", PROOF_SEED="s", **BOTH)
    assert code == 0
    assert asked[2] == "check --profile proof --lab process --jobs 6 --seed s --runs runs/mine/runs/process"
    assert [each.split()[0] for each in asked] == ["labs", "check", "check", "mutants", "mutants", "report"]
    assert asked[-1] == "report runs/mine/runs/docker/run/ runs/mine/runs/process/run/ --out runs/mine/report"
    assert (tmp_path / "runs" / "mine" / "report" / "junit.xml").exists()


LAB_PARTS = {"docker": 1, "process": 2, "mutant-docker": 3, "mutant-process": 4}


@pytest.mark.parametrize(
    ("fail", "code", "again"),
    [
        ("check*docker=4", 4, {"docker"}),
        ("check*docker=3", 3, {"docker"}),
        ("check*docker=4 check*process=3", 4, {"docker", "process"}),
        ("check*docker=4 mutants=1", 1, {"docker"}),
        ("check*docker=3 check*process=1", 1, {"docker"}),
        ("mutants*process=4", 4, {"mutant-process"}),
        ("report=4", 4, set()),
        ("mutants=2", 2, set()),
        ("check*docker=3 report=137", 137, {"docker"}),
    ],
)
def test_a_part_that_fails_does_not_end_the_others_and_the_worst_code_counts(
    fail: str, code: int, again: set[str], tmp_path: Path
) -> None:
    found, asked, said = prove(tmp_path, "out", FAIL=fail, **BOTH)
    assert found == code and f"exit code {code} after" in said
    expected = [each for part in LAB_PARTS for each in ([part, f"{part}-again"] if part in again else [part])]
    assert [each.rpartition("/")[2] for each in asked[1:-1]] == expected
    assert asked[-1].startswith("report ")


def test_what_decided_nothing_is_played_again_and_counts_only_if_that_decides_nothing_either(tmp_path: Path) -> None:
    failing = "runs/docker[!-]=3 mutants/mutant-process[!-]=4"
    code, asked, said = prove(tmp_path, "out", PROOF_SEED="s", FAIL=failing, **BOTH)
    # The second try of either is in a folder with another name, and does not fail.
    assert code == 0 and "docker has decided nothing: once more" in said
    assert "--seed s-again --runs out/runs/docker-again" in asked[2]
    assert asked[-1] == "report out/runs/docker-again/run/ out/runs/process/run/ --out out/report"
    assert (tmp_path / "out" / "undecided" / "docker" / "run").is_dir(), "and nothing is lost"


@pytest.mark.parametrize("fail", ["", "report=3"])
def test_without_java_the_job_says_so_whatever_else_is_unknown(fail: str, tmp_path: Path) -> None:
    code, _, said = prove(tmp_path, "out", NO_JAVA="1", FAIL=fail)
    assert code == 4 and "no Java that Spark can use: the report is report.json and junit.xml only" in said


def test_what_is_violated_is_said_again_at_the_end_but_not_what_a_mutant_violates(tmp_path: Path) -> None:
    _, _, said = prove(tmp_path, "out", FAIL="check*process=1 mutants=1")
    assert [each for each in said.splitlines()[-3:] if "a-law" in each] == ["prove: process: violated: a-law: why"]


def test_ci_and_the_workflow_call_the_same_scripts() -> None:
    assert "\nmake prove\n" in (ROOT / ".ci" / "run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert "bash .ci/prove" in makefile
    workflow = (ROOT / ".github" / "workflows" / "conformance.yml").read_text()
    assert "bash .ci/run" in workflow and "path: runs/proof-*" in workflow
