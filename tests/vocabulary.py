"""The words that names and pages may use: the glossary's, RocketMQ's, and common ones of this trade.

    python tests/vocabulary.py [PAGE ...]

prints a table of pages: words, sentences, words per sentence (mean and the longest), and the share of words outside the
three lists, with the most frequent of them. It helps to find the pages that read worst; it is not a gate. The test of
names is ``tests/test_vocabulary.py``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("harness", "reference", "chaos", "reports")
_SEGMENT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENDINGS = ("ing", "ies", "ed", "es", "er", "ly", "s", "d", "n", "r")


def listed(name: str) -> frozenset[str]:
    """A word list of ``tests/words``; ``#`` begins a remark."""
    lines = (ROOT / "tests" / "words" / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines for word in line.partition("#")[0].split())


def glossary() -> frozenset[str]:
    """The words of the terms in ``docs/glossary.md``."""
    rows = re.findall(r"^\| ([a-z][^|]*) \|", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
    return frozenset(word for row in rows for word in re.findall(r"[a-z]+", row))


def segments(name: str) -> list[str]:
    """``HaMasterPort``, ``ha_master_port`` and ``ha-master-port`` are ha, master, port."""
    return [each.lower() for each in _SEGMENT.findall(name)]


def is_in(word: str, words: frozenset[str]) -> bool:
    """Whether a list has the word, or what it is an inflection of."""
    if word in words:
        return True
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1 and {stem, f"{stem}e", f"{stem}y", stem[:-1]} & words:
            return True
    return False


def public_names() -> Iterator[tuple[str, str]]:
    """Every public name of the product's code: of modules, classes, functions, methods, attributes and parameters."""
    for path in sorted(each for folder in PRODUCT for each in (ROOT / folder).rglob("*.py")):
        where = str(path.relative_to(ROOT))
        yield where, path.stem
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.name[0] != "_":
                yield where, node.name


def _sentences(text: str) -> list[list[str]]:
    prose = re.sub(r"(?s)```.*?```|^    .*?$|`[^`]*`|<[^>]*>|\]\([^)]*\)", " ", text, flags=re.MULTILINE)
    found = (re.findall(r"[A-Za-z][A-Za-z'-]*", each) for each in re.split(r"[.!?:;|](?:\s|$)|\n\s*\n|\n[-*#|]", prose))
    return [each for each in found if each]


def row(path: Path) -> str:
    """One page's figures."""
    found = _sentences(path.read_text("utf-8"))
    words = [word.lower() for sentence in found for word in sentence]
    known = glossary() | listed("rocketmq") | listed("common")
    strange = Counter(each for each in words if not is_in(each.replace("'s", ""), known) and "-" not in each)
    share = 100 * sum(strange.values()) / max(1, len(words))
    mean = len(words) / max(1, len(found))
    most = ", ".join(word for word, _ in strange.most_common(5))
    longest = max(map(len, found), default=0)
    return f"{len(words):6} {len(found):5} {mean:6.1f} {longest:5} {share:6.1f} %  {path.relative_to(ROOT)}  {most}"


def main() -> None:
    """Print the table of the pages that are named, or of all; the worst first."""
    pages = [Path(each).resolve() for each in sys.argv[1:]]
    pages = pages or [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    print(" words  sent.  w/s  longest outside  page")
    for line in sorted(map(row, pages), key=lambda line: -float(line.split()[4])):
        print(line)


if __name__ == "__main__":
    main()
