"""Texts are plain English: help, errors, promises, scenarios, report pages, the documentation, docstrings, comments.

The ban list holds phrases that read as translated, each with a replacement. The test reads every text of the four
packages, the help of all commands, templates, scenarios and Markdown pages. Docstrings and comments may also not begin
a sentence with "Of", nor use verbs of perception for data flow. Left out: `docs/status.md`, decisions, and
`docs/measured/language.md`, which quotes old texts.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import click
import pytest

from pairproof.harness import registry
from pairproof.harness.commands.main import pairproof
from pairproof.harness.trials import resolve

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("harness", "reference", "chaos", "reports")
UNREAD = ("status", "language")
"""Pages that this test leaves out."""
BAN = {
    r"\b(is|are|was|were) none of\b": "is not one of; does not belong to",
    r"(?<!there )(?<!here )\b(is|are|was|were) no (?!longer\b|more than\b|less than\b|sooner\b)": "is not a",
    r"\bconduct\b": "behaviour",
    r"\b(is|are|was|were) told as\b": "is recorded as",
    r"\b(at|by) (its|their|whose|a \w+'s) word\b": "trusted; because of",
    r"\btime is real\b": "real-time",
    r"\bof (its|their|one's) own\b": "its own, before the noun",
    r"\bin vain\b": "failed; without effect",
    r"\bmade small(er)?\b": "shrunk",
    r"\bnot the same twice\b": "not deterministic",
    r"\b(is|of|to|from|by) who\b|\b[Ww]hoever\b": "the noun: a client, the messages",
    r"\b[Nn]obody knows\b|\bits? is not known\b": "unknown",
    r"\b[Ww]hatever ends\b": "however it exits",
    r"\b(faults?|it|that|never) bit(es?)?\b|\bneed not bite\b": "takes effect; took effect",
    r"\b[Aa]ll else\b": "any other",
    r"\b(to|cannot) be (had|seen)\b": "available; visible",
    r"\b(runs|answers|takes|has|does) no more\b": "no longer runs",
    r"\b(is|was|be) looked (?!up|at)": "we check, poll",
    r"\banew\b": "again",
    r"\bmendings?\b": "after the fault; fixed",
}  # fmt: skip


IN_DOCSTRINGS = {
    r"(?:^|[.;] )Of (?!course)": "the noun first",
    r"\b(told|hears?|heard)\b(?!:)": "report, receive, return, record",
    r"\b(whole trials?|restless|strangers?|keepers?|seams?)\b|\btaken up again\b": "the glossary's term",
}


def banned(text: str, also: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The banned phrases of a text, each with its replacement. ``also``: more patterns."""
    line = " ".join(text.split())
    found = ((re.search(pattern, line), better) for pattern, better in (BAN | dict(also)).items())
    return [
        f"{hit[0]!r} in {line[max(0, hit.start() - 40) : hit.end() + 40]!r}: {better}" for hit, better in found if hit
    ]


def constants(source: str) -> Iterator[tuple[int, str]]:
    """Each text of a module that is no docstring, with its line; {} for what an f-string fills in."""
    tree = ast.parse(source)
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            inside.update(each for each in node.values if isinstance(each, ast.Constant))
            yield node.lineno, "".join(each.value if isinstance(each, ast.Constant) else "{}" for each in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.lineno, node.value


def remarks(source: str) -> Iterator[tuple[int, str]]:
    """Each docstring and comment of a module, with its line; without names of code."""
    for each in tokenize.generate_tokens(io.StringIO(source).readline):
        if each.type == tokenize.COMMENT or (each.type == tokenize.STRING and each.string.startswith('"""')):
            yield each.start[0], re.sub(r"``[^`]*``", "", each.string.strip('"# \n'))


def helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The help of a command and of all commands below it, by the words that call it."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from helps(child, click.Context(child, info_name=name, parent=context))


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def pages() -> list[Path]:
    """What users read beside the program: guides, scenarios, templates."""
    guides = [
        path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts and path.stem not in UNREAD
    ]
    roots = [*ROOT.glob("*.md"), ROOT / "compose" / "README.md"]
    return sorted([*roots, *guides, *(ROOT / "chaos").rglob("*.yaml"), *(ROOT / "reports").rglob("*.html")])


def paragraphs(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    return re.split(r"\n\s*\n|\n(?=[|*-] )", re.sub(r"<[^>]*>", "", text) if path.suffix == ".html" else text)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_messages_of_all_packages_are_plain_english() -> None:
    texts = ((path, *each) for path in sources() for each in constants(path.read_text("utf-8")))
    assert [f"{shown(path)}:{line}: {hit}" for path, line, text in texts for hit in banned(text)] == []


def test_docstrings_and_comments_are_plain_english() -> None:
    texts = ((path, *each) for path in sources() for each in remarks(path.read_text("utf-8")))
    found = [f"{shown(path)}:{line}: {hit}" for path, line, text in texts for hit in banned(text, IN_DOCSTRINGS)]
    assert found == []


def test_pages_for_users_are_plain_english() -> None:
    found = [f"{shown(path)}: {hit}" for path in pages() for text in paragraphs(path) for hit in banned(text)]
    assert found == []


def test_the_help_of_every_command_is_plain_english() -> None:
    texts = dict(helps(pairproof, click.Context(pairproof, info_name="pairproof")))
    assert {"pairproof check", "pairproof chaos run", "pairproof labs install"} <= set(texts)
    assert {where: hits for where, text in texts.items() if (hits := banned(text))} == {}


def test_what_write_ups_and_pages_say_of_faults_and_operations_is_plain_english() -> None:
    said = {f"fault {name}": registry.described("faults", name) for name in registry.names("faults")}
    said |= {name: " ".join((type(each).__doc__ or "").split()) for name, each in resolve.operations().items()}
    assert {name: hits for name, text in said.items() if (hits := banned(text))} == {}


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (
            "Who vanished is who the contract allows to vanish",
            "Only what the contract allows to be lost is lost",
        ),
        ("runs/x is no run folder", "runs/x is not a run folder"),
        ("process 7 is none of this lab's", "process 7 does not belong to this lab"),
        ("a slave is taken at its word", "a slave is trusted"),
        ("not used where time is real", "not used in real-time labs"),
        ("every link has a proxy of its own", "every link has its own proxy"),
        ("a fault that bites", "a fault that takes effect"),
        ("the program is made small", "the program is shrunk"),
        ("waits in vain", "waits until it times out"),
    ],
)
def test_a_banned_phrase_is_noticed_and_its_plain_form_is_not(bad: str, good: str) -> None:
    assert banned(bad) and not banned(good)
    module = f'"""A docstring: {bad}."""\nraise ValueError(f"{{x}}: {bad}")\n'
    assert [text for _, text in constants(module)] == [f"{{}}: {bad}"]


def test_there_is_no_banned_phrase_without_a_plain_form() -> None:
    assert registry.names("commands") and all(BAN.values())
    assert not [better for better in BAN.values() if banned(better)]


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("Of calls in flight nothing is known.", "Calls in flight may have any result."),
        ("A slave hears its master.", "A slave receives its master's frames."),
        ("How many whole trials there were.", "The number of cluster trials."),
    ],
)
def test_a_docstring_in_the_private_language_is_found(bad: str, good: str) -> None:
    source = '"""{}"""\nX = 1  # {}\n'
    assert len([hit for _, text in remarks(source.format(bad, bad)) for hit in banned(text, IN_DOCSTRINGS)]) == 2
    assert not [hit for _, text in remarks(source.format(good, good)) for hit in banned(text, IN_DOCSTRINGS)]
