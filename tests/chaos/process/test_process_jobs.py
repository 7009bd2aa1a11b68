"""`pairproof check --jobs` with real processes: trials side by side, and nothing is left of any lab."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toxiproxies import binary

from pairproof.chaos.labs.real import folders
from pairproof.chaos.labs.real.environment import CONTROLS
from pairproof.harness.runs.reader import RunReader

pytestmark = pytest.mark.slow

PAIRPROOF = str(Path(sys.executable).parent / "pairproof")
LAW = "log-grows"
CHECK = [PAIRPROOF, "check", "--lab", "process", "--seed", "s", "--law", LAW, "--jobs", "3", "--json", "answer.json"]


def started(folder: Path, trials: int) -> subprocess.Popen[str]:
    (folder / "labs").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder / "labs"), "PAIRPROOF_TOXIPROXY": str(binary())}
    return subprocess.Popen(
        [*CHECK, "--trials", str(trials)], cwd=folder, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def labs(folder: Path) -> list[Path]:
    return list((folder / "labs").glob(f"pairproof-*/{folders.PREFIX}*"))


def nothing_is_left(folder: Path) -> bool:
    return not labs(folder) and not folders.mounts_below(folder) and not folders._loop_devices_below(folder)


def test_trials_side_by_side_keep_the_laws_and_labs_are_given_back(tmp_path: Path) -> None:
    process = started(tmp_path, 5)
    said, _ = process.communicate(timeout=240)
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert process.returncode == 0 and answer["laws"] == {LAW: "holds"}, said
    reader = RunReader(tmp_path / answer["folder"])
    assert sorted(each["trial"] for each in reader.trials()) == list(range(answer["trials"]))
    origins = {each["origin"] for each in reader.trials()}
    assert answer["trials"] == 5 and origins == {"sweep", "known-bugs", "swarm", "cluster"}
    assert nothing_is_left(tmp_path)


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_nothing_is_left_whatever_ends_it(how: signal.Signals, code: int, tmp_path: Path) -> None:
    process = started(tmp_path, 1_000)
    try:
        until = time.monotonic() + 60
        # What is killed before its keeper has begun is left for the next lab to remove.
        while sum((each / CONTROLS).exists() for each in labs(tmp_path)) < 3:
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        if how is signal.SIGINT:
            # As a terminal does: to all of them.
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
        said, _ = process.communicate(timeout=100)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code and "Traceback" not in said, said
    until = time.monotonic() + 60
    while not nothing_is_left(tmp_path):
        assert time.monotonic() < until, labs(tmp_path)
        time.sleep(0.1)
