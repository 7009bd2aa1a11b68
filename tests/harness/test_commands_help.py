"""``laws ID`` explains, help comes in groups with examples, and a shell completes values."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from pairproof.harness import registry
from pairproof.harness.commands import helping, laws
from pairproof.harness.commands.main import main, pairproof
from pairproof.harness.judging import judge


def commands(
    command: click.Command = pairproof, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command, those below others too, by the words that call it."""
    if path:
        yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            child = command.get_command(click.Context(command), name)
            assert child is not None
            yield from commands(child, (*path, name))


COMMANDS = dict(commands())


def completed(*words: str) -> list[tuple[str, str]]:
    """What a shell offers for the last word: type and value."""
    made = ShellComplete(pairproof, {}, "pairproof", "_PAIRPROOF_COMPLETE")
    return [(each.type, each.value) for each in made.get_completions(list(words[:-1]), words[-1])]


def test_a_law_is_explained_with_what_violates_it(capsys: Any) -> None:
    assert main(["laws", "ack-replicated"]) == 0
    said = capsys.readouterr().out
    assert "ack-replicated (Acknowledgement; durability)\n" in said
    for part in (
        "\n\nChecks\n  ",
        "\n\nAbstains when\n  ",
        "Needs these events\n  ",
        "  ok: ",
        "Source\n  ",
        "Example: the known bug ",
        "pairproof mutants ",
        "  first-report-believed: the first report of a connection acknowledges whatever it names",
        "autopsy FINDING.json",
    ):
        assert part in said, part
    assert "``" not in said and ":mod:" not in said


def test_a_law_s_docstring_is_split_at_its_three_lists_and_a_plain_one_is_shown_whole() -> None:
    lists = "``x``: Holds.\n\nA z.\n\nChecks:\n- One, ``y``.\n- Two\n  lines.\nAbstains when:\n- A.\n- B.\nSource: C."
    assert laws.docstring(lists) == (["A z.", "One, y.", "Two lines."], "A.\nB.")
    assert laws.docstring("``x-y``: it holds.\n\nAbstains when:\n- :mod:`a.b` is.") == (["It holds."], "A.b is.")
    assert laws.docstring("Checks a\nthing.\n\n- One.\n- Two.") == (["Checks a thing.", "One.", "Two."], "")


def test_the_example_of_a_law_is_a_violation_of_that_law_by_its_known_bug(capsys: Any) -> None:
    assert main(["laws", "ha-appends-frames", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["example"]["bug"] == told["bugs"][0] and "never appended" in told["example"]["violation"]
    (found,) = (each for each in judge.all_laws() if each.id == "ha-appends-frames")
    (other,) = (each for each in judge.all_laws() if each.id == "meta-one-way")
    bug = next(each for each in _bugs() if each.law == found.id)
    assert laws._example(found, bug) == told["example"] and laws._example(other, bug) is None


def _bugs() -> Any:
    from pairproof.harness.trials import resolve

    return resolve.system("rocketmq").known_bugs()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["laws", "ha-append-frames"], "unknown law 'ha-append-frames'; did you mean 'ha-appends-frames'?"),
        (["laws", "log-prefix", "qqq"], "unknown law 'qqq'; valid: ack-bounded, "),
    ],
)
def test_an_unknown_law_is_one_line_with_a_suggestion(capsys: Any, line: list[str], said: str) -> None:
    assert main(line) == 2
    told = capsys.readouterr()
    assert said in told.err and told.err.count("\n") == 1 and not told.out


def test_each_command_of_ours_stands_in_one_group_and_a_plug_in_s_behind_them() -> None:
    listed = [name for names in helping.GROUPS.values() for name in names]
    assert sorted(listed) == sorted(registry.own("commands"))
    assert helping.grouped(["zap", "check", "laws"]) == [
        ("Try", ["check"]),
        ("Extend", ["laws"]),
        (helping.OTHERS, ["zap"]),
    ]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_each_command_has_an_example_that_the_command_line_takes(path: tuple[str, ...]) -> None:
    epilog = COMMANDS[path].epilog or ""
    line = epilog.partition("Example:\n  pairproof ")[2].replace("\\\n", "")
    words = shlex.split(line)
    assert tuple(words[: len(path)]) == path
    command: click.Command = pairproof
    rest = words
    while isinstance(command, click.Group) and rest[:1] and (child := _below(command, rest[0])) is not None:
        command, rest = child, rest[1:]
    command.make_parser(click.Context(command)).parse_args(rest)
    assert f"    pairproof {epilog.partition('pairproof ')[2].splitlines()[0]}" in _help(COMMANDS[path])


@pytest.mark.parametrize("path", [(), *COMMANDS], ids=" ".join)
def test_help_has_no_marks_and_no_cut_sentences(path: tuple[str, ...]) -> None:
    command = COMMANDS[path] if path else pairproof
    text = _help(command)
    assert "``" not in text
    assert "..." not in text.partition("\nCommands:")[2] if path else "...\n" not in text.partition("\nTry:")[2]


def _below(group: click.Group, name: str) -> click.Command | None:
    return group.get_command(click.Context(group), name)


def _help(command: click.Command) -> str:
    return command.get_help(click.Context(command, info_name="pairproof"))


def test_a_sentence_is_whole_and_without_marks() -> None:
    long = "Copy ``findings`` " + "far " * 40 + "away"
    assert helping.sentence(f"{long}.\n\nMore.") == long.replace("`", "")
    group = helping.Group("g", commands=[click.Command("c", help=f"{long}.")])
    cut = click.Group("g", commands=[click.Command("c", help=f"{long}.")])
    assert "..." not in _help(group).partition("Commands:")[2]
    assert "..." in _help(cut).partition("Commands:")[2]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("che",), ["check"]),
        (("check", "--lab", ""), ["docker", "process", "sim"]),
        (("check", "--target", "reference"), ["reference", "reference-rocketmq-4.9.7"]),
        (("check", "--target", "rocketmq@"), ["rocketmq@"]),
        (("replay", "x.json", "--target", "reference+goes_b"), ["reference+goes_back"]),
        (("check", "--law", "ack-re"), ["ack-readable", "ack-refused-is-absent", "ack-replicated"]),
        (("judge", "--law", "log-pre"), ["log-prefix"]),
        (("check", "--profile", "k"), ["known-bugs"]),
        (("laws", "log-prefix", "meta-o"), ["meta-one-way"]),
        (("chaos", "run", "master-kill"), ["master-kill-under-load"]),
        (("chaos", "show", "clock"), ["clock-jumps"]),
        (("chaos", "sh"), ["show"]),
        (("doctor", "--lab", "s"), ["sim"]),
        (("mutants", "goes_b"), ["goes_back"]),
        (("labs", "install", "toxi"), ["toxiproxy"]),
        (("deviations", "check", "silent"), ["silent-master-kept"]),
        (("check", "--lab", "moon"), []),
    ],
)
def test_a_shell_completes_values(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == [("plain", each) for each in offered]


def test_what_no_scenario_begins_with_is_completed_as_a_file() -> None:
    assert completed("chaos", "run", "my/") == [("file", "my/")]


def plugged(folder: Path, monkeypatch: pytest.MonkeyPatch, group: str) -> None:
    """Have a distribution register something in a group."""
    made = folder / "acme-1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text(f"[pairproof.{group}]\nacme = acme:X\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv(registry.PLUGINS, "acme")
    registry._group.cache_clear()
    registry.own.cache_clear()


@pytest.fixture
def forgets() -> Iterator[None]:
    yield
    registry._group.cache_clear()
    registry.own.cache_clear()


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        (["check", "--trials", "1", "--law", "log-prefix", "--seed", "x"], "sim: "),
        (["chaos", "run", "ha-master-address-absent", "--cases", "1"], "scenario holds"),
    ],
)
def test_plug_ins_that_take_part_in_a_run_are_named(
    line: list[str], answers: str, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgets: None
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [*line, "--runs", str(tmp_path / "runs")]
    for group, named in ((None, 0), ("targets", 1)):
        if group:
            plugged(tmp_path, monkeypatch, group)
        main(asked)
        said = capsys.readouterr().out
        assert said.count("with plug-ins: acme 1.0\n") == said.count("with plug-ins") == named and answers in said


def test_a_plug_in_that_takes_no_part_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgets: None
) -> None:
    plugged(tmp_path, monkeypatch, "tools")
    assert registry.plugins("laws", "faults") == [] and registry.plugins("laws", "tools") == ["acme 1.0"]
