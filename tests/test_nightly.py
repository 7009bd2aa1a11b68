"""The script of `make nightly`: no part ends the others, what passed is not done again, the result is written down."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAKE = """\
#!/bin/sh
echo "$@" >>asked
for each in $FAIL; do
  case "$* " in *$each*) exit 3 ;; esac
done
"""


def nightly(folder: Path, *parts: str, fail: str = "") -> tuple[int, list[str], str]:
    """Exit code, what was asked of the commands, and the result's text."""
    (folder / ".ci").mkdir(exist_ok=True)
    shutil.copy(ROOT / ".ci" / "nightly", folder / ".ci" / "nightly")
    for name in ("pairproof", "python"):
        fake = folder / ".venv" / "bin" / name
        fake.parent.mkdir(parents=True, exist_ok=True)
        fake.write_text(FAKE)
        fake.chmod(0o755)
    (folder / "asked").unlink(missing_ok=True)
    done = subprocess.run(
        ["bash", folder / ".ci" / "nightly", "runs/n", *parts], env={"PATH": os.environ["PATH"], "FAIL": fail},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    asked = (folder / "asked").read_text().splitlines() if (folder / "asked").exists() else []
    return done.returncode, asked, (folder / "runs" / "n" / "result.txt").read_text()


def test_everything_is_asked_for_and_the_result_names_commit_date_and_parts(tmp_path: Path) -> None:
    code, asked, result = nightly(tmp_path)
    assert code == 0
    assert "-m pytest -rsR --numprocesses 7 -m nightly" in asked
    assert [each for each in asked if "--shuffle n" in each] and "mutants --seed n" in asked
    assert result.startswith("commit ") and " UTC\n" in result
    assert result.count("exit code 0 after") == len(asked) == len(result.splitlines()) - 1


def test_a_part_that_fails_does_not_end_the_others_and_only_that_part_is_done_again(tmp_path: Path) -> None:
    _, everything, _ = nightly(tmp_path)
    shutil.rmtree(tmp_path / "runs")
    code, asked, result = nightly(tmp_path, fail="control_losses.py")
    assert (code, asked) == (1, everything) and result.count("exit code 3 after") == 1
    code, asked, result = nightly(tmp_path)
    assert (code, asked) == (0, ["tests/control/control_losses.py"])
    assert result.count("commit ") == 2 and result.count("passed before") == len(everything) - 1


def test_parts_that_are_named_are_the_only_ones(tmp_path: Path) -> None:
    code, asked, result = nightly(tmp_path, "mutants", "check-ci")
    assert (code, asked) == (0, ["mutants --seed n", "check --profile ci"])
    assert result.count("exit code 0 after") == 2


def test_every_control_is_a_part_of_it() -> None:
    scripts = {path.name for path in (ROOT / "tests" / "control").glob("control_*.py")}
    said = (ROOT / ".ci" / "nightly").read_text()
    # Two commits are compared by hand (docs/decisions/0044).
    assert {each for each in scripts if each not in said} == {"control_digests.py"}
    for script, given in re.findall(r"\$control/(\w+\.py)((?:\\\n|[^\n])*)", said):
        options = set(re.findall(r"--[a-z-]+", given))
        text = (ROOT / "tests" / "control" / script).read_text()
        assert options <= set(re.findall(r'"(--[a-z-]+)"', text)), f"{script} lacks one of {sorted(options)}"


def test_what_a_stalled_machine_left_open_of_the_labs_comparison_fails_no_night(tmp_path: Path) -> None:
    code, _, result = nightly(tmp_path, "parity", fail="parity")
    assert code == 0 and "exit code 3 after" in result
    assert "passed before" in nightly(tmp_path, "parity")[2]
