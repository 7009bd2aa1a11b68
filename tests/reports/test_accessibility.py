"""Every kind of page in a real Chromium, on a desk's and on a phone's width: axe-core objects to nothing, and nothing
but grids and timelines is wider than the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import axe_core_python
import pytest
from chromium import Browser
from click.testing import CliRunner

from pairproof.harness.commands.main import main
from pairproof.reports.commands.report import command

pytestmark = pytest.mark.slow

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
ASK = """axe.run().then(found => found.violations.map(
  each => [each.id, each.impact, each.nodes.map(node => node.html.slice(0, 120))]))"""
OPENED = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
WIDE = """(() => {
  const told = [];
  for (const each of document.querySelectorAll("body *")) {
    if (each.closest(".timeline, .trend") || each.closest(".scroll:has(table.grid)") || each.closest("svg")) continue;
    const cut = each.matches(".scroll") && each.scrollWidth > each.clientWidth + 1;
    if (cut || each.getBoundingClientRect().right > innerWidth + 1)
      told.push(`${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 60)}`);
  }
  return told;
})()"""
"""Elements that stand out of the window, or tables that have to be scrolled sideways."""
WIDTHS = (1400, 390)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of each kind of page one: a comparison of a pair that holds with one that does not, a scenario, brought files."""
    folder = tmp_path_factory.mktemp("axe")
    for target in ("reference", "reference+answers_before_flush"):
        asked = ["--target", target, "--trials", "30", "--seed", "s", "--engine", "local", "--jobs", "1"]
        assert main(["campaign", *asked, "--runs", str(folder / target)]) in (0, 1, 3)
    for name, own in (("master", "ASYNC_MASTER\nbrokerId=0"), ("slave", "SLAVE\nbrokerId=1")):
        (folder / f"{name}.conf").write_text(f"brokerRole={own}\nflushDiskType=ASYNC_FLUSH\nmapedFileSizeCommitLog=1\n")
    files = ["--master-conf", str(folder / "master.conf"), "--slave-conf", str(folder / "slave.conf")]
    asked = ["--target", "rocketmq-4.9.7@model", "--trials", "5", "--seed", "s", "--jobs", "1"]
    main(["check", *asked, *files, "--runs", str(folder / "brought")])
    main(["chaos", "run", "slave-wiped", "--seed", "s", "--runs", str(folder / "brought")])
    compared = [str(each) for each in sorted(folder.glob("reference*/*"))]
    for each in ("4.9.7", "5.5.0"):
        played = ["--target", f"rocketmq-{each}@model", "--trials", "10", "--seed", "s", "--engine", "local"]
        main(["campaign", *played, "--jobs", "1", "--runs", str(folder / "brought")])
    several = [*compared, *map(str, sorted((folder / "brought").iterdir()))]
    (folder / "damaged").mkdir()
    (folder / "damaged" / "run.json").write_text("{")
    made = []
    for name, runs in (("compared", [*compared, "--compare"]), ("several", [*several, str(folder / "damaged")])):
        CliRunner().invoke(command, [*runs, "--engine", "local", "--out", str(folder / name)])
        made += sorted((folder / name).glob("*.html"))
        made += [each for kind in ("findings", "trials") for each in sorted((folder / name / kind).glob("*.html"))[:1]]
    assert {each.stem for each in made} >= {
        "index", "runs", "faults", "coverage", "losses", "laws", "power", "trials", "compared", "releases", "001",
    }  # fmt: skip
    return made


@pytest.mark.parametrize("width", [pytest.param(1400, marks=pytest.mark.nightly), 390])
def test_axe_objects_to_no_page_and_nothing_stands_out_of_the_window(
    pages: list[Path], browser: Browser, width: int
) -> None:
    found: dict[str, Any] = {}
    for page in pages:
        browser.open(page, width)
        browser.run(OPENED)
        browser.run(AXE)
        told = [*browser.run(ASK), *browser.run(WIDE)]
        if told:
            found["/".join(page.parts[-2:])] = told
    assert found == {}


@pytest.mark.parametrize("width", WIDTHS)
def test_axe_and_the_window_would_object(browser: Browser, tmp_path: Path, width: int) -> None:
    page = tmp_path / "page.html"
    pale = '<img src="data:,"><p style="color:#eee">pale</p><p style="width:2000px">wide</p>'
    narrow = "<style>@media (max-width: 400px) { b { color: #eee } }</style><b>pale on a phone</b>"
    page.write_text(f'<!doctype html><meta name="viewport" content="width=device-width">{pale}{narrow}')
    browser.open(page, width)
    browser.run(AXE)
    told = {each[0]: each[2] for each in browser.run(ASK)}
    assert {"image-alt", "html-has-lang", "color-contrast"} <= told.keys()
    assert any("phone" in each for each in told["color-contrast"]) == (width == 390), (
        "the width is the one that is asked"
    )
    assert browser.run(WIDE) == ["P. wide"]
