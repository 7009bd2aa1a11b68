"""The documentation site is built from the pages, and each link in it leads somewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from chromium import Browser

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


def searched(browser: Browser, query: str) -> list[str]:
    """What the site's search answers, best first: page and anchor."""
    found = browser.run(
        f"Search._performSearch(...Search._parseQuery({json.dumps(query)})).reverse().map(each => each[0] + each[2])"
    )
    return list(found)


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
    search_leads_users_where_they_want(site, tmp_path)
    assert "finding.png" in (site / "docs" / "index.html").read_text(encoding="utf-8")
    assert "ack-replicated" in laws and "master-kill-under-load" in laws
    assert "--junit" in (site / "docs" / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert "CanCrashMachine" in (site / "docs" / "reference" / "python.html").read_text(encoding="utf-8")


FIRST = {
    "transientStorePoolEnable": "docs/guide/your-configuration",
    "flushDiskType": "docs/guide/your-configuration",
    "lose messages": "docs/guide/your-configuration",
    "lost messages": "docs/guide/your-configuration",
    "broker.conf": "docs/guide/your-configuration",
    "jenkins": "docs/guide/ci",
    "exit code": "docs/guide/commands",
    "pytest": "docs/guide/pytest",
    "capture": "docs/guide/capture",
    "write a law": "docs/guide/extending",
    "rogue_slave": "docs/guide/faults",
    "master-kill-under-load": "docs/reference/laws#master-kill-under-load",
    **{law: f"docs/reference/laws#{law}" for law in ("ack-replicated", "ha-appends-frames", "contract", "log-prefix")},
}
"""What users type, and where the search leads them."""
NEVER = ("decisions/", "measured/", "findings/4", "findings/5", "status", "CHANGELOG")


def search_leads_users_where_they_want(site: Path, scratch: Path) -> None:
    with Browser(scratch) as browser:
        browser.open(site / "search.html", 1_400)
        found = {query: searched(browser, query) for query in FIRST}
        assert {query: pages[:1] for query, pages in found.items()} == {query: [page] for query, page in FIRST.items()}
        assert not [page for pages in found.values() for page in pages if any(each in page for each in NEVER)]
        # Sphinx's own ranking leads elsewhere.
        browser.run("Scorer.score = undefined")
        assert {query: searched(browser, query)[0] for query in FIRST} != FIRST


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a><a href="b.html#not">y</a><a href="c.html">z</a>')
    (tmp_path / "b.html").write_text('<p id="there"><script src="https://example.org/x.js"></script>')
    assert sorted(broken(tmp_path)) == [
        "a.html links to b.html#not, a place that is not there",
        "a.html links to c.html",
        "b.html loads https://example.org/x.js",
    ]
