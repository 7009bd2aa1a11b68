"""The README and the guides: short where they must be, and right about files, links, commands and examples."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from pairproof.chaos.mutants import catalogue
from pairproof.chaos.scenarios import library, reading
from pairproof.harness import registry
from pairproof.harness.commands.main import pairproof

ROOT = Path(__file__).resolve().parent.parent
GUIDES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
USERS = tuple(each for each in GUIDES if each.parent == ROOT or each.parent.name == "guide")
MAX_README_LINES = 90
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
    """Command lines, in blocks of code and within sentences, whose command or options do not exist."""
    found = []
    for line in commands(text):
        command: click.Command | None = pairproof
        words = line.split()
        while words and isinstance(command, click.Group) and words[0][0] != "-":
            command = command.get_command(click.Context(command), words.pop(0))
        options = {option for each in command.params for option in each.opts} if command else set()
        given = {word.partition("=")[0] for word in words if word.startswith("-")}
        if command is None or not given <= {*options, "--help"}:
            found.append(line)
    return found


def commands(text: str) -> list[str]:
    """What follows ``pairproof``: after a prompt or at a line's start in a block of code, or in a sentence's code."""
    blocks = re.findall(r"(?ms)^ *```[^\n]*\n(.*?)^ *```", text)
    lines = [
        each
        for block in blocks
        for each in re.findall(r"(?m)^ *(?:- |\$ )?(?:\S*/bin/)?pairproof ([a-z][^#|\n]*)", block.replace("\\\n", " "))
    ]
    prose = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
    return lines + [" ".join(each.split()) for each in re.findall(r"`pairproof\s+([a-z][^`|\\]*)`", prose)]


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
    code = "pairproof chek\n$ .venv/bin/pairproof check --sed 1\npairproof check --seed 1  # a comment\n"
    text = f"```sh\n{code}```\npairproof tests pairs with `pairproof\nlabs --joson` and `pairproof labs --json`.\n"
    assert missing_commands(text) == ["chek", "check --sed 1", "labs --joson"]


COUNTING = (*USERS, *(ROOT / "docs" / f"{name}.md" for name in ("index", "tutorial", "status", "beside-other-tools")))
TOTALS = {
    "laws": len(registry.own("laws")),
    "mutants": len(catalogue()),
    "scenarios": len(library.names()),
    "faults": len(registry.own("faults")),
}


def wrong_totals(text: str) -> list[str]:
    """Wrong totals. "102 of 118 laws" and "102 of the 118 laws" state a part; quoted text is not checked."""
    plain = re.sub(r'"[^"\n]*"|[*_]+(?=\w)|(?<=\w)\*+', "", " ".join(text.split()))
    stated = re.findall(rf"((?:(\d[\d,]*) of (?:the )?)?\b(\d[\d,]*) ({'|'.join(TOTALS)})\b)", plain)
    return [
        said
        for said, part, total, what in stated
        if int(total.replace(",", "")) != TOTALS[what] or int((part or "0").replace(",", "")) > TOTALS[what]
    ]


@pytest.mark.parametrize("page", COUNTING, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_state_the_right_totals(page: Path) -> None:
    assert wrong_totals(page.read_text("utf-8")) == []


def test_a_wrong_total_is_noticed() -> None:
    laws = TOTALS["laws"]
    good = f'{laws} laws, 2 of\n{laws} laws, {laws} of the {laws} **laws**, "31 laws on little evidence"'
    assert min(TOTALS.values()) > 20 and wrong_totals(good) == []
    bad = f"{laws - 1} laws; 2 of {laws + 1}\nlaws; {laws + 1} of {laws} laws; 7 **mutants**; 1,000 scenarios"
    parts = [f"2 of {laws + 1} laws", f"{laws + 1} of {laws} laws"]
    assert wrong_totals(bad) == [f"{laws - 1} laws", *parts, "7 mutants", "1,000 scenarios"]
    assert wrong_totals("31 *faults*") == ["31 faults"]


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
