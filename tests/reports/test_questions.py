"""The questions of docs/guide/asking-the-store.md: Spark and DuckDB answer alike, of runs of two formats."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands.main import main

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "guide" / "asking-the-store.md").read_text(encoding="utf-8")
QUESTIONS = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
VIEWS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

Ask = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs of a reference that holds and one that does not, and one of format 1."""
    folder = tmp_path_factory.mktemp("store")
    runs = folder / "runs"
    shutil.copytree(ROOT / "tests" / "harness" / "run-format-1", runs, dirs_exist_ok=True)
    for target in ("reference", "reference+answers_before_flush"):
        asked = ["--target", target, "--trials", "24", "--seed", "s", "--engine", "local", "--jobs", "1"]
        assert main(["campaign", *asked, "--runs", str(runs)]) in (0, 1, 3)
    return folder


@pytest.fixture
def asked(store: Path, spark: Any) -> tuple[Ask, Ask]:
    """DuckDB and Spark with the page's own views."""
    duck: dict[str, Any] = {}
    # Spark's JVM was started elsewhere. Its session is the one that getOrCreate() finds.
    first, second = (each.replace("runs/*", f"{store}/runs/*") for each in VIEWS)
    exec(first, duck)
    exec(second, {})
    return lambda sql: duck["store"].sql(sql).fetchall(), lambda sql: [tuple(row) for row in spark.sql(sql).collect()]


def test_the_page_has_its_questions() -> None:
    assert len(QUESTIONS) >= 10 and len(VIEWS) == 2


@pytest.mark.parametrize("question", QUESTIONS)
def test_both_answer_alike(question: str, asked: tuple[Ask, Ask]) -> None:
    by_duckdb, by_spark = (ask(QUESTIONS[question]) for ask in asked)
    assert by_duckdb == by_spark
    assert by_duckdb or question.startswith("Which laws hardly")


def test_they_see_what_is_there(asked: tuple[Ask, Ask]) -> None:
    duck, _ = asked
    causes = duck(QUESTIONS["What broke first, and how often?"])
    assert {row[0] for row in causes} == {"reference+answers_before_flush"} and causes[0][2] > 1
    known = {row[0] for row in duck(QUESTIONS["Is it new? Versions and commits compared"])}
    assert known == {None, "reference", "reference+answers_before_flush"}
    flush = {row[0]: row[2] for row in duck(QUESTIONS["Does a setting go with the violations?"])}
    assert flush["SYNC_FLUSH"] > 0 == flush["ASYNC_FLUSH"]
