"""Writes up a finding (:mod:`pairproof.harness.writeup`) as Markdown and as one page of HTML that opens from disk.

Both have the same blocks in the same order; only the page has the timeline. All texts are escaped.
"""

from collections.abc import Iterator
from html import escape

from ..harness.writeup.blocks import Block, Drawing, Folded, Section, Steps, Table, Text, Verbatim, WriteUp
from . import markdown
from .pages import environment
from .timeline import draw

MARKDOWN, PAGE = "report.md", "report.html"


def as_markdown(whole: WriteUp) -> tuple[str, str]:
    """The Markdown file: its name, and its text."""
    lines = [f"# {markdown.escape(whole.title)}", "", markdown.prose(whole.claim), ""]
    for number, each in enumerate(whole.sections, 1):
        lines += [*_section(number, each), ""]
    return MARKDOWN, "\n".join(lines).rstrip() + "\n"


def _section(number: int, section: Section) -> Iterator[str]:
    yield f"## {number}. {markdown.escape(section.title)}"
    for block in section.blocks:
        if not isinstance(block, Drawing):
            yield ""
            yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Text(text):
            yield markdown.prose(text)
        case Steps(items):
            yield from (f"{number}. {markdown.prose(each)}" for number, each in enumerate(items, 1))
        case Table(head, rows, here):
            marked = [(*row[:-1], f"{row[-1]} ←") if at == here else row for at, row in enumerate(rows)]
            yield from markdown.table(head, marked)
        case Verbatim(lines):
            yield from markdown.fenced(lines)
        case Folded(summary, inside):
            # HTML inside Markdown.
            yield f"<details><summary>{escape(summary)}</summary>"
            yield ""
            yield from _block(inside)
            yield ""
            yield "</details>"


def as_page(whole: WriteUp) -> tuple[str, str]:
    """The page: its name, and its HTML."""
    made = environment()
    made.filters["kind"] = lambda block: type(block).__name__
    made.globals["draw"] = draw
    return PAGE, made.get_template("writeup.html").render(whole=whole)
