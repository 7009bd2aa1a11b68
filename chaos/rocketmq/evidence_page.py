"""Makes ``docs/rocketmq-evidence.md``: how each law is judged of a Java broker, and on which controls that was tried.

What is observable is asked of the targets; of each kind of event this module says who provides it, and of each law
that became observable by the broker's files or log where it fired and where it was silent.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ...harness import registry
from ...harness.judging import judge
from ...harness.judging.law import Law
from ...harness.trials import resolve
from ..targets.rocketmq import SIMULATED

PAGE = "rocketmq-evidence.md"
VERSIONS = ("rocketmq-4.9.7", "rocketmq-5.5.0")
HEAD = """<!-- Made by python -m pairproof.chaos.rocketmq.evidence_page; change the code, not this page. -->

# What the laws see of a Java broker

A Java broker traces nothing. Its events are made of what others see
([why](decisions/0050-evidence-from-outside.md)). A kind of event that nobody can see is not recorded, and laws that
need it are not observable.

"""
MEANS: Mapping[str, str] = MappingProxyType({
    "append": "its commit log's files: each whole record, its CRC checked",
    "cut": "its commit log's files: at a start they hold less than the log had",
    "found": "its store's files, read when it is down and about to start: not recorded in the controls below",
    "register": "taps of its link to the name server: the answer reaches it",
    "dispatch": "its consume queues' files: the entries of each record, once the record is in the log",
    "sync": "taps of its links to the master, and what its log says it did not get; not what it took over",
    "persist": "its tables' files, as inotify tells",
    "expire": "its commit log's files: the oldest ones are gone",
    "diverged": "its log, of 4.9.3 to 4.9.x: `slave[...] request offset=... greater than local commitLog offset=...`",
})  # fmt: skip
"""Kinds of event that others tell of a Java broker; of any target clients, taps, the lab and audits record the rest."""


NOTHING = ("nothing: only a broker itself can tell", "nothing: only the simulation records it")
"""Of kinds that no other can tell, and of those that need virtual time, or clients of the simulation."""


class Control(NamedTuple):
    """A scenario that was played on real brokers."""

    violated: tuple[str, ...] = ()
    """Which of the laws below, each of them rightly."""
    told: frozenset[str] = frozenset({"append", "cut", "expire", "diverged"})
    """The kinds of :data:`MEANS` that were observed then: it says nothing of laws that need another one."""


QUEUES_TOLD = Control(told=Control().told | {"register", "dispatch"})
NAMES_TOLD = Control(told=Control().told | {"register"})
SYNCS_TOLD = Control(told=NAMES_TOLD.told | {"sync"})
CONTROLS: Mapping[str, Control] = MappingProxyType({
    "`master-power-async-flush`, 4.9.7": Control(
        ("ack-replicated", "ha-ack-identity", "ha-divergence-refused", "ha-start-offset"),
    ),
    "`master-kill-under-load`, 4.9.7": Control(),
    "`slave-wiped`, 4.9.7": Control(),
    "`slave-promoted-by-operator` [wiped], 4.9.7": Control(),
    "`other-broker-name-goes-on`, 4.9.7": SYNCS_TOLD,
    "`consumer-lives-through-master-loss`, 4.9.7": SYNCS_TOLD,
    "`metadata-change-during-partition`, 4.9.7": SYNCS_TOLD,
    "`name-server-loss`, 4.9.7": NAMES_TOLD,
    "`other-broker-name-goes-on`, 5.5.0": NAMES_TOLD,
    "`consumer-lives-through-master-loss`, 5.5.0": SYNCS_TOLD,
    "`master-kill-under-load`, 4.9.7, again": QUEUES_TOLD,
    "sends and pulls of two queues, 4.9.7": QUEUES_TOLD,
    "sends and pulls of two queues, 5.5.0": QUEUES_TOLD,
})  # fmt: skip

YOUNGER = frozenset({"route-reported"})
"""Laws that are younger than the controls: none of these says anything of them."""

PLAYED = """
Played on real brokers; a law that was violated there names a deviation of RocketMQ's. A silent law accused nobody; it
may have had nothing to judge. Laws that need `register`, `sync` or `dispatch` accuse doctored copies of recorded
trials (`tests/chaos/test_recorded_java.py`).
"""


def made() -> str:
    """The page."""
    return HEAD + "\n".join((*_kinds(), "", *_judged(), "", *_blind())) + "\n"


def observed() -> dict[str, frozenset[str]]:
    """By target: the kinds of event that the process lab records of it."""
    lab = resolve.lab("process")
    return {name: lab.observes(resolve.target(name)) for name in ("reference", *VERSIONS)}


def every_law() -> tuple[type[Law], ...]:
    """All of ours that are about a broker, by id."""
    return judge.laws(sorted(registry.own("laws")))


def by_files() -> list[type[Law]]:
    """Laws that are observable because of the kinds of :data:`MEANS`."""
    seen = observed()[VERSIONS[0]]
    return [law for law in every_law() if law.needs <= seen and law.needs & MEANS.keys()]


def _kinds() -> Iterator[str]:
    seen = observed()
    yield from ("## Kinds of event", "", "| kind | 4.9.7 | 5.5.0 | made of |", "|---|---|---|---|")
    for kind in sorted(MEANS.keys() | seen["reference"] - seen[VERSIONS[0]]):
        told = ("yes" if kind in seen[name] else "no" for name in VERSIONS)
        yield f"| `{kind}` | {' | '.join(told)} | {MEANS.get(kind, NOTHING[kind in SIMULATED])} |"
    yield from ("", "All other kinds are recorded by clients, taps, the lab and audits, of any target.")


def _judged() -> Iterator[str]:
    yield "## Laws that files, log lines and taps make observable"
    yield PLAYED
    yield from ("| law | by | was violated in | was silent in |", "|---|---|---|---|")
    for law in by_files():
        needs = law.needs & MEANS.keys()
        played = {name: each.violated for name, each in CONTROLS.items() if needs <= each.told}
        if law.id in YOUNGER:
            played = {}
        fired = [name for name, laws in played.items() if law.id in laws]
        silent = [name for name, laws in played.items() if law.id not in laws]
        by = ", ".join(f"`{kind}`" for kind in sorted(needs))
        yield f"| `{law.id}` | {by} | {'; '.join(fired) or 'none'} | {'; '.join(silent) or 'none yet'} |"


def _blind() -> Iterator[str]:
    seen = observed()
    yield from ("## Laws that are not observable", "", "| law | lacks |", "|---|---|")
    for law in every_law():
        lacks = sorted((law.needs & seen["reference"]) - seen[VERSIONS[0]])
        if lacks:
            yield f"| `{law.id}` | {', '.join(f'`{kind}`' for kind in lacks)} |"


def main(docs: Path) -> None:
    """Write the page into ``docs``."""
    (docs / PAGE).write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
