"""The documentation site is built from the pages, and each link in it leads somewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 300


class Page(HTMLParser):
    """What a page links to and loads, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        self.loads += [found[name] for name in ("src",) if name in found]
        if tag == "link" and found.get("rel") == "stylesheet":
            self.loads.append(found["href"])


def broken(site: Path) -> list[str]:
    """Links to nothing, and what a browser would fetch from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads:
                    found.append(f"{path.relative_to(site)} loads {link}")
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not to.exists():
                found.append(f"{path.relative_to(site)} links to {link}")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].ids:
                found.append(f"{path.relative_to(site)} links to {link}, a place that is not there")
    return found


def searched(site: Path, term: str) -> list[str]:
    """The pages that the site's search finds a term in."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    hits = index["terms"].get(term, [])
    return [index["docnames"][each] for each in (hits if isinstance(hits, list) else [hits])]


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    # Not parallel: another process would read the catalogues again.
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-b", "html", "-c", "docs",
         ".", str(out)], cwd=source, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(LIMIT_S)
def test_the_site_is_built_without_a_warning_and_each_of_its_links_leads_somewhere(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    site = (tmp_path / "site").resolve()
    assert not broken(site)
    laws = (site / "docs" / "reference" / "laws.html").read_text(encoding="utf-8")
    found = searched(site, "flushdisktyp")
    assert "docs/guide/your-configuration" in found and not any("decisions/0" in each for each in found)
    assert "tutorial|guide" in (site / "_static" / "language_data.js").read_text(encoding="utf-8")
    assert "finding.png" in (site / "docs" / "index.html").read_text(encoding="utf-8")
    assert "ack-replicated" in laws and "master-kill-under-load" in laws
    assert "--junit" in (site / "docs" / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert "CanCrashMachine" in (site / "docs" / "reference" / "python.html").read_text(encoding="utf-8")


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a><a href="b.html#not">y</a><a href="c.html">z</a>')
    (tmp_path / "b.html").write_text('<p id="there"><script src="https://example.org/x.js"></script>')
    assert sorted(broken(tmp_path)) == [
        "a.html links to b.html#not, a place that is not there",
        "a.html links to c.html",
        "b.html loads https://example.org/x.js",
    ]
