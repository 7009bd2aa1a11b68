"""A second judge, which is not ours: what do Porcupine's models of a queue and of a log say of recorded histories?

    python tests/control/second_opinion.py             every mutant's stored program: which verdict, beside our laws'
    python tests/control/second_opinion.py --every K   each K-th stored schedule instead (control_digests.py has them)

Porcupine searches an order of the operations in which each took effect at one moment between its begin and its end.
``porcupine/main.go`` has the two models. A *queue* takes each message at its end, and a broker shows its readers a
beginning of the queue that never becomes shorter. A *log* takes records one behind the other. Go builds the program,
into the folder for tools.

What is translated (:func:`operations`), with an event's ``seq`` as its time, which is all the order that is known:

- a send that was answered appends to its queue where the answer says, and to the log; one that nobody answered, and a
  delayed or half message, appends wherever it was seen later, at any time from its begin on;
- a pull reads what it delivered, and how far the queue was said to go; a store reader's audit reads all records of a
  queue, and how far the queue's file goes.

The history of a broker name ends where its master loses something by a power loss, a cut, or another store, which the
contract may allow; what a slave says is left out from there on where this happens to the slave. Left out are filtered
pulls, since nobody says what they skipped, and whatever is about time or about several brokers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple

from digest_files import stored
from projection import play

from pairproof.chaos import programs, tools
from pairproof.chaos.rocketmq.provision import TOPIC
from pairproof.harness.errors import LabError
from pairproof.harness.event_types.client import Deliver, Fail, Invoke, Ok
from pairproof.harness.history import Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.event_types.log import Audit, Entries, Record
from pairproof.harness.rocketmq.laws.acks.ack_refused_is_absent import leaves_open
from pairproof.harness.rocketmq.topology import MASTER, OTHER, SLAVES
from pairproof.harness.texts.content import payload
from pairproof.harness.trials.trial import Trial

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "porcupine"
FILES = ("go.mod", "go.sum", "main.go")
KILLS = HERE.parent / "chaos" / "kills.jsonl"
BUILD_S = 400
NODES = (MASTER, *SLAVES, OTHER)
FOUND = "PUT_OK"
"""The status of a pull that found something: code 0."""
EVER = 2**53
"""A time behind all others."""

Op = dict[str, Any]


class Opinion(NamedTuple):
    """What Porcupine says of one history."""

    result: str
    """Ok, Illegal, or Unknown where its search took too long."""
    where: list[str]
    """The queues and logs that are not Ok."""


# The program.


def program() -> Path:
    """Where it is; Go builds it first if need be. LabError if that fails."""
    name = f"porcupine-{hashlib.sha256(b''.join((SOURCE / each).read_bytes() for each in FILES)).hexdigest()[:12]}"
    found = [each for each in tools.there(name) if tools.is_users(each)]
    return found[0] if found else tools.place(name, _build)


def _build(folder: Path) -> Path:
    go = shutil.which("go")
    if go is None:
        raise LabError("there is no go, which builds the second judge: install Go 1.21 or later")
    built = folder / "porcupine"
    late = f"go did not build the second judge within {BUILD_S} s"
    done = programs.run([go, "build", "-trimpath", "-o", str(built), "."], BUILD_S, late, cwd=SOURCE)
    if done.returncode:
        raise LabError(f"go could not build the second judge: {done.stderr.strip()[:400]}")
    return built


def opinions(histories: Iterable[Iterable[Op]]) -> Iterator[Opinion]:
    """What it says of each history, in turn."""
    with Popen([str(program())], stdin=PIPE, stdout=PIPE, text=True) as judge:
        assert judge.stdin is not None and judge.stdout is not None
        for ops in histories:
            judge.stdin.write(json.dumps({"id": "", "ops": list(ops)}) + "\n")
            judge.stdin.flush()
            said = json.loads(judge.stdout.readline())
            yield Opinion(said["result"], said["where"])


# The translation.


def operations(events: Sequence[Event]) -> list[Op]:
    """A history as the operations of its queues and logs."""
    return Translation(events).made


class Translation:
    """One history's."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.made: list[Op] = []
        self._begun: dict[int | None, Event] = {}
        self._delivered: dict[int | None, list[Deliver]] = defaultdict(list)
        self._listed: dict[str | None, list[Record]] = defaultdict(list)
        self._final: set[tuple[str | None, int]] = set()
        """Audits by node and number behind which nothing more came."""
        self._silent: set[str | None] = set()
        """Nodes that have lost something."""
        self._floating: list[Event] = []
        """Sends of messages whose place no answer told."""
        self._queues: set[str] = set()
        for event in events:
            handle = getattr(self, f"_on_{event.kind}", None)
            if handle is not None and not self._is_silent(event.node):
                handle(event)
        self._floating += [each for each in self._begun.values() if each.f == "send"]
        self._place()

    def _is_silent(self, node: str | None) -> bool:
        return node in self._silent or (MASTER in self._silent and node != OTHER)

    def _lost(self, event: Event) -> None:
        self._silent.add(event.node)

    _on_wipe = _on_cut = _lost

    def _on_crash(self, event: Event) -> None:
        if event.f != "process":
            self._lost(event)

    def _on_invoke(self, event: Invoke) -> None:
        if event.f == "send" and event.queue is not None:
            self._queues.add(event.queue)
        self._begun[event.op] = event

    def _on_fail(self, event: Fail) -> None:
        begun = self._begun.pop(event.op, None)
        if begun is not None and begun.f == "send" and leaves_open(event):
            self._floating.append(begun)

    def _on_info(self, event: Event) -> None:
        begun = self._begun.pop(event.op, None)
        if begun is not None and begun.f == "send":
            self._floating.append(begun)

    def _on_ok(self, event: Ok) -> None:
        begun = self._begun.pop(event.op, None)
        if begun is None:
            return
        if event.f == "send":
            self._sent(begun, event)
        elif event.f == "pull":
            self._pulled(begun, event, self._delivered.pop(event.op, []))

    def _sent(self, begun: Event, event: Ok) -> None:
        said = payload(begun.detail)
        if said.get("level") or said.get("half") or event.queue_offset is None:
            self._floating.append(begun)
        else:
            self._add(event, begun.seq, f="append", name=event.message, at=event.queue_offset)
        if event.lo is not None and event.hi is not None:
            log = f"log {self._owner(event.node)}"
            self._add(event, begun.seq, object=log, f="append", name=event.message, at=event.lo, to=event.hi)

    def _on_deliver(self, event: Deliver) -> None:
        self._delivered[event.op].append(event)

    def _pulled(self, begun: Event, event: Ok, delivered: list[Deliver]) -> None:
        if event.queue_offset is None or event.value is None:
            return
        at, following = event.value, event.queue_offset
        found = {each.queue_offset: each.message or "" for each in delivered}
        # Consumers hand on what they still want; a reader, whatever came.
        missing = "" if event.group or event.status != FOUND else "nothing"
        names = [found.pop(each, missing) for each in range(at, following)]
        names += [f"{name}, not asked for" for name in found.values()]
        self._add(event, begun.seq, f="read", **({"at": at, "names": names} if names else {}), high=event.hi)

    # Store readers: records come before the audit that they belong to, and where the queues' files end behind it.

    def _on_record(self, event: Record) -> None:
        self._listed[event.node].append(event)

    def _on_entries(self, event: Entries) -> None:
        whole = (event.node, event.audit) in self._final
        self._add(event, event.seq, f="read", high=event.following, whole=whole)

    def _on_audit(self, event: Audit) -> None:
        records = self._listed.pop(event.node, [])
        if event.f == "compare" or event.status != "whole":
            return
        is_last_word = event.f == "final" and event.node in (MASTER, OTHER)
        if is_last_word:
            self._final.add((event.node, event.number))
        by_queue: dict[str, list[Record]] = {}
        for each in records:
            by_queue.setdefault(each.queue, []).append(each)
        if is_last_word and event.lo == 0:
            by_queue |= {queue: [] for queue in self._queues if queue not in by_queue}
        for queue, found in by_queue.items():
            first = min((each.queue_offset for each in found), default=0)
            names = [""] * (max((each.queue_offset for each in found), default=-1) - first + 1)
            for each in found:
                names[each.queue_offset - first] = each.message or ""
            self._add(event, event.seq, queue=queue, f="read", at=first, names=names, whole=is_last_word)

    def _add(self, event: Event, begun: int, queue: str | None = None, **more: object) -> None:
        named = {"object": f"queue {self._owner(event.node)} {queue or event.queue}", "node": self._number(event.node)}
        self.made.append({**named, "call": begun, "return": event.seq, **more})

    def _place(self) -> None:
        """Sends whose place no answer told: they are where they were seen."""
        seen: dict[tuple[str, str], set[int]] = defaultdict(set)
        for op in self.made:
            if op["f"] == "read":
                for at, name in enumerate(op.get("names", ()), op.get("at", 0)):
                    seen[op["object"], name].add(at)
        for event in self._floating:
            where = f"queue {self._owner(event.node)} {event.queue}"
            once = {"object": where, "f": "append", "call": event.seq, "return": EVER, "name": event.message}
            self.made += [{**once, "at": at} for at in sorted(seen.get((where, event.message or ""), ()))]
            if (where, event.message or "") not in seen:
                self.made.append({**once, "at": None})
        # Brokers' own queues, of delayed messages or of half ones, take what no client sends there.
        told_of = {f"queue {owner} {queue}" for owner in (MASTER, OTHER) for queue in self._queues}
        ours = tuple(f"queue {owner} {TOPIC}/" for owner in (MASTER, OTHER))
        self.made = [
            each for each in self.made
            if each["object"].startswith(("log ", *ours)) or each["object"] in told_of
        ]  # fmt: skip

    def _owner(self, node: str | None) -> str:
        return OTHER if node == OTHER else MASTER

    def _number(self, node: str | None) -> int:
        return NODES.index(node) if node in NODES else 0


# Comparing.


def trials(every: int) -> Iterator[tuple[str, Trial]]:
    """What is judged twice: with ``every`` the stored schedules, otherwise the mutants' programs."""
    if every:
        for each in stored(HERE / "schedules.jsonl.xz", every):
            yield f"{each.number} {each.target}".strip(), play(each.document, each.target or "reference")
        return
    for row in map(json.loads, KILLS.read_text(encoding="utf-8").splitlines()):
        yield f"{row['mutant']} ({row['law']})", play(row["schedule"], f"reference+{row['mutant']}")


def violated(trial: Trial) -> list[str]:
    """The laws that it violates."""
    return [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED]


def main() -> int:
    """Print what the two judges say where one of them objects; exit code 1 if Porcupine alone does, or gives up."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--every", type=int, default=0, help="Each K-th stored schedule, not the mutants' programs.")
    every = options.parse_args().every
    counts: dict[str, int] = defaultdict(int)
    for name, trial in trials(every):
        said, ours = next(opinions([operations(trial.events)])), violated(trial)
        agreed = f"{said.result}, our laws: {'violated' if ours else 'hold'}"
        counts[agreed] += 1
        if said.result != "Ok" or ours:
            print(f"{said.result:8} {name}: {', '.join(said.where) or '-'}; {', '.join(ours) or '-'}", flush=True)
    for agreed, count in sorted(counts.items()):
        print(f"{count:6} {agreed}")
    return int(any(not each.startswith("Ok") and each.endswith("hold") for each in counts))


if __name__ == "__main__":
    sys.exit(main())
