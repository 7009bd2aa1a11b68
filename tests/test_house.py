"""The house is tidy: sizes, docstrings, names, what must not be in any file."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness import registry
from pairproof.harness.judging.judge import all_laws
from pairproof.harness.judging.law_groups import group_of
from pairproof.harness.rocketmq import documents as rocketmq_documents
from pairproof.harness.runs import documents
from pairproof.harness.trials import resolve

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("harness", "reference", "chaos", "reports")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
NOT_OURS = {"golden", "__pycache__", "node_modules"}
MADE = {"runs", "build", "dist", "spark-warehouse"}
"""In the root only: rooms have folders of such names, too."""
TEXT = {".py", ".md", ".toml", ".txt", ".in", ".sh", ".html", ".css", ".js", ".svg", ".json", ".yml", ".yaml", ""}


def files() -> Iterator[Path]:
    """Every file of the project that somebody wrote."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [each for each in folders if each not in NOT_OURS and not each.endswith(("_cache", ".egg-info"))]
        if Path(folder) == ROOT:
            folders[:] = [
                each for each in folders if each in (".ci", ".github") or (each[0] != "." and each not in MADE)
            ]
        # A work tree of git has a file of that name, which is git's.
        yield from (Path(folder) / name for name in names if name != ".git")


def sources() -> list[Path]:
    # Not what pairproof/ links to: each file counts once.
    return sorted(path for folder in ("pairproof", *ROOMS) for path in (ROOT / folder).rglob("*.py"))


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_source_is_looked_at_once_though_it_has_two_paths() -> None:
    found = [path.resolve() for path in sources()]
    assert len(found) == len(set(found)) and ROOT / "pairproof" / "__init__.py" in found
    listed = [path.resolve() for path in files() if path.suffix == ".py"]
    assert len(listed) == len(set(listed)) and set(found) <= set(listed)


every_source = pytest.mark.parametrize("path", sources(), ids=shown)


# What is measured, as functions of a text, so that the measures themselves are tested.


def long_functions(text: str) -> list[str]:
    """Functions with too many lines of their own: what is defined inside of one is counted for itself."""
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [n.name for n in functions if lines(n) - sum(map(lines, defined_in(n))) > MAX_FUNCTION_LINES]


def lines(node: Any) -> int:
    return int(node.end_lineno - node.lineno + 1)


def defined_in(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield child
        else:
            yield from defined_in(child)


# Split, so that this file does not hold what it looks for.
FOREIGN = re.compile(
    "|".join(
        (
            r"/wo" r"rk/", r"/ro" r"ot/", r"/ho" r"me/\w", r"/Us" r"ers/\w", r"\.pye" r"nv\b",
            r"files\.pytho" r"nhosted", r"pypi\.o" r"rg", r"--ind" r"ex-url", r"--extra-ind" r"ex", r"artifac" r"tory",
            r"repo1?\.mav" r"en", r"mirr" r"ors?\.\w+\.",
        )
    )
)  # fmt: skip


def foreign(text: str) -> list[str]:
    return FOREIGN.findall(text)


@every_source
def test_files_and_functions_stay_small_enough_to_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_FILE_LINES
    assert long_functions(text) == []


def test_a_long_function_is_noticed() -> None:
    body = "".join(f"    x = {n}\n" for n in range(MAX_FUNCTION_LINES))
    assert long_functions(f"class A:\n  def f():\n{body}") == ["f"]
    assert long_functions(f"def f():\n{body}".removesuffix(f"    x = {MAX_FUNCTION_LINES - 1}\n")) == []
    inner = "".join(f"        x = {n}\n" for n in range(MAX_FUNCTION_LINES))
    assert long_functions(f"def f():\n    class A:\n{inner}    return A\n") == []


@every_source
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_no_file_names_a_machine_s_paths_or_a_package_index() -> None:
    found = {}
    for path in files():
        if path.suffix in TEXT and path.stat().st_size < 5_000_000:
            hits = foreign(path.read_text(encoding="utf-8", errors="replace"))
            if hits:
                found[shown(path)] = hits
    assert found == {}


def test_a_foreign_path_or_host_is_noticed() -> None:
    for bad in ("/ho" + "me/joe/x", "https://pypi.o" + "rg/simple", "--ind" + "ex-url x", "/ro" + "ot/.cache"):
        assert foreign(f"see {bad} there")
    assert not foreign("https://www.apache.org/licenses/LICENSE-2.0 and tests/home.html")


ROOMS_OF = {
    "laws": (ROOT / "harness" / "laws", ROOT / "harness" / "rocketmq" / "laws"),
    "faults": (ROOT / "chaos" / "faults",),
}


@pytest.mark.parametrize("group", ROOMS_OF)
def test_a_registered_name_is_its_file_s_name_and_no_file_is_forgotten(group: str) -> None:
    written = {path.stem for room in ROOMS_OF[group] for path in room.rglob("*.py") if declares(path)}
    assert {name.replace("-", "_") for name in registered(group)} == written
    for name, where in registered(group).items():
        assert where.partition(":")[0].rpartition(".")[2] == name.replace("-", "_")


def declares(path: Path) -> bool:
    """Whether a file holds a law or a fault, and not only what several of them share."""
    stated = rf'^FAULT\b|^    id = |\A"""``{path.stem.replace("_", "-")}``: '
    return re.search(stated, path.read_text(encoding="utf-8"), re.MULTILINE) is not None


ABSOLUTE = re.compile(r"^ *(from|import) pairproof\.(harness|chaos|reports|reference)\b", re.MULTILINE)
COPIED_BY_OTHERS = ROOT / "harness" / "testing" / "toy.py"


def test_the_rooms_import_each_other_by_names_that_an_editor_follows() -> None:
    modules = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    absolute = {path for path in modules if ABSOLUTE.search(path.read_text(encoding="utf-8"))}
    assert absolute == {COPIED_BY_OTHERS}


def test_laws_of_one_group_of_the_catalogue_are_in_one_package() -> None:
    package = {name: where.partition(":")[0].split(".")[-2] for name, where in registered("laws").items()}
    assert len(package) > 100
    # Laws about any system are few, and have no packages.
    package = {name: found for name, found in package.items() if found != "laws"}
    pairs = {(group_of(name), found) for name, found in package.items()}
    assert len(pairs) == len({title for title, _ in pairs}) == len({found for _, found in pairs})


def registered(group: str) -> dict[str, str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project: dict[str, Any] = tomllib.load(file)["project"]
    return dict(project["entry-points"][f"pairproof.{group}"])


def test_laws_and_faults_call_themselves_what_they_are_registered_as() -> None:
    assert [law.id for law in all_laws()] == registry.names("laws")
    assert {name: fault.name for name, fault in resolve.faults().items()} == {name: name for name in resolve.faults()}


@pytest.mark.parametrize("group", [each for each in registry.GROUPS if registry.names(each)])
def test_what_is_registered_is_what_is_installed_and_can_be_loaded(group: str) -> None:
    assert set(registered(group)) <= set(registry.names(group)), "pyproject.toml changed: run make again"
    for name in registered(group):
        assert registry.find(group, name) is not None


PAGES = {**documents.PAGES, **rocketmq_documents.PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_pages_made_from_the_code_are_current(page: str) -> None:
    written = (ROOT / "docs" / page).read_text(encoding="utf-8")
    parts = PAGES[page]()
    assert [found[2] for found in documents.PART.finditer(written)] == list(parts)
    assert written == documents.filled(written, parts), "run the command that the page names"


def test_every_locked_package_has_its_licence_in_the_notice() -> None:
    locked = {
        line.split("==")[0]
        for path in (ROOT / "requirements").glob("*.txt")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"[a-z0-9]", line)
    }
    noticed = set(re.findall(r"^  ([a-z0-9-]+)  +\S", (ROOT / "NOTICE").read_text(encoding="utf-8"), re.MULTILINE))
    assert len(locked) > 30
    assert locked - noticed == set()


def test_every_locked_version_has_hashes_and_is_the_same_everywhere() -> None:
    # A package may be locked to several versions, each under a marker: the same ones in every file that names it.
    locks: dict[str, dict[str, set[str]]] = {}
    for path in (ROOT / "requirements").glob("*.txt"):
        for name, rest in re.findall(r"^([a-z0-9-]+)==(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert rest.endswith("\\"), f"{path.name}: {name} has no hash"
            locks.setdefault(name, {}).setdefault(path.name, set()).add(rest)
    different = {name: by for name, by in locks.items() if len({frozenset(found) for found in by.values()}) > 1}
    assert different == {}


def test_links_in_the_pages_lead_somewhere() -> None:
    pages = [path for path in files() if path.suffix == ".md"]
    assert len(pages) > 5
    dead = [
        f"{shown(page)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_no_source_file_is_ignored_by_git() -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this copy of the project is no git checkout")
    paths = [shown(path) for path in files() if path.suffix in (".py", ".html", ".css", ".md", ".toml")]
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        input="\n".join(paths),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.split() == []
