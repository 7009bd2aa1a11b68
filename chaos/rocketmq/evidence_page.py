"""Makes ``docs/rocketmq-evidence.md``: how each law is checked on a Java broker, and the controls that tried it.

Targets define what is observable. This module adds the source of each event type, and, for each law that became
observable through the broker's files or log, the controls in which it fired or stayed silent.
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

# Evidence from a Java broker

A Java broker writes no trace, so its events come from files, logs and taps
([why](decisions/0050-evidence-from-outside.md)). Laws that need an event type which none of these shows are not
observable.

"""
MEANS: Mapping[str, str] = MappingProxyType({
    "append": "commit log files: each whole record with a valid CRC",
    "cut": "commit log files: less at a start than before",
    "found": "store files of a stopped broker, read before its start; not in the controls below",
    "register": "tap on the link to the name server: the answer arrives",
    "dispatch": "consume queue files: a record's entries, once it is in the log",
    "sync": "taps on links to the master, and failures in its log; not what it applied",
    "persist": "table files, by inotify",
    "expire": "commit log files: the oldest are gone",
    "diverged": "broker log, 4.9.3 to 4.9.x: `slave[...] request offset=... greater than local commitLog offset=...`",
})  # fmt: skip
"""Event types that are observed on a Java broker from outside; for any target, clients, taps, the lab and audits record
the others.
"""


NOTHING = ("not observable from outside", "simulation only")
"""Event types that no other observer shows, and those that need virtual time, or clients of the simulation."""


class Control(NamedTuple):
    """A scenario that was played on real brokers."""

    violated: tuple[str, ...] = ()
    """The laws below that it violated, each of them rightly."""
    observed_types: frozenset[str] = frozenset({"append", "cut", "expire", "diverged"})
    """The event types of :data:`MEANS` that were observed then; it does not control laws that need another one."""


QUEUES_OBSERVED = Control(observed_types=Control().observed_types | {"register", "dispatch"})
NAMES_OBSERVED = Control(observed_types=Control().observed_types | {"register"})
SYNCS_OBSERVED = Control(observed_types=NAMES_OBSERVED.observed_types | {"sync"})
CONTROLS: Mapping[str, Control] = MappingProxyType({
    "`master-power-async-flush`, 4.9.7": Control(
        ("ack-replicated", "ha-ack-identity", "ha-divergence-refused", "ha-start-offset"),
    ),
    "`master-kill-under-load`, 4.9.7": Control(),
    "`slave-wiped`, 4.9.7": Control(),
    "`slave-promoted-by-operator` [wiped], 4.9.7": Control(),
    "`other-broker-name-goes-on`, 4.9.7": SYNCS_OBSERVED,
    "`consumer-lives-through-master-loss`, 4.9.7": SYNCS_OBSERVED,
    "`metadata-change-during-partition`, 4.9.7": SYNCS_OBSERVED,
    "`name-server-loss`, 4.9.7": NAMES_OBSERVED,
    "`other-broker-name-goes-on`, 5.5.0": NAMES_OBSERVED,
    "`consumer-lives-through-master-loss`, 5.5.0": SYNCS_OBSERVED,
    "`master-kill-under-load`, 4.9.7, again": QUEUES_OBSERVED,
    "sends and pulls of two queues, 4.9.7": QUEUES_OBSERVED,
    "sends and pulls of two queues, 5.5.0": QUEUES_OBSERVED,
})  # fmt: skip

YOUNGER = frozenset({"route-reported"})

PLAYED = """
Controls on real brokers, by number. A violated law names a deviation of RocketMQ; a silent one may have had nothing to
judge. Laws that need `register`, `sync` or `dispatch` fail on doctored copies of recorded trials
(`tests/chaos/test_recorded_java.py`).
"""


def made() -> str:
    """The page."""
    return HEAD + "\n".join((*_kinds(), "", *_judged(), "", *_blind())) + "\n"


def observed() -> dict[str, frozenset[str]]:
    """By target: the event types that the process lab records of it."""
    lab = resolve.lab("process")
    return {name: lab.observes(resolve.target(name)) for name in ("reference", *VERSIONS)}


def every_law() -> tuple[type[Law], ...]:
    """All laws about a broker, by id."""
    return judge.laws(sorted(registry.own("laws")))


def by_files() -> list[type[Law]]:
    """Laws that are observable because of the event types of :data:`MEANS`."""
    seen = observed()[VERSIONS[0]]
    return [law for law in every_law() if law.needs <= seen and law.needs & MEANS.keys()]


def _kinds() -> Iterator[str]:
    seen = observed()
    yield from ("## Event types", "", "| type | 4.9.7 | 5.5.0 | source |", "|---|---|---|---|")
    for kind in sorted(MEANS.keys() | seen["reference"] - seen[VERSIONS[0]]):
        told = ("yes" if kind in seen[name] else "no" for name in VERSIONS)
        yield f"| `{kind}` | {' | '.join(told)} | {MEANS.get(kind, NOTHING[kind in SIMULATED])} |"
    yield from ("", "Clients, taps, the lab and audits record all other types, of any target.")


def _judged() -> Iterator[str]:
    yield "## Laws that files, log lines and taps make observable"
    yield PLAYED
    number = {name: str(each) for each, name in enumerate(CONTROLS, 1)}
    yield from (f"{number[name]}. {name}" for name in CONTROLS)
    yield ""
    yield from ("| law | by | violated in | silent in |", "|---|---|---|---|")
    for law in by_files():
        needs = law.needs & MEANS.keys()
        played = {name: each.violated for name, each in CONTROLS.items() if needs <= each.observed_types}
        if law.id in YOUNGER:
            played = {}
        fired = [number[name] for name, laws in played.items() if law.id in laws]
        silent = [number[name] for name, laws in played.items() if law.id not in laws]
        by = ", ".join(f"`{kind}`" for kind in sorted(needs))
        rest = "all others" if len(played) == len(CONTROLS) else ", ".join(silent)
        yield f"| `{law.id}` | {by} | {', '.join(fired) or 'none'} | {rest or 'none yet'} |"


def _blind() -> Iterator[str]:
    seen = observed()
    yield from ("## Laws that are not observable", "", "| law | lacks |", "|---|---|")
    for law in every_law():
        lacks = sorted((law.needs & seen["reference"]) - seen[VERSIONS[0]])
        if lacks:
            yield f"| `{law.id}` | {', '.join(f'`{kind}`' for kind in lacks)} |"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if sys.argv[1:] else "docs")
    (folder / PAGE).write_text(made(), encoding="utf-8")
