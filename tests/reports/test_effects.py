"""What the page of faults says of counts and of power losses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import pairproof.chaos
from pairproof.reports import effects, engines, inputs, model, pages, summary

COUNTED = re.compile(r"""(?:count\((?:[\w.]+,\s)?|effect\[)["']([a-z]+_[a-z_]+)["']|return\s(\{.*"[a-z_]+":.*\})""")


def test_every_count_of_the_labs_is_explained() -> None:
    sources = [path for room in pairproof.chaos.__path__ for path in Path(room, "labs").rglob("*.py")]
    found = set()
    for counted, returned in COUNTED.findall("\n".join(path.read_text() for path in sources)):
        found |= {counted, *re.findall(r'"([a-z]+_[a-z_]+)":', returned)} - {""}
    assert len(found) > 15, "counts are written otherwise than this test thinks"
    assert not {"bytes_lost", effects.SHUT_DOWN, effects.CUT} - found
    assert found - set(effects.MEANINGS) == set()


def test_counts_of_nothing_are_not_shown_and_only_what_occurs_is_explained() -> None:
    assert effects.shown({"bytes_lost": 0, "closes_delayed": 2}) == {"closes_delayed": 2}
    faults = [{"lab": "sim", "effect": {"bytes_lost": 0, "pieces": 2, "of_a_third_party": 1}}]
    assert [name for name, _ in effects.glossary(faults)] == ["pieces"]


@pytest.mark.parametrize(
    ("lab", "effect", "how"),
    [
        ("process", {"machines_crashed": 2, "file_systems_shut_down": 3}, [(effects.REAL, 3)]),
        ("process", {"machines_crashed": 2, "log_tails_cut": 2}, [(effects.IMITATED, 2)]),
        ("process", {"log_tails_cut": 1, "file_systems_shut_down": 1}, [(effects.IMITATED, 1), (effects.REAL, 1)]),
        ("sim", {"machines_crashed": 2}, [(effects.SIMULATED, 2)]),
        ("elsewhere", {"machines_crashed": 2}, [(effects.UNSAID, 2)]),
        ("sim", {"machines_crashed": 0, "processes_killed": 2}, []),
    ],
)
def test_the_kind_of_power_loss_is_told(lab: str, effect: dict[str, int], how: list[tuple[str, int]]) -> None:
    found = effects.power_losses([{"lab": lab, "effect": effect}, {"lab": lab, "effect": {}}])
    assert [(each.how, each.times) for each in found] == how


@pytest.mark.parametrize(("count", "warned"), [("log_tails_cut", True), ("file_systems_shut_down", False)])
def test_only_an_imitated_power_loss_is_a_warning(
    write_run: Any, rows: Any, tmp_path: Path, count: str, warned: bool
) -> None:
    faults = [rows.fault(0, "power_loss", 1, machines_crashed=1, **{count: 1})]
    runs, _ = inputs.open_runs([write_run("r", facts={"lab": "process"}, trials=[rows.trial(0)], faults=faults)])
    report = model.assemble(runs, (), engines.here(runs).tables)
    pages.write(report, {}, {}, tmp_path)
    shown = (tmp_path / "faults.html").read_text()
    assert f"In lab process, 1 time {'imitated' if warned else 'real'}:" in shown
    assert f"In lab process, 1 time {'real' if warned else 'imitated'}:" not in shown
    assert (count.replace("_", " ") + "&nbsp;1") in shown and "<dt>machines crashed</dt>" in shown
    assert ("power losses in process, 1 in all, were imitated" in (tmp_path / "index.html").read_text()) is warned
    assert ("power losses in process, 1 in all, were imitated" in summary.text(report)) is warned
