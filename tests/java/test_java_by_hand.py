"""Each finding's script shows, with RocketMQ's own programs alone, what its page says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pairproof.chaos.rocketmq.install import JARS

pytestmark = [pytest.mark.slow, pytest.mark.nightly]
FINDINGS = Path(__file__).resolve().parents[2] / "docs" / "findings"
SCRIPTS = sorted(FINDINGS.glob("*/by-hand.sh"))
LIMIT_S = 600
PRINTS = re.compile(r"`sh by-hand\.sh LIB`.*?```text\n(.*?)```", re.DOTALL)
RETRIES = "retries-in-queues"


def printed(script: Path, jars: Path, folder: Path) -> str:
    """Its output, in a network namespace of its own: its ports are fixed."""
    copy = folder / script.name
    copy.write_bytes(script.read_bytes())
    inside = f"ip link set lo up && sh {copy} {jars}"
    done = subprocess.run(["unshare", "--net", "sh", "-c", inside], capture_output=True, timeout=LIMIT_S, check=False)
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda each: each.parent.name)
def test_a_findings_script_prints_what_its_page_says(script: Path, tmp_path: Path) -> None:
    release = script.parent.name.partition("-")[0]
    found = printed(script, JARS[release].install(), tmp_path)
    said = PRINTS.search((script.parent / "report.md").read_text("utf-8"))
    assert said is not None
    for line in said[1].splitlines():
        assert re.search(re.escape(line).replace("…", ".*"), found), f"{line} is not in:\n{found}"
    if RETRIES in str(script):
        assert found.count("retry 0 and sends it back") == 6 > found.count("retry 1")


def test_a_script_without_its_steps_prints_something_else(tmp_path: Path) -> None:
    """The broken case: without its consumer the group has no offsets anywhere."""
    script = FINDINGS / "5.5.0-a-slave-takes-no-offsets-over" / "by-hand.sh"
    without = tmp_path / "without.sh"
    without.write_text(re.sub(r"(?m)^CONSUMER=0 .*\n", "", script.read_text("utf-8")), "utf-8")
    (tmp_path / "copy").mkdir()
    assert "pairproof@g0" not in printed(without, JARS["5.5.0"].install(), tmp_path / "copy")
