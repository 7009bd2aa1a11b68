"""Captures of real brokers, judged with pinned verdicts: a law that reads one of them otherwise has changed.

``verdicts.json`` beside a capture lists what each law says of it, but for laws that are not observable. If a change is
meant, write the new verdicts there.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pairproof.chaos.capture_judging import judge_capture
from pairproof.chaos.observers.ha_capture import read_capture
from pairproof.harness.judging.judge import all_laws

GOLDEN = Path(__file__).parents[1] / "golden"
CAPTURES = sorted(each.parent for each in GOLDEN.glob("*/run.json"))


@pytest.mark.parametrize("folder", CAPTURES, ids=lambda each: str(each.name))
def test_a_golden_capture_is_judged_as_ever(folder: Path) -> None:
    found = judge_capture(folder, all_laws())
    verdicts = {each.law: str(each.verdict) for each in found.laws if str(each.verdict) != "not-observable"}
    verdicts |= {each.id: str(each.verdict) for each in found.checks}
    assert verdicts == json.loads((folder / "verdicts.json").read_text("utf-8"))
    assert not {"violated", "unknown"} & set(verdicts.values())
    assert found.exit_code == 0 and not found.history.lines.unread


def test_no_append_of_a_golden_capture_precedes_its_send() -> None:
    for folder in CAPTURES:
        begun: set[str] = set()
        sent = {each.message for each in read_capture(folder).events if each.kind == "invoke"}
        for each in read_capture(folder).events:
            if each.kind == "invoke" and each.message is not None:
                begun.add(each.message)
            assert each.kind != "append" or each.message not in sent or each.message in begun


def test_the_capture_of_5_5_0_has_delayed_messages_that_were_put_twice() -> None:
    history = read_capture(GOLDEN / "rocketmq-5.5.0")
    puts = Counter(each.message for each in history.events if each.kind == "append" and each.message is not None)
    assert [count for count in puts.values() if count > 1].count(2) >= 10
    # And the slave had not read all that went to it when it was killed.
    assert list(history.cuts) == ["slave-0002"]
