"""Behaviour is what it was: a sample of the stored schedules has the digests that are checked in; and digests can fire.

A change that is meant remakes them (:data:`RECREATE`), in a commit that says what has changed.
"""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import control_digests
import projection
import pytest
from control_digests import main
from digest_files import Line, Stored, differing, read, stored

from pairproof.harness.history import Event
from pairproof.harness.trials.trial import Trial

SCRIPT = Path(control_digests.__file__)
SAMPLE = SCRIPT.with_name("digests-sample.txt")
EVERY = 200
RECREATE = f"python tests/control/control_digests.py hash --anew --every {EVERY} tests/control/{SAMPLE.name}"
HELP = f"""\
The digests were right at the commit that git log -1 {SAMPLE.relative_to(SCRIPT.parents[2])} names: to see what differs,
make digests (--every {EVERY}), and call compare with them and --old CHECKOUT, where that commit is checked out.
If the difference is meant, say so in the commit that remakes them: {RECREATE}
"""
FEW = 800
"""Each such schedule, where a test needs only a few."""


def hashed(out: Path, *arguments: str, every: int = FEW) -> Path:
    assert main(["hash", str(out), "--every", str(every), "--jobs", "1", *arguments]) == 0
    return out


def test_stored_schedules_do_what_they_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = hashed(tmp_path / "now", every=EVERY)
    assert read(SAMPLE).lines.keys() == read(now).lines.keys()
    capsys.readouterr()
    same = main(["compare", str(SAMPLE), str(now)]) == 0
    assert same, f"{capsys.readouterr().out}\n{HELP}"


def test_all_searches_are_stored_and_sampled() -> None:
    searches = {
        "corpus",
        "sweep",
        "cuts",
        "stories",
        "whole",
        "machine",
        "paced",
        "scenario",
        "mutants",
        "swarm",
    }
    counts = Counter(each.origin for each in stored(control_digests.SCHEDULES))
    assert counts.total() == 20_000 and counts.keys() == searches
    assert {each.origin for each in read(SAMPLE).lines.values()} >= searches - {"corpus", "stories"}


def test_hash_seeds_and_processes_give_the_same_digests(tmp_path: Path) -> None:
    texts = set()
    for hash_seed, jobs in (("0", "1"), ("4711", "2")):
        out = tmp_path / hash_seed
        command = [sys.executable, str(SCRIPT), "hash", str(out), "--every", str(FEW), "--jobs", jobs]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True, capture_output=True)
        texts.add(out.read_text())
    assert len(texts) == 1


def test_a_target_that_behaves_otherwise_is_seen_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = hashed(tmp_path / "before")
    after = hashed(tmp_path / "after", "--target", "reference+acks_at_once")
    capsys.readouterr()
    assert main(["compare", str(before), str(after), "--show", "1"]) == 1
    said = capsys.readouterr().out
    assert "schedules differ (history: " in said and "differs in history" in said
    shown = dict(line.split(maxsplit=1) for line in said.splitlines() if line.startswith(("    before", "    after")))
    assert shown["before"] != shown["after"]


def test_a_millisecond_more_of_latency_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The lab's own settings are an event, too, which would give the change away.
    before = read(hashed(tmp_path / "before", "--without", "lab"))
    play = projection.play

    def slower(document: dict[str, Any], target: str) -> Trial:
        return play({**document, "settings": {**document["settings"], "lab.latencyMicros": 1_500}}, target)

    monkeypatch.setattr(projection, "play", slower)
    after = read(hashed(tmp_path / "after", "--without", "lab"))
    found = differing(before, after)
    assert len(found) == len(before.lines) == 25 and all("history" in parts for _, parts in found)


# What a projection depends on.


class Flush(NamedTuple):
    """An event as it may be stored one day."""

    t: int
    node: str
    upto: int
    first: bool | None

    def columns(self) -> dict[str, object]:
        own = {"t": self.t, "kind": "flush", "node": self.node, "hi": self.upto, "value": self.first}
        return {name: value for name, value in own.items() if value is not None}


def test_a_typed_event_gives_the_same_line_as_a_row() -> None:
    row = Event(7, 5, "flush", "master", hi=0, value=1)
    line = projection.event_line(projection.columns(row))
    assert line == '[5,"master","flush",{"hi":0,"value":1}]'
    assert projection.event_line(Flush(5, "master", 0, True).columns()) == line
    # Nothing and 0 are two things: the first message of a queue has an offset.
    assert projection.event_line(Flush(5, "master", 0, None).columns()) != line


def test_the_order_of_keys_in_a_detail_makes_no_difference_and_its_values_do() -> None:
    def line(detail: str) -> str:
        return projection.event_line({"t": 0, "kind": "table", "detail": detail})

    assert line('{"a": 1, "b": 2}') == line('{"b":2,"a":1}') != line('{"b":2,"a":2}')
    assert line("{no JSON") != line("{no json")


def a_violation() -> Stored:
    return next(each for each in stored(control_digests.SCHEDULES) if each.target)


def test_a_reworded_law_changes_words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = a_violation()
    before = projection.projected(shown.document, shown.target)
    play = projection.play
    monkeypatch.setattr(projection, "play", lambda document, target: reworded(play(document, target)))
    after = projection.projected(shown.document, shown.target)
    assert after[:2] == before[:2] and after.words != before.words


def reworded(trial: Trial) -> Trial:
    said = [[one._replace(text=f"Alas, {one.text}") for one in each.violations] for each in trial.judgements]
    judged = [each._replace(violations=tuple(new)) for each, new in zip(trial.judgements, said, strict=True)]
    return trial._replace(judgements=judged)


def test_a_law_that_was_added_can_be_left_out() -> None:
    shown = a_violation()
    every = projection.projected(shown.document, shown.target)
    fewer = projection.projected(shown.document, shown.target, {"contract"})
    assert fewer.history == every.history and len(fewer.verdicts) == len(every.verdicts) - 1


def test_a_trial_that_raises_is_a_difference_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(document: dict[str, Any], target: str) -> Trial:
        raise ValueError("oh")

    monkeypatch.setattr(projection, "play", raises)
    assert projection.projected({}, "reference") == (("raised ValueError",), (), ("oh",))


# The program.


def test_a_run_that_was_killed_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_digests, "commit", lambda: "abc")
    out = hashed(tmp_path / "out")
    whole = out.read_text()
    out.write_text(whole[: len(whole) // 2])
    played: list[int] = []
    monkeypatch.setattr(control_digests, "played", lambda job, play=control_digests.played: noted(played, play(job)))
    assert hashed(out).read_text() == whole
    assert 0 < len(played) < whole.count("\n") - 1


def noted(played: list[int], line: Line) -> Line:
    played.append(line.number)
    return line


@pytest.mark.parametrize(
    ("commit", "arguments", "why"),
    [
        ("abc-dirty", (), "not committed"),
        ("def", (), "holds digests of commit"),
        ("abc", ("--target", "reference+acks_at_once"), "target"),
        ("abc", ("--target", "nowhere"), "nowhere"),
        ("abc", ("--schedules", "nothing.xz"), "nothing.xz"),
    ],
)
def test_digests_of_other_code_are_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], commit: str,
    arguments: tuple[str, ...], why: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(control_digests, "commit", lambda: "abc-dirty" if "dirty" in commit else "abc")
    out = hashed(tmp_path / "out", every=10_000)
    monkeypatch.setattr(control_digests, "commit", lambda: commit)
    assert main(["hash", str(out), "--every", "10000", "--jobs", "1", *arguments]) == 2
    assert why in capsys.readouterr().err


def test_what_cannot_be_compared_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").write_text("no digests\n")
    assert main(["compare", str(SAMPLE), str(tmp_path / "other")]) == 2
    head, *lines = SAMPLE.read_text().splitlines()
    about = {**json.loads(head[2:]), "schedules": "others"}
    (tmp_path / "other").write_text("\n".join((f"# {json.dumps(about)}", *lines, "")))
    assert main(["compare", str(SAMPLE), str(tmp_path / "other")]) == 2
    assert "the other with others" in capsys.readouterr().err


def test_differences_of_another_commit_are_shown_by_its_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = hashed(tmp_path / "before", "--target", "reference+acks_at_once")
    monkeypatch.setattr(control_digests, "commit", lambda: "later")
    after = hashed(tmp_path / "after")
    assert main(["compare", str(before), str(after)]) == 1
    assert "add --old" in capsys.readouterr().out
    assert main(["compare", str(before), str(after), "--old", str(tmp_path)]) == 2
    assert "must be a checkout" in capsys.readouterr().err
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (tmp_path / "tests").symlink_to(SCRIPT.parents[1])
    assert main(["compare", str(before), str(after), "--old", str(tmp_path), "--show", "1"]) == 1
    assert "    before " in capsys.readouterr().out


@pytest.mark.parametrize("line", ['{"origin": "swarm"}', "[]", "no JSON"])
def test_a_file_without_schedules_is_refused(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.xz"
    bad.write_bytes(lzma.compress(f"{line}\n".encode()))
    assert main(["hash", str(tmp_path / "out"), "--schedules", str(bad), "--jobs", "1"]) == 2
    assert f"line 1 of {bad} is not a stored schedule" in capsys.readouterr().err
    bad.write_bytes(bad.read_bytes()[:-20])
    assert main(["show", "0", "--schedules", str(bad)]) == 2


def test_a_process_that_is_killed_ends_the_run_and_not_its_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(control_digests, "played", dies)
    assert main(["hash", str(tmp_path / "out"), "--every", str(FEW)]) == 2
    assert "was killed; the same command resumes" in capsys.readouterr().err


def dies(job: control_digests.Job) -> Line:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still here")
