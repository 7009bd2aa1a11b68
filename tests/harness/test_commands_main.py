"""Whatever ends a command becomes one line and an exit code; listing commands imports none of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import click
import pytest

from pairproof.harness import registry
from pairproof.harness.commands import main as shell
from pairproof.harness.errors import CorruptRun, LabError, PairproofError, UsageError

HEAVY = ("pyarrow", "pyspark", "hypothesis", "pandas", "numpy", "rich", "docker", "jinja2", "junitparser")


@click.command("act")
@click.argument("how")
def act(how: str) -> Any:
    """Ends in the way that is asked for."""
    return WAYS[how]()


def throw(error: BaseException) -> Any:
    def thrower() -> None:
        raise error

    return thrower


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(10)


WAYS: dict[str, Any] = {
    "none": lambda: None,
    "three": lambda: 3,
    "exit": lambda: sys.exit(1),
    "exit-none": lambda: sys.exit(),
    "ctx": lambda: click.get_current_context().exit(3),
    "usage": throw(UsageError("unknown lab 'x'; valid: sim")),
    "lab": throw(LabError("the lab broke")),
    "corrupt": throw(CorruptRun("run.json is missing")),
    "other": throw(PairproofError("no room")),
    "bug": throw(ValueError("two\nlines")),
    "interrupt": throw(KeyboardInterrupt()),
    "click": throw(click.BadParameter("wrong")),
    "file": throw(click.FileError("f", "gone")),
    "pipe": throw(BrokenPipeError()),
    "sigterm": terminate,
}


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "names", lambda group: ["act"])
    monkeypatch.setattr(registry, "find", lambda group, name: act)


@pytest.mark.parametrize(
    ("how", "code", "line"),
    [
        ("none", 0, ""),
        ("three", 3, ""),
        ("exit", 1, ""),
        ("exit-none", 0, ""),
        ("ctx", 3, ""),
        ("usage", 2, "pairproof: unknown lab 'x'; valid: sim\n"),
        ("lab", 4, "pairproof: the lab broke\n"),
        ("corrupt", 3, "pairproof: run.json is missing\n"),
        ("other", 4, "pairproof: no room\n"),
        ("bug", 4, "pairproof: unexpected ValueError: two lines; run again with --debug for the traceback\n"),
        ("interrupt", 130, "pairproof: interrupted\n"),
        ("sigterm", 130, "pairproof: interrupted\n"),
        ("click", 2, "pairproof: Invalid value: wrong (see pairproof act --help)\n"),
        ("file", 2, "pairproof: Could not open file 'f': gone\n"),
    ],
)  # fmt: skip
def test_every_end_has_its_code_and_at_most_one_line(capfd: Any, how: str, code: int, line: str) -> None:
    assert shell.main(["act", how]) == code
    said = capfd.readouterr()
    assert (said.out, said.err.lstrip("\n")) == ("", line)


@pytest.mark.parametrize("line", [["--debug", "act", "bug"], ["act", "bug", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(capfd: Any, line: list[str]) -> None:
    assert shell.main(line) == 4
    said = capfd.readouterr().err
    assert "Traceback" in said
    assert "in thrower" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["acts"], "unknown command 'acts'; Did you mean act? valid: act"),
        (["zzz"], "unknown command 'zzz'; valid: act"),
        (["--nonsense"], "No such option"),
        (["act"], "Missing argument 'HOW'"),
        (["act", "none", "more"], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_told_in_one_line(capfd: Any, line: list[str], said: str) -> None:
    assert shell.main(line) == 2
    told = capfd.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_without_a_command_the_help_is_shown(capfd: Any) -> None:
    assert shell.main([]) == 2
    assert "Commands:" in capfd.readouterr().err


def test_version_is_printed(capfd: Any) -> None:
    assert shell.main(["--version"]) == 0
    assert capfd.readouterr().out.startswith("pairproof ")


def test_sigterm_is_the_caller_s_again_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    shell.main(["act", "none"])
    assert signal.getsignal(signal.SIGTERM) is before


def test_outside_the_main_thread_commands_run_too() -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(shell.main(["act", "three"])))
    thread.start()
    thread.join(20)
    assert codes == [3]


HELP = """
import sys
from pairproof.harness.commands.main import main
code = main(["--help"])
print(*sorted(set(sys.modules) & set({heavy!r})), file=sys.stderr)
sys.exit(code)
"""


def test_help_lists_every_command_in_words_and_imports_no_heavy_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP.format(heavy=HEAVY)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.strip() == ""
    listed = done.stdout.partition("Commands:")[2]
    # One that cannot be described would be listed with its name only.
    for name in ("check", "laws", "labs", "replay"):
        line = next(each for each in listed.splitlines() if each.split()[:1] == [name])
        assert len(line.split()) > 4


def test_a_module_that_cannot_be_read_is_listed_without_words() -> None:
    assert shell.summary("no such command") == ""


PIPED = "from pairproof.harness.commands.main import main; import sys; sys.exit(main(['laws']))"


def test_a_reader_that_goes_away_is_no_error_and_no_violation() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-c", PIPED], stdout=gone, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")
