"""Options that a project always gives, from pairproof.toml or pyproject.toml; what is wrong is told with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands.main import main

CHECK = '[check]\ntrials = 5\nlaw = ["log-prefix", "node-lives"]\njobs = 1\nseed = "from the file"\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def facts(here: Path) -> dict[str, Any]:
    (run,) = (here / "runs").iterdir()
    told: dict[str, Any] = json.loads((run / "run.json").read_text())
    return told


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pairproof.toml", CHECK),
        ("pyproject.toml", '[project]\nname = "x"\n' + CHECK.replace("[check]", "[tool.pairproof.check]")),
    ],
)
def test_what_the_file_says_counts_unless_the_command_line_says_otherwise(here: Path, name: str, text: str) -> None:
    (here / name).write_text(text)
    assert main(["check", "--seed", "typed"]) == 0
    told = facts(here)
    assert (told["seed"], told["laws"]) == ("typed", ["log-prefix", "node-lives"])
    # The corpus, and five trials of the searches.
    assert told["trials"] == 40 + 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[chekc]\n", "pairproof.toml:1: unknown command 'chekc'; did you mean 'check'?"),
        ("\ufeff[check]\ntrails = 5\n", "pairproof.toml:2: check has no option 'trails'; did you mean 'trials'?"),
        ("# a\n\n[check]\ntrails = 5\n", "pairproof.toml:4: check has no option 'trails'; did you mean 'trials'?"),
        ('[check]\ntrials = "many"\n', "pairproof.toml:2: trials: expected a whole number, not 'many'"),
        ("[check]\ntrials = 0\n", "pairproof.toml:2: trials: 0 is not in the range"),
        ("[check]\ntrials = [5]\n", "pairproof.toml:2: trials: expected one value, not a list"),
        ("[check]\nlaw = [{}]\n", "pairproof.toml:2: law: expected a text or a number"),
        ("[check]\nfirst = 1\n", "pairproof.toml:2: first: expected true or false"),
        ("[check]\njson = 'x'\n", "pairproof.toml:2: check has no option 'json'; "),
        ("check = 1\n", "pairproof.toml:1: check must be a table of options, [check]"),
        ("[report]\n[check]\nseeed = 'x'\n", "pairproof.toml:3: check has no option 'seeed'"),
        ("[check\n", "pairproof.toml is not TOML: "),
    ],
)
def test_what_is_wrong_is_told_with_its_line(here: Path, text: str, says: str, capsys: Any) -> None:
    (here / "pairproof.toml").write_text(text)
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[chaos.rnu]\n", "pairproof.toml:1: chaos has no command 'rnu'; did you mean 'run'?"),
        ("[chaos]\nrun = 3\n", "pairproof.toml:2: run must be a table of options, [chaos.run]"),
        ('[chaos.run]\nlba = "sim"\n', "pairproof.toml:2: chaos run has no option 'lba'; did you mean 'lab'?"),
    ],
)
def test_commands_of_commands_have_tables_too(here: Path, text: str, says: str, capsys: Any) -> None:
    (here / "pairproof.toml").write_text(text)
    assert main(["chaos", "run", "slave-lag"]) == 2
    assert says in capsys.readouterr().err
    (here / "pairproof.toml").write_text('[chaos.run]\nseed = "from the file"\ncases = 1\n')
    assert main(["chaos", "run", "slave-lag"]) == 0
    assert facts(here)["seed"] == "from the file"


def test_a_value_that_is_refused_later_is_told_with_its_line_unless_it_was_typed(here: Path, capsys: Any) -> None:
    (here / "pairproof.toml").write_text('[check]\n\ntarget = "referense"\n')
    assert main(["check"]) == 2
    assert capsys.readouterr().err.startswith("pairproof: pairproof.toml:3: unknown target 'referense'; ")
    assert main(["check", "--target", "referense"]) == 2
    assert capsys.readouterr().err.startswith("pairproof: unknown target 'referense'; ")


def test_a_file_above_is_not_read_and_that_is_said(here: Path, monkeypatch: Any, capsys: Any) -> None:
    (here / "pairproof.toml").write_text('[check]\ntarget = "referense"\n')
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    assert main(["laws"]) == 0
    said = capsys.readouterr().err
    assert said == f"{here}/pairproof.toml is not read: options are those of the working directory's pairproof.toml\n"


def test_help_and_other_commands_do_not_mind_what_a_table_says(here: Path, capsys: Any) -> None:
    (here / "pairproof.toml").write_text("[check]\ntrails = 5\n")
    assert main(["check", "--help"]) == 0
    assert main(["laws"]) == 0
    capsys.readouterr()


def test_somebody_else_s_pyproject_is_none_of_ours(here: Path) -> None:
    for text in ("not [toml", "[tool.black]\nline-length = 1\n", "tool = 1\n"):
        (here / "pyproject.toml").write_text(text)
        assert main(["laws"]) == 0


@pytest.mark.parametrize(
    ("own", "project", "says"),
    [
        ("[check]\n", "[tool.pairproof.check]\n", "remove one of them"),
        (None, "[tool.pairproof.check\n", "pyproject.toml is not TOML"),
        (None, "[tool]\npairproof = 1\n", "pyproject.toml:2: tool.pairproof must be a table"),
        ("#" * (1 << 20) + "#", None, "is larger than 1,048,576 bytes"),
        (b"\xff", None, "pairproof.toml is not TOML"),
    ],
)
def test_files_that_cannot_be_used(here: Path, own: Any, project: str | None, says: str, capsys: Any) -> None:
    if own is not None:
        (here / "pairproof.toml").write_bytes(own if isinstance(own, bytes) else own.encode())
    if project is not None:
        (here / "pyproject.toml").write_text(project)
    assert main(["laws"]) == 2
    assert says in capsys.readouterr().err


OUT = "leads out of this folder; only the command line may give it, since this file comes with a checkout"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[check]\nruns = "../runs"\n', f"pairproof.toml:2: runs: '../runs' {OUT}"),
        ('[check]\nruns = "/tmp/runs"\n', f"pairproof.toml:2: runs: '/tmp/runs' {OUT}"),
        ('[check]\nruns = "memory://runs"\n', f"pairproof.toml:2: runs: 'memory://runs' {OUT}"),
        ('[check]\njunit = "link/junit.xml"\n', f"pairproof.toml:2: junit: 'link/junit.xml' {OUT}"),
        ('[check]\nmaster-conf = "../master.conf"\n', f"pairproof.toml:2: master-conf: '../master.conf' {OUT}"),
        (
            '[check]\ntarget = "rocketmq@/home"\n',
            "pairproof.toml:2: target: 'rocketmq@/home' runs programs from a path",
        ),
        ('[campaign]\nmaster = "spark://h:1"\n', "pairproof.toml:2: master: only the command line may give it"),
        ('[mutants]\npackage = ["evil"]\n', "pairproof.toml:2: package: only the command line may give it"),
    ],
)
def test_a_file_that_comes_with_a_checkout_names_no_programs_and_stays_in_its_folder(
    here: Path, text: str, says: str, capsys: Any
) -> None:
    (here / "link").symlink_to("/tmp")
    (here / "pairproof.toml").write_text(text)
    command = text[1:].partition("]")[0]
    assert main([command]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1
    assert not (here / "runs").exists()


def test_a_file_may_name_what_lies_in_its_folder(here: Path) -> None:
    (here / "pairproof.toml").write_text(CHECK + 'runs = "out/runs"\njunit = "junit.xml"\ntarget = "reference"\n')
    assert main(["check"]) == 0
    assert (here / "junit.xml").is_file() and len(list((here / "out" / "runs").iterdir())) == 1
