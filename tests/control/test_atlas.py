"""The page of releases is what its data give, and a violation without a known deviation is called new."""

from __future__ import annotations

import json
from pathlib import Path

import atlas


def test_the_page_is_what_the_data_give() -> None:
    rows = atlas.read()
    assert atlas.PAGE.read_text("utf-8") == atlas.page(rows) != atlas.page(rows[:1])


def test_a_violation_that_no_deviation_explains_is_new(tmp_path: Path) -> None:
    def shown(release: str, words: str) -> str:
        part = {
            "trials": 3, "judged": {"role-slave-read-only": 5}, "violated": {"role-slave-read-only": 1}, "unknown": {},
            "texts": [f"trial 2: role-slave-read-only violated: {words}"], "known": [],
        }  # fmt: skip
        folder = tmp_path / f"process-rocketmq@{release}-generic"
        folder.mkdir(exist_ok=True)
        (folder / "part-0.json").write_text(json.dumps(part))
        return next(line for line in atlas.page(atlas.rows_of(tmp_path)).splitlines() if f"| {release} |" in line)

    words = "slave, a slave, accepted the group g4"
    assert "| 3 | 1 | 0 | role-slave-read-only [slave-takes-changes] |" in shown("4.9.3", words)
    assert "[new]" in shown("4.9.7", words) and "[new]" in shown("4.9.3", "slave lost its way")
