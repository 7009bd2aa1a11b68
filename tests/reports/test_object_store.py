"""Runs in an object store: campaigns, reports and replays by URL, against moto's S3 server and the real s3fs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_digest import digest_of

from pairproof.harness.runs.locations import place
from pairproof.harness.runs.reader import RunReader, find_runs

pytestmark = pytest.mark.nightly

BUCKET = "s3a://pairproof-test"
ASKED = ["--target", "reference+answers_before_flush", "--trials", "300", "--seed", "s", "--law", "ack-flushed"]
PATIENCE_S = 300


@pytest.fixture(scope="module")
def served() -> Iterator[None]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    told = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-east-1"}
    # Moto takes any.
    told |= {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in told.items():
            patched.setenv(name, value)
        place(BUCKET).mkdir()
        yield
    server.stop()


def pairproof(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "pairproof", *arguments]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_a_campaign_is_played_into_a_bucket_taken_up_and_reported(served: None, tmp_path: Path) -> None:
    here = pairproof("campaign", *ASKED, "--engine", "local", "--runs", "runs", cwd=tmp_path)
    assert here.returncode == 1, here.stderr
    (alone,) = (tmp_path / "runs").iterdir()
    there = pairproof("campaign", *ASKED, "--runs", f"{BUCKET}/runs", cwd=tmp_path)
    assert there.returncode == 1, there.stderr
    (folder,) = find_runs(place(f"{BUCKET}/runs"))
    RunReader(folder).check()
    assert digest_of(folder) == digest_of(alone)
    assert not list(folder.glob("*/.*"))

    # A leader that was killed: facts without an end, and chunks that nobody played.
    facts = json.loads((folder / "run.json").read_bytes())
    facts = {name: each for name, each in facts.items() if name != "contents"} | {"state": "running"}
    (folder / "run.json").write_text(json.dumps(facts))
    for path in [*folder.glob("chunks/0000[1-3].json"), *folder.glob("findings/*.json")]:
        path.unlink()
    again = pairproof("campaign", "--resume", str(folder), "--engine", "local", cwd=tmp_path)
    assert again.returncode == 1, again.stderr
    assert digest_of(folder) == digest_of(alone)

    # A store: all runs below a folder. By both engines, to the same pages.
    environment = os.environ | {"SOURCE_DATE_EPOCH": "0"}
    pages = []
    for engine in ("spark", "local"):
        line = [sys.executable, "-m", "pairproof", "report", f"{BUCKET}/runs", "--engine", engine, "--out", engine]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        files = sorted((tmp_path / engine).glob("**/*.html"))
        pages.append({str(each.relative_to(tmp_path / engine)): each.read_bytes() for each in files})
    assert pages[0] == pages[1] and len(pages[0]) > 10

    replayed = pairproof("replay", f"{folder}/findings/0001.json", cwd=tmp_path)
    assert replayed.returncode == 1 and "reproduced" in replayed.stdout, replayed.stderr


def test_what_cannot_be_reached_is_said_in_one_line(
    served: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = pairproof("report", f"{BUCKET}/nothing", cwd=tmp_path)
    assert missing.returncode == 2 and missing.stderr.count("\n") == 1, missing.stderr
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free.getsockname()[1]}")
    gone = pairproof("campaign", *ASKED, "--engine", "local", "--runs", f"{BUCKET}/runs", cwd=tmp_path)
    assert gone.returncode == 4 and gone.stderr.count("\n") == 1, gone.stderr
