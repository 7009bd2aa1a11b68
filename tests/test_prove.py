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
  check) mkdir -p "${11}/run-$5" ;;
esac
for each in $FAIL; do
  case "$*" in *"${each%%=*}"*) exit "${each#*=}" ;; esac
done
case "$1" in
  report) shift $(($# - 2)); mkdir -p "$2"; touch "$2/junit.xml"; [ -n "$NO_JAVA" ] || touch "$2/index.html" ;;
esac
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
    return done.returncode, (folder / "asked").read_text().splitlines(), done.stdout


def test_the_job_plays_both_labs_finds_a_bug_in_both_and_makes_one_report(tmp_path: Path) -> None:
    code, asked, said = prove(tmp_path, "runs/mine", PROOF_SEED="s")
    assert code == 0 and "prove: seed s" in said
    assert asked[0] == "labs install toxiproxy"
    assert asked[1] == "check --profile proof --lab docker --seed s --jobs 6 --runs runs/mine/runs"
    assert [each.split()[0] for each in asked] == ["labs", "check", "check", "mutants", "mutants", "report"]
    assert asked[-1] == "report runs/mine/runs/run-docker/ runs/mine/runs/run-process/ --out runs/mine/report"
    assert (tmp_path / "runs" / "mine" / "report" / "junit.xml").exists()


@pytest.mark.parametrize(
    ("fail", "code"),
    [
        ("docker=4", 4),
        ("docker=3", 3),
        ("docker=4 process=3", 4),
        ("docker=4 mutants=1", 1),
        ("docker=3 process=1", 1),
        ("report=4", 4),
        ("mutants=2", 2),
    ],
)
def test_a_part_that_fails_does_not_end_the_others_and_the_worst_code_counts(
    fail: str, code: int, tmp_path: Path
) -> None:
    found, asked, said = prove(tmp_path, "out", FAIL=fail)
    assert found == code and f"exit code {code} after" in said
    assert [each.split()[0] for each in asked] == ["labs", "check", "check", "mutants", "mutants", "report"]


def test_without_java_the_job_says_so_and_does_not_succeed(tmp_path: Path) -> None:
    code, _, said = prove(tmp_path, "out", NO_JAVA="1")
    assert code == 4 and "no Java that Spark can use: the report is report.json and junit.xml only" in said


def test_ci_and_the_workflow_call_the_same_scripts() -> None:
    assert "\nmake prove\n" in (ROOT / ".ci" / "run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert "bash .ci/prove" in makefile
    workflow = (ROOT / ".github" / "workflows" / "conformance.yml").read_text()
    assert "bash .ci/run" in workflow and "path: runs/proof-*" in workflow
