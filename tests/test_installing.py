"""Nobody is told to install what a stranger may have put into an index: pairproof comes from a commit."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INSTALLS = re.compile(r"\b(?:pip3?|pipx|uv|poetry)\b[^\n`|&;]*\b(?:install|add|download|wheel|run|tool)\b([^\n`|&;]*)")
USES = re.compile(r"\b([\w-]+/pairproof)@(\S+)")
MOVES = ("main", "master", "HEAD", "latest")
"""Names of what is another thing tomorrow."""


def wrong(text: str) -> list[str]:
    """What a reader is told to install that comes from an index by our name, or from a place that moves."""
    found = [f"{name}@{at}" for name, at in USES.findall(text) if at in MOVES]
    for line in INSTALLS.findall(text):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = line.split()
        found += [each for each in words if re.fullmatch(r"pairproof(\[[^]]*\])?([=<>~!].*)?", each)]
        for address in (each for each in words if "git+" in each):
            at = address.partition("git+")[2].partition("://")[2].rpartition("@")
            if not at[1] or at[2].partition("#")[0] in MOVES:
                found.append(address)
    return found


def pages() -> Iterator[Path]:
    """Whatever tells somebody how to install it: pages, recipes, and what our own messages say."""
    for pattern in ("*.md", "*.yml", "docs/**/*.md", "examples/**/*.md", "examples/**/*.yml", "harness/**/*.py",
                    "chaos/**/*.py", "reports/**/*.py", ".github/**/*.yml"):  # fmt: skip
        yield from ROOT.glob(pattern)


def test_no_page_installs_a_name_that_nobody_owns() -> None:
    scanned = list(pages())
    assert len(scanned) > 100 and ROOT / "docs/guide/ci.md" in scanned
    assert ROOT / "examples/broker_team/.github/workflows/pair.yml" in scanned
    assert {str(each): told for each in scanned if (told := wrong(each.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "pip install pairproof", "- run: pip install --quiet 'pairproof[pytest]'", "`pip3 install pairproof==0.1.0`",
        "uv pip install --system pairproof", "pipx install pairproof", "uv add pairproof",
        "python -m pip install pairproof",
        "pip install git+https://host/OWNER/pairproof", "pip install git+https://host/OWNER/pairproof@main",
        "pip install 'pairproof[spark] @ git+https://host/OWNER/pairproof@master'", "- uses: OWNER/pairproof@main",
    ],
)  # fmt: skip
def test_such_a_line_is_noticed(line: str) -> None:
    assert wrong(f"a\n{line}\nb\n")


@pytest.mark.parametrize(
    "line",
    [
        "pip install .", "pip install './pairproof[pytest]'", "pip install --no-deps ./pairproof",
        "pip install pyspark",
        "pip install pairproof-0.1.0-py3-none-any.whl", "pip install git+https://host/OWNER/pairproof@3f2a9c",
        "- uses: OWNER/pairproof@COMMIT", "pip install --require-hashes -r pairproof/requirements/base.txt",
    ],
)  # fmt: skip
def test_what_names_a_folder_a_wheel_or_a_commit_is_not(line: str) -> None:
    assert wrong(line) == []


def test_the_action_s_lock_is_a_part_of_the_run_s() -> None:
    def blocks(name: str) -> dict[str, tuple[str, ...]]:
        text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
        found = re.split(r"(?m)^(?=\w)", text)
        return {each.split(" ")[0]: tuple(sorted(re.findall(r"sha256:\w+", each))) for each in found if "==" in each}

    base, run = blocks("base.txt"), blocks("run.txt")
    assert base.items() <= run.items() and len(base) > 15 and all(base.values())
    assert {each.partition("==")[0] for each in run.keys() - base.keys()} >= {"pyspark", "docker", "pytest"}
