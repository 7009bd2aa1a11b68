"""Each command of the tutorial, executed in an empty environment, says what the page says that it says."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from source_copy import copied

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
LIMIT_S = 900
EXIT_CODE = re.compile(r"# exit code (\d+)$")


class Step(NamedTuple):
    command: str
    code: int
    told: list[str]


def steps(page: str) -> list[Step]:
    """A step per ``$`` line; what follows it is what it says."""
    found: list[Step] = []
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                code = EXIT_CODE.search(line)
                found.append(Step(line[2:], int(code[1]) if code else 0, []))
            else:
                found[-1].told.append(line)
    return found


def files(page: str) -> dict[str, str]:
    return dict(re.findall(r"^```python\n# (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def unsaid(told: list[str], said: str) -> list[str]:
    """What the page shows and the command does not say, in this order; ``…`` is anything."""
    lines = iter([line.rstrip() for line in said.splitlines()])
    patterns = [re.sub(r"([\[\]*?])", r"[\1]", line).replace("…", "*") for line in told if line != "…"]
    return [each for each in patterns if not any(fnmatch.fnmatchcase(line, each) for line in lines)]


def play(found: list[Step], folder: Path) -> list[tuple[Step, int, str]]:
    """In one shell, as a reader does."""
    script = ["set +e"]
    for number, step in enumerate(found):
        script += [f"{{ {step.command}\n}} >{number}.said 2>&1 </dev/null", f"echo $? >{number}.code"]
    home = folder / "home"
    home.mkdir()
    known = {
        name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "http", "HTTP", "no_", "NO_", "SSL"))
    }
    subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", "\n".join(script)], cwd=folder, check=True, timeout=LIMIT_S,
        env={**known, "PATH": os.environ["PATH"], "HOME": str(home), "COLUMNS": "120", "LANG": "C.UTF-8"},
    )  # fmt: skip
    return [
        (step, int((folder / f"{number}.code").read_text()), (folder / f"{number}.said").read_text())
        for number, step in enumerate(found)
    ]


@pytest.mark.slow
@pytest.mark.timeout(LIMIT_S)
def test_each_command_of_the_tutorial_says_what_the_page_shows(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    copied(tmp_path / "pairproof")
    for name, text in files(page).items():
        (tmp_path / name).write_text(text)
    wrong = [
        f"$ {step.command}\nexit code {code}, not said: {missing}\n{said}"
        for step, code, said in play(steps(page), tmp_path)
        if (missing := unsaid(step.told, said)) or code != step.code
    ]
    assert not wrong, "\n\n".join(wrong)


def test_a_page_that_shows_what_is_not_said_is_noticed(tmp_path: Path) -> None:
    page = (
        "```console\n$ printf 'a [1]\\nb\\n'; exit_code() { return 3; }; exit_code  # exit code 3\n…\na […]\nc\n```\n"
    )
    (step,) = steps(page)
    ((_, code, said),) = play([step], tmp_path)
    assert (code, step.code, unsaid(step.told, said)) == (3, 3, ["c"])
    assert len(steps(PAGE.read_text(encoding="utf-8"))) >= 12
