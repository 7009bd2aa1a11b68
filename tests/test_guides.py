"""The README and the guides: short where they must be, and right about files, links, commands and examples."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from pairproof.chaos.scenarios import reading
from pairproof.harness.commands.main import pairproof

ROOT = Path(__file__).resolve().parent.parent
GUIDES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
USERS = tuple(each for each in GUIDES if each.parent == ROOT or each.parent.name == "guide")
MAX_README_LINES = 120
NOT_HERE = ("examples/redis/",)
"""Named before they are there."""


def missing_links(page: Path, text: str) -> list[str]:
    """Links of a page to files that do not exist, or to headings that the file does not have."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (heading and heading not in headings(target.read_text("utf-8"))):
            found.append(link)
    return found


def headings(text: str) -> list[str]:
    """The headings of a page, as links name them."""
    return [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in re.findall(r"(?m)^#+ (.*)", text)]


def missing_files(text: str) -> list[str]:
    """Paths into the rooms, as guides and pictures name them, that do not exist."""
    paths = re.findall(r"(?<![\w/.])((?:harness|chaos|reference|reports|compose|tests|examples|docs)/[\w./-]*)", text)
    return [each for each in paths if "my" not in each and each not in NOT_HERE and not (ROOT / each).exists()]


def missing_commands(text: str) -> list[str]:
    """Command lines whose command or options do not exist."""
    found = []
    for line in re.findall(r"(?m)^(?:\.venv/bin/)?pairproof ([^#\n]*)", text):
        command: click.Command | None = pairproof
        words = line.split()
        while words and isinstance(command, click.Group):
            command = command.get_command(click.Context(command), words.pop(0))
        options = {option for each in command.params for option in each.opts} if command else set()
        if command is None or not {word for word in words if word.startswith("-")} <= {*options, "--help"}:
            found.append(line)
    return found


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text("utf-8").count("\n") <= MAX_README_LINES


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert missing_links(page, page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", USERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_commands_that_guides_name_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    assert missing_files(text) == [] and missing_commands(text) == []


def test_what_is_not_there_is_noticed() -> None:
    page = ROOT / "README.md"
    assert missing_links(page, "[a](docs/nowhere.md) [b](README.md#no-heading) [c](README.md#two-commands)") == [
        "docs/nowhere.md",
        "README.md#no-heading",
    ]
    assert missing_files("`harness/nothing.py` and harness/judging/judge.py") == ["harness/nothing.py"]
    assert missing_commands("pairproof chek\npairproof check --sed 1\npairproof check --seed 1  # a comment\n") == [
        "chek",
        "check --sed 1",
    ]


def test_the_index_of_decisions_has_each_of_them() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"^- (\d+): \[.*\]\((\d{4}-[\w-]+\.md)\)$", (folder / "README.md").read_text("utf-8"), re.M)
    assert [name for _, name in listed] == sorted(each.name for each in folder.glob("[0-9]*.md"))
    assert all(int(number) == int(name[:4]) for number, name in listed)


EXTENDING = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "docs/guide/extending.md").read_text("utf-8"), re.DOTALL)
PYTHON = [code for language, code in EXTENDING if language == "python"]


def test_the_examples_of_the_guide_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = []
    for number, code in enumerate(PYTHON[:-1]):
        module = ModuleType("acme.put_names_queue" if number == 0 else f"acme.example_{number}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(code, module.__name__, "exec"), vars(module))
        made.append(module)
    tests = [each for name, each in vars(made[1]).items() if name.startswith("test_")]
    assert len(tests) == 3
    for each in tests:
        each()
    compile(PYTHON[-1], "conformance", "exec")


def test_the_entry_points_of_the_guide_name_what_its_examples_define() -> None:
    named = re.findall(r'"acme\.\w+:(\w+)"', next(code for language, code in EXTENDING if language == "toml"))
    assert len(named) == 5
    for name in named:
        assert any(re.search(rf"^(class )?{name}\b", code, re.MULTILINE) for code in PYTHON), name


def test_the_scenario_of_the_guide_lacks_only_the_plug_in_s_operation(tmp_path: Path) -> None:
    (code,) = (code for language, code in EXTENDING if language == "yaml")
    path = tmp_path / "napping.yaml"
    path.write_text(re.sub(r"(?m)^  - nap: .*\n", "", code))
    assert reading.from_file(path).name == "napping"
