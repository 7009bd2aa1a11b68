"""What comes from data acts on no terminal, and what a URL holds in secret is neither shown nor kept."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pairproof.harness.commands import output
from pairproof.harness.commands.main import main
from pairproof.harness.history import Event
from pairproof.harness.judging.verdict import Judgement, Verdict, Violation
from pairproof.harness.runs.locations import place
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.texts.plain import plain, without_secrets
from pairproof.harness.trials.schedule import Schedule
from pairproof.harness.trials.trial import Finding, Trial

ROGUE = "a\x1b]0;owned\x07b\x9bc\r\u202ed\x00"
SHOWN = r"a\x1b]0;owned\x07b\x9bc\r\u202ed\x00"


def assert_harmless(said: str) -> None:
    assert SHOWN in said
    assert not [each for each in said if not each.isprintable() and each not in "\n\t"]


def test_controls_are_escaped_and_ours_stay() -> None:
    assert plain(ROGUE) == SHOWN
    assert plain("é\tx\n  日本 \\x1b") == "é\tx\n  日本 \\x1b"


def test_whatever_prints_a_line_prints_no_control_character(capsys: Any) -> None:
    for print_it in (output.say, output.echo, lambda line: output.table(line, (line,), [(line,)])):
        print_it(ROGUE)
        assert_harmless(capsys.readouterr().out)
    file = io.StringIO()
    with output.progress(file) as progress:
        progress(1, 2, f"work: {ROGUE}")
    assert_harmless(file.getvalue())


def test_an_error_s_line_prints_none(capsys: Any) -> None:
    assert main(["replay", "\x1b]0;owned\x07\x9b\n\u202e.json"]) == 2
    said = capsys.readouterr().err
    assert r"\x1b]0;owned\x07\x9b \u202e.json" in said and said.count("\n") == 1 and said[:-1].isprintable()


FACTS = {"seed": "s", "system": "rocketmq", "lab": "sim", "target": "reference"}
BROKEN = Judgement("log-prefix", Verdict.VIOLATED, 3, 2, (Violation(1, 1_000, ROGUE, "m1"),))


def recorded(folder: Path, **facts: object) -> Path:
    """A run whose texts are a stranger's."""
    schedule = Schedule({}, "s", ())
    with RunWriter(folder, {**FACTS, **facts}) as writer:
        writer.trial(Trial(0, "swarm", schedule, [Event(0, 0, "stop", "master")], [BROKEN], (), ()), keep=True)
        writer.finding(Finding("log-prefix", ROGUE, "reference", "sim", 0, 0, schedule, 3))
    return folder


@pytest.mark.parametrize("command", ["show", "judge", "report"])
def test_commands_on_a_stranger_s_run_print_none(command: str, tmp_path: Path, capsys: Any) -> None:
    run = recorded(tmp_path / "r", **({"target": f"reference{ROGUE}"} if command == "show" else {}))
    main([command, str(run), *(["--engine", "local"] if command == "report" else [])])
    said = capsys.readouterr()
    assert said.out and not [each for each in said.out + said.err if not each.isprintable() and each not in "\n\t"]
    if command == "show":
        assert_harmless(said.out)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ftp://user:PASSWORD@host/runs", "ftp://***@host/runs"),
        ("--runs=s3a://KEY:PASS@WORD@bucket", "--runs=s3a://***@bucket"),
        ("see https://T@h/a@b?x=1&a_token=T&sig=S#f, or", "see https://***@h/a@b?x=1&a_token=***&sig=***#f, or"),
        ("spark://HOST:7077 rocketmq@4.9.7 a@b s3a://bucket/a@b", "spark://HOST:7077 rocketmq@4.9.7 a@b s3a://bucket/a@b"),
    ],
)  # fmt: skip
def test_urls_keep_their_address_and_lose_their_secrets(text: str, kept: str) -> None:
    assert without_secrets(text) == kept


def test_a_password_in_a_url_reaches_no_file_and_no_terminal(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = f"memory://user:PASSWORD@{uuid4()}/runs"
    line = ["check", "--target", "reference+repeats_frame", "--first", "--trials", "40", "--seed", "s", "--jobs", "1"]
    line += ["--law", "ha-appends-frames", "--runs", runs, "--json", str(tmp_path / "told.json")]
    line += ["--junit", str(tmp_path / "junit.xml")]
    monkeypatch.setattr("sys.argv", ["pairproof", *line])
    assert main(line) == 1
    (run,) = place(runs).iterdir()
    assert main(["replay", str(run / "findings" / "9.json")]) == 2
    said = capsys.readouterr()
    files = [each for each in run.rglob("*") if each.is_file()] + list(tmp_path.iterdir())
    assert {"run.json", "0001.json", "junit.xml", "told.json"} <= {each.name for each in files}
    for text in (said.out, said.err, *(each.read_bytes().decode("latin-1") for each in files)):
        assert "PASSWORD" not in text
    assert "--runs" in json.loads((run / "run.json").read_text())["command"]
    assert "memory://***@" in said.err
