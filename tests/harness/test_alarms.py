"""False alarms under settings that users brought: each program, on the correct pair, and the law that it accused."""

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness.event_types.node import Start, Wipe
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.renamed import current
from pairproof.harness.rocketmq.known.derived_under import DerivedUnder
from pairproof.harness.rocketmq.laws.storage.queue_is_its_log import QueueIsItsLog
from pairproof.harness.rocketmq.settings import keeps_connections
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import History, judged
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule_json import from_json
from pairproof.harness.trials.trial import Trial

ALARMS = sorted((Path(__file__).parent.parent / "golden" / "alarms").glob("*.json"))
TRUE = "queue-derived-equal-levels"
"""What is true of the configuration, and must name it."""


def _played(path: Path) -> tuple[str, Trial]:
    found = json.loads(path.read_text())
    lab, target = resolve.lab("sim"), resolve.target("reference")
    law = current("laws", found["law"])
    return law, run_trial(lab, target, from_json(found["schedule"]), laws=judge.laws([law]))


@pytest.mark.parametrize("path", [each for each in ALARMS if each.stem != TRUE], ids=lambda path: path.stem)
def test_a_correct_pair_under_own_settings_is_not_accused(path: Path) -> None:
    law, trial = _played(path)
    (found,) = trial.judgements
    assert found.law == law and found.verdict in (Verdict.HOLDS, Verdict.VACUOUS), found.violations


def test_what_is_true_of_a_configuration_names_its_setting() -> None:
    (path,) = (each for each in ALARMS if each.stem == TRUE)
    (found,) = _played(path)[1].judgements
    assert found.violations[0].text.startswith("messageDelayLevel is '1s 5s ")
    assert "'1s 2s' on slave: the entries of SCHEDULE_TOPIC_XXXX/1" in found.violations[0].text


# Under which settings a store's files were derived.


def _derived(*events: tuple[str, str, dict[str, Any]]) -> DerivedUnder:
    """``events``: start or wipe, node, columns or settings."""
    found, history = DerivedUnder(), History()
    for kind, node, more in events:
        if kind == "wipe":
            found.wiped(Wipe._make(history.add("wipe", node=node, f="image", **more).events[-1]))
        else:
            found.started(Start._make(history.add("start", node=node, f=kind).events[-1]), {node: more})
    return found


OFF = {"messageIndexEnable": "false"}


@pytest.mark.parametrize(
    ("events", "indexed"),
    [
        ([("empty", "master", {})], True),
        ([("empty", "master", OFF)], False),
        ([("empty", "master", OFF), ("normal", "master", {})], None),
        ([("empty", "master", OFF), ("normal", "master", {}), ("empty", "master", {})], True),
        ([("empty", "master", {}), ("empty", "slave", OFF), ("wipe", "master", {"detail": "slave"})], None),
        ([("empty", "master", {}), ("empty", "slave", {}), ("wipe", "master", {"detail": "slave"})], True),
    ],
)
def test_an_index_is_judged_by_what_it_was_derived_under(events: list[Any], indexed: bool | None) -> None:
    assert _derived(*events).indexed("master") is indexed


def test_a_law_still_accuses_an_index_that_was_always_kept() -> None:
    for settings, verdict in (({}, Verdict.VIOLATED), (OFF, Verdict.VACUOUS)):
        history = H().config("master", **settings).start("master").put("m0").after(2_000)
        history.add("derived", node="master", op=1, f="index", lo=0, hi=100, value=1, status="lacks", detail="no m0")
        assert judged(QueueIsItsLog, history.events).verdict is verdict


@pytest.mark.parametrize(
    ("master", "slave", "keeps"),
    [
        ({}, {}, True),
        ({"haHousekeepingInterval": 5_000}, {}, False),
        ({"haHousekeepingInterval": 5_000}, {"haSendHeartbeatInterval": 4_999}, False),
        ({"haHousekeepingInterval": 5_001}, {}, True),
        ({}, {"haHousekeepingInterval": 500}, False),
    ],
)
def test_a_pair_keeps_connections_whose_heartbeats_come_in_time(master: Any, slave: Any, keeps: bool) -> None:
    assert keeps_connections(master, slave) is keeps
