"""Campaigns on a real cluster: two workers, one of them killed, a killed leader, and executors without pairproof."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from campaigns import planned, play
from run_digest import digest_of, numbers
from spark_cluster import Cluster, bare_python, cluster

import pairproof
from pairproof.harness.runs.reader import RunReader
from pairproof.reports import java

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark cluster")]

TARGET = "reference+answers_before_flush"
LAWS = ("ack-flushed", "log-prefix")
TRIALS = 320
PLAN = planned(TARGET, TRIALS, LAWS, keep="20000")
ASKED = ["--target", TARGET, "--trials", str(TRIALS), "--seed", "s", *(word for law in LAWS for word in ("--law", law))]
PATIENCE_S = 240


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of what one process plays."""
    return digest_of(play(tmp_path_factory.mktemp("runs") / "one", PLAN))


@pytest.fixture
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), 2) as made:
        yield made


def campaign(runs: Path, *arguments: str, python: Path | None = None) -> subprocess.Popen[str]:
    """A leader whose runs are named as they lie below its working directory: executors have another one."""
    runs.mkdir(exist_ok=True)
    environment = {**os.environ, **({"PYSPARK_PYTHON": str(python)} if python else {})}
    return subprocess.Popen(
        [sys.executable, "-m", "pairproof", "campaign", *arguments, "--runs", runs.name], text=True, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, cwd=runs.parent,
    )  # fmt: skip


def wait_for(what: Callable[[], bool], leader: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not what():
        assert leader.poll() is None and time.monotonic() < until, leader.communicate(timeout=10)[0]
        time.sleep(0.05)


def chunks(runs: Path) -> int:
    return len(list(runs.glob("*/chunks/*.json")))


def ended(leader: subprocess.Popen[str], runs: Path, digest: str) -> Path:
    """That it found what there is, whole, once."""
    said = leader.communicate(timeout=PATIENCE_S)[0]
    assert leader.returncode == 1, said
    (folder,) = runs.iterdir()
    RunReader(folder).check()
    assert numbers(folder) == list(range(len(numbers(folder))))
    assert digest_of(folder) == digest
    return folder


@pytest.mark.nightly
def test_two_cores_of_this_machine(tmp_path: Path, digest: str) -> None:
    ended(campaign(tmp_path, *ASKED, "--master", "local[2]"), tmp_path, digest)


def test_two_workers_of_which_one_is_killed(two: Cluster, tmp_path: Path, digest: str) -> None:
    leader = campaign(tmp_path, *ASKED, "--master", two.url)
    wait_for(lambda: chunks(tmp_path) >= 4, leader)
    two.kill(0)
    folder = ended(leader, tmp_path, digest)
    # The report's tasks, too, on the worker that is left.
    asked = ["report", folder.name, "--master", two.url, "--out", "out", "--json", "a"]
    line = [sys.executable, "-m", "pairproof", *asked]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    told = json.loads((tmp_path / "a").read_text())
    assert done.returncode == 1 and told["rejudged"]["different"] == 0 < told["rejudged"]["verdicts"], done.stderr


def test_executors_without_pairproof_and_a_leader_that_is_killed(two: Cluster, tmp_path: Path, digest: str) -> None:
    runs, python = tmp_path / "runs", bare_python(tmp_path / "bare")
    leader = campaign(runs, *ASKED, "--master", two.url, python=python)
    wait_for(lambda: chunks(runs) >= 4, leader)
    os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()
    (folder,) = runs.iterdir()
    before = {each.name: each.stat().st_mtime_ns for each in (folder / "chunks").iterdir()}
    # Taken up by Spark's own launcher, which brings the master.
    program = Path(pairproof.__file__).with_name("__main__.py")
    submit = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", two.url, str(program)]
    environment = {
        **os.environ, "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable,
        "JAVA_HOME": str(java.find().home), "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    leader = subprocess.Popen(
        [*submit, "campaign", "--resume", str(folder)], text=True, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    ended(leader, runs, digest)
    after = {name: (folder / "chunks" / name).stat().st_mtime_ns for name in before}
    assert after == before


@pytest.mark.nightly
def test_what_executors_lack_is_named_in_one_line(two: Cluster, tmp_path: Path) -> None:
    venv.create(tmp_path / "empty")
    leader = campaign(tmp_path, *ASKED, "--master", two.url, python=tmp_path / "empty" / "bin" / "python")
    said = leader.communicate(timeout=PATIENCE_S)[0]
    assert leader.returncode == 4 and re.search(r"the executors' Python has no \w+; install what", said)
    assert "Traceback" not in said
