"""Whatever ends a command becomes one line and an exit code; listing commands imports none of them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import click
import pytest

from pairproof.harness import registry
from pairproof.harness.commands import helping
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
    "usage": throw(UsageError("unknown lab 'x'; valid: docker, process, sim")),
    "lab": throw(LabError("the lab broke")),
    "corrupt": throw(CorruptRun("run.json is missing")),
    "other": throw(PairproofError("no room")),
    "bug": throw(ValueError("two\nlines")),
    "interrupt": throw(KeyboardInterrupt()),
    "click": throw(click.BadParameter("wrong")),
    "file": throw(click.FileError("f", "gone")),
    "pipe": throw(BrokenPipeError()),
    "numbered-pipe": throw(BrokenPipeError(errno.EPIPE, "Broken pipe")),
    "no-file": throw(FileNotFoundError(errno.ENOENT, "No such file or directory", "a\nb")),
    "odd-file": throw(PermissionError(errno.EACCES, "Permission denied", b"runs")),
    "full-file": throw(OSError(errno.ENOSPC, "No space left on device", "runs/x")),
    "full": throw(OSError(errno.ENOSPC, "No space left on device")),
    "socket": throw(ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")),
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
        ("usage", 2, "pairproof: unknown lab 'x'; valid: docker, process, sim\n"),
        ("lab", 4, "pairproof: the lab broke\n"),
        ("corrupt", 3, "pairproof: run.json is missing\n"),
        ("other", 4, "pairproof: no room\n"),
        ("bug", 4, "pairproof: unexpected ValueError: two lines; run again with --debug for the traceback\n"),
        ("interrupt", 130, "pairproof: interrupted\n"),
        ("sigterm", 130, "pairproof: interrupted\n"),
        ("click", 2, "pairproof: Invalid value: wrong (see pairproof act --help)\n"),
        ("file", 2, "pairproof: Could not open file 'f': gone\n"),
        ("no-file", 4, "pairproof: cannot read or write a b: No such file or directory\n"),
        ("odd-file", 4, "pairproof: cannot read or write runs: Permission denied\n"),
        ("full-file", 4, "pairproof: cannot read or write runs/x: No space left on device\n"),
        ("full", 4, "pairproof: cannot write the output: No space left on device; make room or send it elsewhere\n"),
        (
            "socket",
            4,
            "pairproof: cannot read or write: Connection refused; run again with --debug for the traceback\n",
        ),
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
        (["acts"], "unknown command 'acts'; did you mean 'act'?"),
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
    assert "Plug-ins:" in capfd.readouterr().err


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
    listed = done.stdout.partition("Try:")[2]
    # One that cannot be described would be listed with its name only.
    for name in ("check", "laws", "labs", "replay"):
        line = next(each for each in listed.splitlines() if each.split()[:1] == [name])
        assert len(line.split()) > 4


def test_a_module_that_cannot_be_read_is_listed_without_words() -> None:
    assert helping.summary("no such command") == ""


PIPED = "from pairproof.harness.commands.main import main; import sys; sys.exit(main(['laws']))"


def test_a_reader_that_goes_away_is_no_error_and_no_violation() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-c", PIPED], stdout=gone, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


def in_shell(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``pairproof`` with streams as a shell sets them up."""
    command = ["sh", "-c", f'exec "$0" "$@" {redirection}', str(Path(sys.executable).parent / "pairproof"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["laws"], ["laws", "--json"], ["--version"]])
def test_full_disk_behind_standard_output_is_one_line_and_4(arguments: list[str]) -> None:
    done = in_shell("> /dev/full", *arguments)
    assert done.stderr == (
        "pairproof: cannot write the output: No space left on device; make room or send it elsewhere\n"
    )
    assert done.returncode == 4


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_stream_that_is_closed_is_no_error(closed: str) -> None:
    done = in_shell(closed, "laws", "--json")
    assert (done.returncode, done.stderr) == (0, "")


def test_broken_pipe_within_a_command_never_reads_as_violated(capsys: Any) -> None:
    # capsys: what cannot be written is dropped, which must not touch the test run's own standard output.
    assert shell.main(["act", "numbered-pipe"]) == 141
    assert shell.main(["act", "pipe"]) == 141


def test_text_that_cannot_be_encoded_is_shown_escaped() -> None:
    code = "from pairproof.harness.commands.main import main; import click, sys; sys.argv = ['x', '--version']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code + "; click.echo('a\\udcff')"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )
    assert done.stdout.splitlines()[-1] == "a\\udcff"
