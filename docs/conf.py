"""How Sphinx makes the site: from the repository's root, so that a page's links are those that a code host follows.

``make docs`` builds it and fails at what does not resolve. Nothing is fetched, neither now nor by a reader's browser.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from pairproof import __version__
from pairproof.harness.commands.main import pairproof as command_line

project = "pairproof"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "compose/README.md",
    "docs/**",
    "examples/*/README.md",
]
html_theme = "furo"
html_title = f"pairproof {release}"
html_show_copyright = False
templates_path = ["site"]
html_search_scorer = str(Path(__file__).parent / "site" / "scorer.js")
UNSEARCHED = ("docs/decisions/", "docs/findings/4", "docs/findings/5", "docs/measured/", "CHANGELOG", "docs/status")
"""Pages that the search leaves out: decisions, findings and measurements. Their lists of contents lead to them."""
html_additional_pages = {"index": "redirect.html"}
myst_heading_anchors = 3
autodoc_member_order = "bysource"
# Diagrams are drawn by code hosts, here their text is shown; two public classes are called Law, and two Known.
suppress_warnings = ["misc.highlighting_failure", "ref.python"]


class Answers(SphinxDirective):
    """``{answers} laws``: the answer of ``pairproof laws --json``, as a table of the columns that its body names.

    The first column names the rows: each has an anchor of that name, to which the search leads.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        done = CliRunner().invoke(command_line, [*self.arguments[0].split(), "--json"], catch_exceptions=False)
        if done.exit_code:
            raise self.error(f"pairproof {self.arguments[0]}: exit code {done.exit_code}: {done.output}")
        told = json.loads(done.stdout)
        rows = told if isinstance(told, list) else next(iter(told.values()))
        columns = str(self.content[0]).split()
        lines = [" | ".join(columns), " | ".join("---" for _ in columns)]
        lines += [" | ".join(_cell(row[column]) for column in columns) for row in rows]
        box = nodes.container()
        wraps = "<style>article td:nth-child(3) { min-width: 9em; overflow-wrap: anywhere }</style>"
        box += nodes.raw("", wraps, format="html")
        self.state.nested_parse(StringList([f"| {line} |" for line in lines], "answers"), self.content_offset, box)
        for row in next(box.findall(nodes.tbody)).children:
            cell = row.children[0]
            name = cell.astext()
            cell["ids"].append(name)
            cell.insert(0, addnodes.index(entries=[("single", name, name, "main", None)]))
        return box.children


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).replace("|", "\\|")


class PublicNames(SphinxDirective):
    """``{public} pairproof``: every public name of a module, documented from the code where it lives."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module = __import__(self.arguments[0], fromlist=["_"])
        lines = []
        for name in module.__all__:
            found = getattr(module, name)
            if getattr(found, "__module__", "pairproof").partition(".")[0] != "pairproof":
                continue  # Another name for somebody else's type.
            if inspect.ismodule(found):
                lines += _documented("module", found.__name__, ":members:")
            elif inspect.isclass(found):
                lines += _documented("class", f"{found.__module__}.{found.__qualname__}", ":members:")
            elif callable(found):
                lines += _documented("function", f"{found.__module__}.{found.__qualname__}")
        box = nodes.container()
        self.state.nested_parse(StringList(lines, "public"), self.content_offset, box)
        return box.children


def _documented(kind: str, home: str, *options: str) -> list[str]:
    return ["```{eval-rst}", f".. auto{kind}:: {home}", *(f"   {option}" for option in options), "```", ""]


def leave_out(app: Sphinx, _: nodes.document) -> None:
    """Take a page out of the search's index."""
    if app.env.docname.startswith(UNSEARCHED):
        app.env.metadata[app.env.docname]["nosearch"] = "true"


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_directive("answers", Answers)
    app.add_directive("public", PublicNames)
    app.connect("doctree-read", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
