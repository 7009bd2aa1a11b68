"""A slave whose socket is full of reports: RocketMQ closes after three writes, ours may wait; both are right."""

from __future__ import annotations

import pytest

from pairproof.harness.history import Event
from pairproof.harness.judging import judge as judging
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.trial import Trial

LAB = resolve.lab("sim")
SEND = Op("send", {"producer": 0, "size": 900, "wait": True, "queue": 0})
HELD_MS = 2_500
VERSIONS = ("4.4.0", "4.9.2", "4.9.7", "5.5.0")


def full(settings: Args, target: str = "reference") -> Trial:
    """The slave's reports stay on the way, more of them than its socket holds; then they go on."""
    small: Args = {"lab.bufferBytes": 60, "haTransferBatchSize": 100, "haSendHeartbeatInterval": 500}
    ops = (
        Op("fault", {"name": "stall", "link": "ha", "direction": "up"}),
        SEND,
        Op("advance", {"ms": HELD_MS}),
        Op("heal", {"name": "stall"}),
        Op("advance", {"ms": 8_000}),
    )
    schedule = Schedule({**small, **settings}, "cut", ops)
    return run_trial(LAB, resolve.target(target), schedule, laws=judging.all_laws())


def during(trial: Trial) -> list[Event]:
    """What the slave's end of the HA link did while its reports were held."""
    on, off = (next(e for e in trial.events if e.kind == "fault" and e.status == each) for each in ("on", "off"))
    return [e for e in trial.events[on.seq : off.seq] if e.side == "s"]


def violated(trial: Trial) -> list[str]:
    return [each.law for each in trial.judgements if each.verdict is Verdict.VIOLATED]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_slave_closes_behind_a_report_that_was_cut_and_no_law_accuses_it(version: str) -> None:
    trial = full({"rocketmqVersion": version, "inSyncReplicas": 2 if version == "5.5.0" else 0})
    seen = [e for e in during(trial) if e.kind in ("report", "partial", "close") and e.f != "in"]
    # 60 bytes are seven reports and a half.
    assert [e.kind for e in seen].count("report") == 7
    assert [(e.kind, e.value) for e in seen[-2:]] == [("partial", 4), ("close", 4)]
    assert violated(trial) == []
    assert any(e.kind == "mark" and e.f == "converged" for e in trial.events)


def test_a_slave_that_waits_finishes_the_report_when_the_socket_has_room_and_no_law_accuses_it_either() -> None:
    trial = full({"haCutReports": "waits"})
    held = [e for e in during(trial) if e.kind in ("report", "close")]
    assert [e.kind for e in held] == ["report"] * 7
    assert not [e for e in trial.events if e.kind == "close" and e.side == "s"]
    assert violated(trial) == []


def test_a_slave_that_forgets_the_rest_is_accused_under_either_setting() -> None:
    for settings in ({}, {"haCutReports": "waits"}):
        assert "ha-report-framing" in violated(full(settings, "reference+forgets_cell_rest"))
