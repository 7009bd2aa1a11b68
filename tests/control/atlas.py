"""The atlas: what each release of RocketMQ showed, as data and as a page.

    python tests/control/atlas.py OUT     docs/measured/atlas.tsv from control_rocketmq's OUT, and docs/atlas.md from it
    python tests/control/atlas.py         only the page, from the data

A row of the data: a release and a law, how often it was judged, violated and unknown, and the known deviations that
explained its violations. Rows of releases that OUT lacks stay.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pairproof.chaos.rocketmq.install import RELEASES
from pairproof.harness.judging import deviations

DOCS = Path(__file__).resolve().parents[2] / "docs"
DATA, ANSWERS, PAGE = DOCS / "measured" / "atlas.tsv", DOCS / "measured" / "answers.tsv", DOCS / "atlas.md"
FOLDER = re.compile(r"process-rocketmq[@-]([\d.]+)-")
HEAD = """# Releases of RocketMQ

A real pair of each release in processes, the same seed, generated trials of all searches. Cells name laws, and known
deviations in brackets. [Counts by law](measured/atlas.tsv); to play a release: `tests/control/control_rocketmq.py`.
The last column counts steps of conversations that a release answers otherwise than the [table](measured/answers.tsv)
of `control_answers.py` demands.

| release | trials | laws judged | `ack-replicated` judged | violated | other answers |
|---|---|---|---|---|---|
"""
CHANGED = """
## Answers that changed

Steps that only these releases answer otherwise. Maven's repository lacks the name servers of 5.1.3 and 5.3.0 to 5.3.2.

| node | releases | steps | the first |
|---|---|---|---|
"""


class Row(NamedTuple):
    release: str
    law: str
    trials: int
    judged: int
    violated: int
    unknown: int
    known: str


def rows_of(out: Path) -> Iterable[Row]:
    """Sums over the parts of each release."""
    for folder in sorted(out.iterdir()):
        found = FOLDER.match(folder.name)
        parts = [json.loads(each.read_text("utf-8")) for each in sorted(folder.glob("part-*.json"))]
        if found is None or not any(each["trials"] for each in parts):
            continue
        release, trials = found[1], sum(each["trials"] for each in parts)
        counts = {name: Counter[str]() for name in ("judged", "violated", "unknown")}
        known: dict[str, set[str]] = defaultdict(set)
        for part in parts:
            for name, count in counts.items():
                count.update(part[name])
            for text in part["texts"]:
                law, _, words = text.partition(": ")[2].partition(" violated: ")
                known[law] |= {each for each in deviations.every() if _explains(each, release, law, words)}
            for each in part["known"]:
                for law in each["laws"]:
                    known[law].add(each["id"])
        for law, judged in sorted(counts["judged"].items()):
            ids = " ".join(sorted(known[law]))
            yield Row(release, law, trials, judged, counts["violated"][law], counts["unknown"][law], ids)


def _explains(name: str, release: str, law: str, words: str) -> bool:
    """Whether a deviation that was listed later explains a violation."""
    one = deviations.every()[name]
    roles = {"master": release, "slave": release}
    return one.is_of("rocketmq", roles) and any(law in each.laws and each.text.search(words) for each in one.signs)


def page(rows: Iterable[Row]) -> str:
    by_release: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_release[row.release].append(row)
    lines = []
    others = other_answers()
    for release in (each for each in RELEASES if each in by_release):
        own = by_release[release]
        judged = {row.law: row.judged for row in own if row.judged}
        shown = [f"{row.law} [{row.known or 'new'}]" for row in own if row.violated or row.known]
        lines.append(f"| {release} | {own[0].trials} | {len(judged)} | {judged.get('ack-replicated', 0)} | "
                     f"{'; '.join(shown) or 'nothing'} | {others[release]} |\n")  # fmt: skip
    return HEAD + "".join(lines) + CHANGED + "".join(_changes())


def _changes() -> Iterable[str]:
    """By node and set of releases: the number of steps that these alone answer otherwise, and the first one."""
    steps: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in _answers():
        steps[row["node"], row["releases"]].append(row["step"])
    known = {node: [each for each in RELEASES if any(each in releases.split() for at, releases in steps if at == node)]
             for node, _ in steps}  # fmt: skip
    for (node, releases), found in steps.items():
        yield f"| {node} | {_spans(releases.split(), known[node])} | {len(found)} | {found[0]} |\n"


def _spans(releases: list[str], known: list[str]) -> str:
    """Releases as ranges of those ``known``."""
    spans: list[list[str]] = []
    for each in releases:
        at = known.index(each)
        if spans and at and known[at - 1] == spans[-1][-1]:
            spans[-1] = [spans[-1][0], each]
        else:
            spans.append([each])
    return ", ".join(" to ".join(each) for each in spans)


def other_answers() -> Counter[str]:
    """By release: the number of steps in control_answers' table that it answers otherwise."""
    steps = {(release, row["node"], row["step"]) for row in _answers() for release in row["releases"].split()}
    return Counter(release for release, *_ in steps)


def _answers() -> list[dict[str, str]]:
    with ANSWERS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def read() -> list[Row]:
    if not DATA.exists():
        return []
    with DATA.open(encoding="utf-8", newline="") as file:
        raw = list(csv.reader(file, delimiter="\t"))[1:]
    return [Row(each[0], each[1], *map(int, each[2:6]), each[6]) for each in raw]


def write(out: Path | None = None) -> None:
    """The data, with the releases of ``out``, and the page."""
    kept = {(row.release, row.law): row for row in read()}
    if out is not None:
        new = list(rows_of(out))
        played = {row.release for row in new}
        kept = {key: row for key, row in kept.items() if key[0] not in played}
        kept |= {(row.release, row.law): row for row in new}
        with DATA.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow(Row._fields)
            writer.writerows(sorted(kept.values(), key=lambda row: (RELEASES.index(row.release), row.law)))
    PAGE.write_text(page(kept.values()), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else None)
