"""The judge, tested without knowing what is right: histories are changed so that what is said of them must not change.

An answer becomes unknown: that makes no safety law accuse anybody. What two nodes did at the same time changes places:
nothing changes. Nobody says which fault there was: what excuses a broker is gone, so nothing that was violated holds.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from pairproof.harness.history import Event, kinds
from pairproof.harness.judging import judge
from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import cluster, corpus
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule_json import from_json

LAB, TARGET = resolve.lab("sim"), resolve.target("reference")
OBSERVES = LAB.observes(TARGET)
LAWS = judge.laws_for(TARGET)
NODES = {"master", "slave", "slave-2", "slave-3", "names"}
BY_ITSELF = {"append", "flush", "dispatch", "persist", "expire", "sync", "register", "report", "frame"}
"""What one node does; whatever comes of it elsewhere takes the time of a link, which is a millisecond."""
TOGETHER_NS = 500_000
WANT_AN_ANSWER = {"live-progress", "live-converges", "producer-tries", "route-choice", "queue-paced"}
"""That a call is answered, at all or with what was tried, is what they promise; or that a suggestion is followed, or
that what is asked next follows from the answer."""
ABOUT_A_FAULT = {"live-progress", "ack-no-wait", "live-no-spin", "live-newcomers", "role-fan-out"}
"""They judge what a fault brought about, so without it there may be nothing to judge."""
KILLS = Path(__file__).with_name("kills.jsonl")


def histories() -> Iterator[list[Event]]:
    for schedule in (*corpus.corpus(), *(cluster.schedule("metamorphic", number) for number in range(20))):
        yield list(run_trial(LAB, TARGET, schedule, laws=()).events)


def violated(events: Sequence[Event], laws: Sequence[type[Law]] = LAWS) -> set[str]:
    return {each.law for each in judge.judge(events, laws, OBSERVES) if each.verdict is Verdict.VIOLATED}


def test_an_answer_that_becomes_unknown_accuses_nobody_but_who_owes_one() -> None:
    rng, accused, tried = random.Random(1), set(), 0
    for events in histories():
        answers = [at for at, each in enumerate(events) if each.kind == "ok"]
        for at in rng.sample(answers, min(len(answers), 2)):
            was = events[at]
            unknown = kinds()["info"](
                was.seq, was.t, "info", was.node, was.incarnation, process=was.process, op=was.op, f=was.f,
                status="disconnected", message=was.message, queue=was.queue,
            )  # fmt: skip
            accused |= violated([*events[:at], unknown, *events[at + 1 :]])
            tried += 1
    assert tried > 50 and {"live-progress"} <= accused <= WANT_AN_ANSWER


class MasterFirst(Law):
    """A wrong one: it takes the order of what is seen for the order of what happens."""

    id = "master-first"
    needs = frozenset({"flush"})

    def begin(self) -> None:
        self.before: Event | None = None

    def on_flush(self, event: Event) -> None:
        if event.node == "master" and self.before is not None and self.before.t == event.t:
            self.violate(event, "the slave flushed at once, and before its master")
        self.before = event


def test_what_two_nodes_did_at_the_same_time_may_have_been_the_other_way_round() -> None:
    rng, changed, swapped = random.Random(2), set(), 0
    laws = (*LAWS, MasterFirst)
    for events in histories():
        before, after, last = violated(events, laws), list(events), 0
        for at in range(1, len(events)):
            if at > last + 1 and _concurrent(*events[at - 1 : at + 1]) and rng.random() < 0.5:
                first, second = after[at - 1 : at + 1]
                after[at - 1] = second._replace(seq=first.seq, t=first.t)
                after[at] = first._replace(seq=second.seq, t=second.t)
                last, swapped = at, swapped + 1
        changed |= before ^ violated(after, laws)
    assert swapped > 50 and changed == {"master-first"}


def _concurrent(one: Event, other: Event) -> bool:
    return (
        {one.kind, other.kind} <= BY_ITSELF
        and {one.node, other.node} <= NODES
        and one.node != other.node
        and (one.link is None or one.link != other.link)
        and other.t - one.t < TOGETHER_NS
    )


def test_who_hears_of_no_fault_excuses_nothing() -> None:
    hidden, tried = set(), 0
    for line in KILLS.read_text(encoding="utf-8").splitlines()[::2]:
        kill = json.loads(line)
        laws = judge.laws([kill["law"]])
        target = resolve.target(f"reference+{kill['mutant']}")
        events = list(run_trial(LAB, target, from_json(kill["schedule"]), laws=()).events)
        if any(each.kind == "fault" for each in events):
            tried += 1
            hidden |= laws_that_hold(events, laws)
    assert tried > 25 and hidden <= ABOUT_A_FAULT


def laws_that_hold(events: Sequence[Event], laws: Sequence[type[Law]]) -> set[str]:
    silent = [each for each in events if each.kind != "fault"]
    return {each.id for each in laws} - violated(silent, laws)
