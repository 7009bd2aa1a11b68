"""Answers go to standard output, everything else to standard error; ``--json`` means the same in every command."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pairproof.harness.commands import output
from pairproof.harness.errors import PairproofError, UsageError


@click.command()
@click.argument("names", nargs=-1)
@output.json_option
def asked(names: tuple[str, ...], json_to: str | None) -> None:
    """Answer with the names."""
    output.say("for people")
    if json_to is not None:
        output.write_json({"names": list(names)}, json_to)


def test_json_alone_answers_on_standard_output_and_talk_moves_away() -> None:
    done = CliRunner().invoke(asked, ["a", "b", "--json"])
    assert json.loads(done.stdout) == {"names": ["a", "b"]}
    assert done.stderr == "for people\n"


def test_json_into_a_file_leaves_standard_output_to_people(tmp_path: Path) -> None:
    done = CliRunner().invoke(asked, ["a", "--json", str(tmp_path / "x.json")])
    assert json.loads((tmp_path / "x.json").read_text()) == {"names": ["a"]}
    assert (done.stdout, done.stderr) == ("for people\n", "")


def test_without_json_there_is_none() -> None:
    assert CliRunner().invoke(asked, ["a"]).output == "for people\n"


def test_json_lines_are_one_object_a_line(tmp_path: Path, capsys: Any) -> None:
    output.write_json_lines([{"a": 1}, {"b": "é"}], str(tmp_path / "x.jsonl"))
    output.write_json_lines(iter([{"a": 1}]), "-")
    assert [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()] == [{"a": 1}, {"b": "é"}]
    assert capsys.readouterr().out == '{"a": 1}\n'


@pytest.mark.parametrize("lines", [False, True])
def test_pipe_receives_the_json_and_stays_a_pipe(tmp_path: Path, lines: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if lines:
            output.write_json_lines([{"a": 1}], str(pipe))
        else:
            output.write_json({"a": 1}, str(pipe))
        assert json.loads(os.read(reading, 65_536)) == {"a": 1}
    finally:
        os.close(reading)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("exists", [True, False])
def test_link_stays_a_link_and_its_target_gets_the_json(tmp_path: Path, exists: bool) -> None:
    target, link = tmp_path / "deep" / "target.json", tmp_path / "link.json"
    target.parent.mkdir()
    if exists:
        target.write_text("old")
    link.symlink_to(Path("deep") / "target.json")
    output.write_json({"a": 1}, str(link))
    assert link.is_symlink() and not target.is_symlink()
    assert json.loads(target.read_text()) == {"a": 1}
    assert [each.name for each in target.parent.iterdir()] == ["target.json"]


def test_link_to_a_pipe_leads_to_the_pipe(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        output.write_json([1], str(link))
        assert json.loads(os.read(reading, 65_536)) == [1]
    finally:
        os.close(reading)
    assert link.is_symlink() and stat.S_ISFIFO(pipe.lstat().st_mode)


def test_link_that_leads_nowhere_but_to_itself_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(PairproofError, match=r"cannot write .*loop: .*; make room or name another path with --json"):
        output.write_json([1], str(tmp_path / "loop"))
    assert (tmp_path / "loop").is_symlink()


def test_standard_output_has_other_names_too() -> None:
    done = CliRunner().invoke(asked, ["a", "--json", "/dev/stdout"])
    assert json.loads(done.stdout) == {"names": ["a"]}
    assert done.stderr == "for people\n"


def test_place_that_cannot_take_json_is_refused_before_the_work_begins(tmp_path: Path) -> None:
    for where, why in ((str(tmp_path), "that is a folder"), (str(tmp_path / "no" / "x"), "there is no folder")):
        done = CliRunner().invoke(asked, ["a", "--json", where])
        assert isinstance(done.exception, UsageError) and why in str(done.exception)
        assert done.output == ""


@pytest.mark.parametrize("where", [".", "nowhere/x.json", "x" * 300])
def test_a_place_that_cannot_take_json_is_a_usage_error(tmp_path: Path, where: str) -> None:
    with pytest.raises(UsageError, match="--json"):
        output.write_json([], str(tmp_path / where))


def test_text_that_looks_like_markup_is_printed_as_it_is(capsys: Any) -> None:
    output.say("value [bold] of [/] :smile:")
    output.table("[red]", ["[x]"], [["[/]"]])
    said = capsys.readouterr().out
    assert "value [bold] of [/] :smile:" in said
    assert "[x]" in said
    assert "[/]" in said
    assert "\x1b" not in said


def test_a_long_line_is_not_broken(capsys: Any) -> None:
    output.say("x" * 1_000)
    assert capsys.readouterr().out == "x" * 1_000 + "\n"


def test_without_a_terminal_progress_is_a_line_now_and_then() -> None:
    said = io.StringIO()
    now = 0.0
    lines = output.Lines(said, lambda: now)
    for done in range(100):
        now = done / 4
        lines(done, 100, "sweep")
    lines(1, None, "swarm")
    assert said.getvalue().splitlines() == ["sweep: 0 of 100", "sweep: 40 of 100", "sweep: 80 of 100", "swarm: 1"]


def test_steps_of_one_work_are_named_where_they_are_told() -> None:
    said = io.StringIO()
    lines = output.Lines(said, lambda: 0.0)
    lines(1, 14, "making the report: reading run folders")
    lines(1, 14, "making the report: reading run folders")
    lines(2, 14, "making the report: Spark: verdicts")
    assert said.getvalue().splitlines() == [
        "making the report: 1 of 14, reading run folders",
        "making the report: 2 of 14, Spark: verdicts",
    ]


def test_work_goes_on_where_progress_cannot_be_told() -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    output.Lines(Full())(1, 2, "sweep")


def test_progress_stays_off_standard_output(capsys: Any) -> None:
    with output.progress() as progress:
        progress(1, 2, "sweep")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "sweep: 1 of 2\n")


def test_each_work_has_one_bar_also_where_another_comes_between() -> None:
    class FakeBars:
        def __init__(self) -> None:
            self.heard: list[tuple[Any, ...]] = []

        def add_task(self, doing: str, total: int | None, note: str) -> str:
            self.heard.append(("add", doing, total))
            return doing

        def update(self, task: str, completed: int, total: int | None, description: str, note: str) -> None:
            self.heard.append((task, completed, total, description, note))

    bars = FakeBars()
    show = output.Bars(bars)
    show(1, 30, "searching: single faults", " s, 1 trial, 0 violated")
    show(1, None, "shrinking: a law")
    show(2, 30, "searching: truncation points", " s, 2 trials, 1 violated")
    assert bars.heard == [
        ("add", "searching: single faults", 30),
        ("searching: single faults", 1, 30, "searching: single faults", " s, 1 trial, 0 violated"),
        ("add", "shrinking: a law", None),
        ("shrinking: a law", 1, None, "shrinking: a law", ""),
        ("searching: single faults", 2, 30, "searching: truncation points", " s, 2 trials, 1 violated"),
    ]


def test_progress_names_what_limits_the_run_and_what_is_known() -> None:
    said = io.StringIO()
    output.Lines(said, lambda: 0.0)(12, 30, "searching: truncation points", " s, 80 trials, 0 violated")
    assert said.getvalue() == "searching: 12 of 30 s, 80 trials, 0 violated, truncation points\n"


class Terminal(io.StringIO):
    """A terminal that shows colours."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, **environment: str) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": str(columns), **environment}.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    console = output.console(terminal)
    output.table("Laws", ("law", "promise"), [("log-prefix", "what was answered is on the slave")], to=console)
    console.print("violated", style=output.COLOURS["violated"])
    return terminal


def test_no_color_leaves_no_escapes_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in on_terminal(monkeypatch, 100).getvalue()
    assert "\x1b" not in on_terminal(monkeypatch, 100, NO_COLOR="1").getvalue()


def test_a_narrow_terminal_breaks_a_table_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    said = on_terminal(monkeypatch, 20, NO_COLOR="1").getvalue()
    assert said.split() == ["Laws", "log-prefix", "what", "was", "answered", "is", "on", "the", "slave", "violated"]
    assert max(map(len, said.splitlines())) <= 20
