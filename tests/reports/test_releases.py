"""The page of releases: each law in each of them, and what changed from one to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.commands.main import main

TRIALS = 30


@pytest.fixture
def release(write_run: Any, rows: Any) -> Any:
    """``release(version, broken, deviating)``: a run that breaks ``log-prefix`` in so many trials, by finding or known
    deviation.
    """

    def record(version: str, broken: int = 0, deviating: int = 0, **facts: Any) -> Path:
        bad = ["violated"] * broken + ["known-deviation"] * deviating
        verdicts = [rows.verdict(n, "log-prefix", (bad + ["holds"] * TRIALS)[n], judged=3) for n in range(TRIALS)]
        verdicts += [rows.verdict(n, "contract", "holds") for n in range(TRIALS)]
        findings = [rows.finding("log-prefix", "the logs differ", 0, 0, cause="log-prefix, append")] if broken else []
        told = {"target": f"rocketmq@{version}", "laws": ["contract", "log-prefix"], **facts}
        trials = [rows.trial(n) for n in range(TRIALS)]
        made = write_run(f"r{version}", findings, facts=told, verdicts=verdicts, trials=trials)
        assert isinstance(made, Path)
        return made

    return record


def page(out: Path, *folders: Path) -> str:
    main(["report", *map(str, folders), "--engine", "local", "--out", str(out)])
    index = (out / "index.html").read_text()
    found = out / "releases.html"
    assert found.exists() == ('href="releases.html"' in index)
    return found.read_text() if found.exists() else ""


def test_a_law_that_one_release_breaks_is_a_change_before_and_after_it(release: Any, tmp_path: Path) -> None:
    folders = [release("5.5.0"), release("4.9.7"), release("5.3.3", broken=20)]
    html = page(tmp_path / "out", *folders)
    assert html.index("4.9.7") < html.index("5.3.3") < html.index("5.5.0")
    assert "From 4.9.7 to 5.3.3" in html and "From 5.3.3 to 5.5.0" in html
    assert "20 of 30" in html and 'href="findings/001.html"' in html
    assert html.count("<td>yes</td>") == 2 and "1 more laws were judged and never broken" in html


def test_one_trial_may_be_chance_and_a_known_deviation_is_a_difference_too(release: Any, tmp_path: Path) -> None:
    html = page(tmp_path / "out", release("4.9.7"), release("5.3.3", deviating=1), release("5.4.0", deviating=25))
    assert html.count("no: play more trials") == 1 and html.count("<td>yes</td>") == 1
    assert "1 of 30" in html and "25 of 30" in html


def test_releases_alike_have_no_changes_and_one_release_has_no_page(release: Any, tmp_path: Path) -> None:
    html = page(tmp_path / "two", release("4.9.7"), release("4.9.10"))
    assert html.index("4.9.7") < html.index("4.9.10") and "From" not in html
    assert page(tmp_path / "one", release("5.5.0")) == ""
