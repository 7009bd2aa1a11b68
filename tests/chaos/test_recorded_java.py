"""Recorded trials of Java brokers, and doctored copies: laws that taps made observable are silent, and do accuse.

``tests/golden/trials`` has one trial a file, as JSON lines: first what was played, then its events in order.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pairproof.harness.history import MS, Event, kinds
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Judgement, Verdict

TRIALS = Path(__file__).parents[1] / "golden/trials"
OTHER_BROKER, MASTER_LOSS = "rocketmq-4.9.7-other-broker-name", "rocketmq-4.9.7-master-loss"
QUEUES = "rocketmq-4.9.7-queues", "rocketmq-5.5.0-queues"
LATE_NS = 4_000 * MS
"""By then a closed channel has been noticed, whatever the machine adds."""

Doctor = Callable[[list[Event], range], list[Event]]
Meant = Callable[[Event, range], bool]
"""Asked of each event, and told when the master was away."""


class Recorded(NamedTuple):
    events: list[Event]
    observes: frozenset[str]

    def judged(self, law: str, doctor: Doctor | None = None) -> Judgement:
        """As if the machine had not stalled, which would excuse what it is accused of."""
        punctual = [each for each in self.events if each.kind != "stall"]
        events = punctual if doctor is None else doctor(punctual, away(self))
        (found,) = judge.judge(events, judge.laws([law]), self.observes)
        return found


def recorded(name: str) -> Recorded:
    head, *rows = gzip.decompress((TRIALS / f"{name}.jsonl.gz").read_bytes()).splitlines()
    known, played = kinds(), json.loads(head)
    rows_of = [json.loads(each) for each in rows]
    return Recorded([known[each["kind"]](**each) for each in rows_of], frozenset(played["observes"]))


# Doctors.


def changed(is_meant: Meant, **columns: Any) -> Doctor:
    """Replace columns of some events; a function makes the new value of the old one."""

    def new(event: Event) -> Event:
        values = {name: each(getattr(event, name)) if callable(each) else each for name, each in columns.items()}
        return kinds()[values.get("kind", event.kind)]._make(event._replace(**values))

    def doctor(events: list[Event], when: range) -> list[Event]:
        assert any(is_meant(each, when) for each in events), "the doctor did nothing"
        return [new(each) if is_meant(each, when) else each for each in events]

    return doctor


def without(is_meant: Meant) -> Doctor:
    def doctor(events: list[Event], when: range) -> list[Event]:
        kept = [each for each in events if not is_meant(each, when)]
        assert len(kept) < len(events), "the doctor did nothing"
        return kept

    return doctor


def of(kind: str, node: str | None = None) -> Callable[[Event], bool]:
    return lambda event: event.kind == kind and node in (None, event.node)


def named_still(detail: str | None) -> str:
    return json.dumps({"0": "master", **json.loads(detail or "{}")})


def master_is_slave(detail: str | None) -> str:
    return json.dumps({**json.loads(detail or "{}"), "master": "slave"})


def away(trial: Recorded) -> range:
    """From some time after the master's death to its return, ns; nothing of a trial that it lives through."""
    died = next((each.t for each in trial.events if of("crash", "master")(each)), None)
    if died is None:
        return range(0)
    return range(died + LATE_NS, [each.t for each in trial.events if of("start", "master")(each)][-1])


TRIALS_BY_NAME = {name: recorded(name) for name in (OTHER_BROKER, MASTER_LOSS, *QUEUES)}
DOCTORED: list[tuple[str, str, str, Doctor]] = [
    # Since it had registered, the end of its connection tells at once; without that it would have two minutes.
    (OTHER_BROKER, "route-expiry", "master is down for",
     changed(lambda e, when: of("route")(e) and e.t in when, detail=named_still)),
    (OTHER_BROKER, "ha-address-source", "a name server answered slave that slave is its master",
     changed(lambda e, _: of("register", "slave")(e), detail=master_is_slave)),
    (OTHER_BROKER, "ha-address-source", "had no address", without(lambda e, _: of("register", "slave")(e))),
    (OTHER_BROKER, "mode-isolation", "got SYSTEM_BUSY from other",
     changed(lambda e, when: of("ok", "other")(e) and e.f == "send" and e.t in when, kind="fail",
             status="SYSTEM_BUSY")),
    (MASTER_LOSS, "meta-schedule", "slave goes on with delays where offsets come next",
     without(lambda e, _: e.kind == "sync" and e.f == "offsets")),
    (MASTER_LOSS, "meta-schedule", "slave synced nothing for",
     without(lambda e, when: e.kind == "sync" and e.t >= when.start)),
    (MASTER_LOSS, "role-read-failover", "from a slave",
     without(lambda e, when: of("ok", "slave")(e) and e.f == "pull")),
    *((name, law, text, doctor) for name in QUEUES for law, text, doctor in (
        ("queue-whole-records", "master had the record that ends", without(lambda e, _: of("dispatch", "master")(e))),
        ("queue-whole-records", "slave had the record that ends", without(lambda e, _: of("dispatch", "slave")(e))),
        ("queue-whole-records", "slave dispatched up to 1000000; its log ends at",
         changed(lambda e, _: of("dispatch", "slave")(e), hi=1_000_000)),
        ("queue-whole-records", "in the middle of a record",
         changed(lambda e, _: of("dispatch", "master")(e), hi=lambda hi: hi - 1)),
        ("queue-shows-dispatched", "master delivered", without(lambda e, _: of("dispatch", "master")(e))),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "law"), sorted({(name, law) for name, law, _, _ in DOCTORED}))
def test_a_recorded_trial_of_java_brokers_has_something_to_judge_and_holds(name: str, law: str) -> None:
    found = TRIALS_BY_NAME[name].judged(law)
    assert found.verdict is Verdict.HOLDS and found.judged > 0


@pytest.mark.parametrize(
    ("name", "law", "text", "doctor"), DOCTORED, ids=[f"{law}: {text}" for _, law, text, _ in DOCTORED]
)
def test_a_doctored_copy_is_accused(name: str, law: str, text: str, doctor: Doctor) -> None:
    found = TRIALS_BY_NAME[name].judged(law, doctor)
    assert found.verdict is Verdict.VIOLATED
    assert any(text in each.text for each in found.violations), found.violations


@pytest.mark.parametrize("trial", [OTHER_BROKER, MASTER_LOSS])
@pytest.mark.parametrize("law", ["pull-answered", "group-shared", "progress-as-committed"])
def test_java_serves_groups_of_consumers_as_the_laws_say(trial: str, law: str) -> None:
    assert recorded(trial).judged(law).verdict is Verdict.HOLDS


def test_java_is_accused_of_a_pull_that_it_answers_late_and_of_progress_that_nobody_committed() -> None:
    def late(event: Event, when: range) -> bool:
        return event.kind == "invoke" and event.f == "pull" and event.group is not None and event.t > 30_000 * MS

    slow = recorded(OTHER_BROKER).judged("pull-answered", changed(late, t=lambda t: t - 30_000 * MS))
    assert slow.verdict is Verdict.VIOLATED
    uncommitted = without(lambda event, when: event.kind == "invoke" and event.f == "commit")
    assert recorded(OTHER_BROKER).judged("progress-as-committed", uncommitted).verdict is Verdict.VIOLATED
