"""Delayed messages in the simulated lab: held back by the master, then consumed, and a trial's end waits for them."""

from __future__ import annotations

import pytest

from pairproof.harness.history import Event
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.template import advance, delayed, join
from pairproof.harness.texts.content import level_of
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

MS = 1_000_000


def events(settings: dict[str, int], *ops: Op) -> list[Event]:
    return run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule(settings, "s", ops), laws=()).events


@pytest.mark.parametrize(("level", "delay_ms"), [(1, 1_000), (3, 10_000), (4, 30_000)])
def test_a_delayed_message_is_consumed_when_its_time_has_passed(level: int, delay_ms: int) -> None:
    found = events({"lab.nameServer": 1}, join(0, 0), delayed(2, level), advance(100))
    (sent,) = (each for each in found if each.kind == "invoke" and each.f == "send" and level_of(each))
    assert (sent.node, sent.queue, level_of(sent)) == ("master", "pairproof/2", level)
    (came,) = (each for each in found if each.kind == "deliver" and each.message == sent.message)
    assert came.queue == "pairproof/2" and delay_ms <= (came.t - sent.t) / MS < delay_ms + 50


def test_a_pair_without_a_name_server_holds_it_back_too() -> None:
    found = events({}, delayed(2, 1), advance(1_500))
    puts = [each.t for each in found if each.kind == "append" and each.f == "put" and each.message == "m1"]
    assert len(puts) == 2 and puts[1] - puts[0] >= 1_000 * MS


@pytest.mark.parametrize("settings", [{"lab.slaves": 1}, {"lab.slaves": 2}, {"flushDiskType": "SYNC_FLUSH"}])
@pytest.mark.parametrize("place", [{"name": "stall", "link": "ha"}, {"name": "disk_stall", "node": "master"}])
def test_a_send_that_is_unanswered_when_its_message_is_delivered_breaks_no_law(
    settings: dict[str, int], place: dict[str, str]
) -> None:
    ops = (Op("fault", place), delayed(0, 1), advance(8_000))
    trial = run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule(settings, "s", ops))
    assert [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED] == []
