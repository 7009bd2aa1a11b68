"""Every kind of page in a real Chromium, looked at by axe-core on a desk's and on a phone's width: no violation."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import axe_core_python
import pytest
from chromium import browse
from click.testing import CliRunner

from pairproof.harness.commands.main import main
from pairproof.reports.commands.report import command

pytestmark = pytest.mark.slow

AXE = (
    (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
)
ASK = """
axe.run().then(found => {
  const told = document.createElement("pre");
  told.id = "axe";
  told.textContent = JSON.stringify(found.violations.map(
    each => [each.id, each.impact, each.nodes.map(node => node.html.slice(0, 120))]));
  document.body.append(told);
});
"""
WIDTHS = (pytest.param(1400, marks=pytest.mark.nightly), 390)
"""The narrow page has the elements of the wide one, with less room and more to scroll."""


def violations(page: Path, width: int, scratch: Path) -> list[Any]:
    """What axe objects to: rule, impact, elements."""
    asking = page.with_name(f"axe-{page.name}")
    asking.write_text(page.read_text().replace("</body>", f"<script>{AXE}</script><script>{ASK}</script></body>"))
    try:
        shown = browse(asking, scratch, f"--window-size={width},1400", "--virtual-time-budget=15000", "--dump-dom")
    finally:
        asking.unlink()
    answer = re.search(r'<pre id="axe">(.*?)</pre>', shown, re.DOTALL)
    assert answer is not None, "axe did not answer"
    return list(json.loads(html.unescape(answer[1])))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of a pair that holds with one that does not: every kind of page."""
    folder = tmp_path_factory.mktemp("axe")
    for target in ("reference", "reference+answers_before_flush"):
        asked = ["--target", target, "--trials", "30", "--seed", "s", "--engine", "local", "--jobs", "1"]
        assert main(["campaign", *asked, "--runs", str(folder / target)]) in (0, 1, 3)
    runs = [str(each) for each in sorted(folder.glob("*/*"))]
    done = CliRunner().invoke(command, [*runs, "--compare", "--engine", "local", "--out", str(folder / "out")])
    assert done.exit_code == 1, done.output
    return folder / "out"


@pytest.mark.parametrize("width", WIDTHS)
def test_axe_objects_to_no_page(report: Path, width: int, tmp_path: Path) -> None:
    pages = sorted(report.glob("*.html"))
    for name in ("findings", "trials"):
        pages += sorted((report / name).glob("*.html"))[:1]
    assert {each.stem for each in pages} > {
        "index",
        "runs",
        "faults",
        "coverage",
        "losses",
        "laws",
        "trials",
        "compared",
    }
    assert {page.name: found for page in pages if (found := violations(page, width, tmp_path))} == {}


def test_axe_would_object(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<!doctype html><html><body><img src="data:,"><p style="color:#eee">pale</p></body></html>')
    assert {"image-alt", "html-has-lang", "color-contrast"} <= {each[0] for each in violations(page, 1400, tmp_path)}
