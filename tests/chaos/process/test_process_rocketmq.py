"""Real RocketMQ in the process lab: what pairs and mixed pairs keep, and what a power loss shows that they do not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from real_labs import play, sends, sent, under, violated
from toxiproxies import binary

from pairproof.chaos.labs import script
from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.labs.real import session
from pairproof.chaos.rocketmq.install import JARS
from pairproof.chaos.targets import rocketmq
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.judging import deviations, judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.ports import Target
from pairproof.harness.rocketmq.known.nodes import Nodes
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Op
from pairproof.harness.trials.trial import Trial

pytestmark = pytest.mark.slow

POWER_LOSS = [
    *sends(10), Op("advance", {"ms": 100}), Op("fault", {"name": "power_loss", "node": "master", "keep": "none"}),
    Op("heal", {"name": "power_loss"}), Op("advance", {"ms": 6_000}), *sends(20), Op("advance", {"ms": 1_000}),
]  # fmt: skip


@pytest.fixture(scope="module")
def lab() -> Iterator[ProcessLab]:
    """One lab for all trials, once RocketMQ is there."""
    os.environ["PAIRPROOF_TOXIPROXY"] = str(binary())
    for each in JARS.values():
        each.install()
    made = ProcessLab()
    yield made
    made.close()


def held(trial: Trial) -> set[str]:
    return {each.law for each in trial.judgements if each.verdict is Verdict.HOLDS}


def test_a_real_pair_keeps_the_laws_under_a_kill_of_its_master(lab: ProcessLab) -> None:
    trial = play(lab, under("kill", node="master"), rocketmq.V4)
    assert not violated(trial)
    # How many were answered before the kill depends on the machine.
    assert sent(trial)["PUT_OK"] and sent(trial)["refused"]
    assert {"contract", "ha-contiguous", "ha-report-monotone", "log-prefix", "loss-is-suffix"} <= held(trial)
    assert {"ack-replicated", "ha-wakeup", "log-grows", "log-slave-behind"} <= held(trial)
    assert [each.effect["processes_killed"] for each in trial.faults] == [1]


@pytest.mark.parametrize("names", ["reference", "4.9.7", "5.5.0"])
def test_a_real_pair_registers_what_the_lab_knows_it_by_and_its_consumers_come_through_the_taps(
    lab: ProcessLab, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    monkeypatch.setattr(script, "CALLS_NS", 0)
    ops = [Op("join", {"group": 0, "consumer": 0}), *sends(4), Op("advance", {"ms": 2_000})]
    trial = play(lab, ops, rocketmq.V4._replace(names=names), **{"lab.nameServer": 1})
    assert not violated(trial)
    assert {"deliver-no-loss", "progress-never-ahead", "ha-address-source"} <= held(trial)
    known = [each.detail for each in trial.events if each.kind == "table" and each.f == "brokers"]
    assert json.loads(known[-1] or "") == {"broker-a": {"0": "master", "1": "slave"}}
    # Who has the HA address of the master's own port makes no connection that a tap sees.
    assert [each for each in trial.events if each.kind == "connect" and each.node == "slave"]
    asked = {each.node for each in trial.events if each.group is not None and each.kind == "invoke"}
    assert asked <= {"master", "slave", "names"} and "master" in asked


def test_brokers_register_again_with_a_real_name_server_that_was_killed(lab: ProcessLab) -> None:
    ops = [
        Op("join", {"group": 0, "consumer": 0}), *sends(2), Op("fault", {"name": "kill", "node": "names"}),
        Op("advance", {"ms": 500}), Op("heal", {"name": "kill"}), *sends(2), Op("advance", {"ms": 32_000}), *sends(2),
    ]  # fmt: skip
    trial = play(lab, ops, resolve.target("rocketmq@reference,5.5.0,4.9.7"))
    assert not violated(trial)
    assert [each.effect["processes_killed"] for each in trial.faults] == [1]
    known = [each.detail for each in trial.events if each.kind == "table" and each.f == "brokers"]
    assert json.loads(known[-1] or "") == {"broker-a": {"0": "master", "1": "slave"}}
    assert {"route-reported", "ha-address-source"} <= held(trial)


@pytest.mark.parametrize("target", [rocketmq.V4_MASTER, rocketmq.V4_SLAVE], ids=lambda target: target.name)
def test_mixed_pairs_keep_the_laws(lab: ProcessLab, target: Target) -> None:
    began = [*sends(5), Op("fault", {"name": "stall", "link": "ha", "direction": "down"}), *sends(2)]
    waits = Op("advance", {"ms": 2_500})
    trial = play(lab, [*began, waits, Op("heal", {"name": "stall"}), waits, *sends(2)], target)
    assert not violated(trial)
    assert sent(trial)["FLUSH_SLAVE_TIMEOUT"] and trial.faults[0].bit
    assert {"log-prefix", "ha-contiguous", "queue-derived-equal"} <= held(trial)


# Two minutes of JVMs that start and of a name server that waits; what drives version 5 is the same as for 4.9.7.
@pytest.mark.nightly
def test_version_5_keeps_the_laws_and_learns_of_its_master_from_the_name_server(lab: ProcessLab) -> None:
    trial = play(
        lab, [*sends(20), Op("advance", {"ms": 500})], rocketmq.V5, **{"lab.nameServer": 1, "inSyncReplicas": 2}
    )
    assert not violated(trial)
    assert sent(trial)["PUT_OK"] > 20
    assert {"ha-address-source", "log-prefix", "ha-contiguous"} <= held(trial)


# Half a minute; ours does the same in test_process_trials.py, and a commit does not change RocketMQ.
@pytest.mark.nightly
def test_a_real_broker_whose_disk_turns_read_only_comes_back(lab: ProcessLab) -> None:
    if not lab.has_devices():
        pytest.skip("no disks of our own here")
    trial = play(lab, [*sends(4), Op("advance", {"ms": 1_500}), *under("read_only", node="slave")], rocketmq.V4)
    assert "log-prefix" in held(trial) and trial.faults[0].bit


SHOWN = {"ack-replicated", "ha-ack-identity"}
KNOWN = "first-report-believed"
PLAYS = 3


# Up to three plays of half a minute each with RocketMQ, which a commit does not change.
@pytest.mark.parametrize(
    "target", [TARGET, pytest.param(rocketmq.V4, marks=pytest.mark.nightly)], ids=lambda target: target.name
)
def test_after_a_power_loss_the_real_master_acknowledges_what_its_slave_does_not_hold(
    lab: ProcessLab, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They would not agree in a minute either: the master has written past the slave, and refuses it no longer.
    monkeypatch.setattr(session, "SETTLE_NS", 5_000_000_000)
    if target is TARGET:
        trial = powerless(lab, target)
        assert not violated(trial)
        return
    # Now and then it does not come up at all on what the power loss has left.
    trial = next((each for each in (powerless(lab, target) for _ in range(PLAYS)) if deviating(each) >= SHOWN), None)
    assert trial is not None, f"in {PLAYS} plays {sorted(SHOWN)} did not show together"
    after = [each for each in trial.events if each.kind == "ok" and each.status == "PUT_OK"][-20:]
    assert len(after) == 20, "every send was acknowledged"
    assert {"append", "cut", "diverged"} <= {each.kind for each in trial.events if each.node == "master"}
    (lacking,) = (each for each in trial.judgements if each.law == "ack-replicated")
    assert lacking.broken


def deviating(trial: Trial) -> set[str]:
    return {each.law for each in trial.judgements if KNOWN in each.deviations}


def powerless(lab: ProcessLab, target: Target) -> Trial:
    trial = play(lab, POWER_LOSS, target)
    assert trial.faults[0].effect["machines_crashed"] == 1
    if trial.faults[0].effect["bytes_lost"] == 0:
        pytest.skip("the disk had flushed everything: nothing was lost")
    return trial


def test_what_nobody_can_do_to_a_real_broker_is_skipped_with_the_reason(lab: ProcessLab) -> None:
    names = {"disk_stall": {}, "slow_disk": {}, "lying_flush": {}, "clock_skew": {}, "retention": {},
             "dispatch_stall": {}, "disk_full": {}, "power_loss": {"keep": "half"}}  # fmt: skip
    ops = [Op("fault", {"name": name, "node": "master", **args}) for name, args in names.items()]
    trial = play(lab, [*ops, *sends(2)], rocketmq.V4)
    assert not violated(trial) and not trial.faults
    assert len(trial.skipped) == len(names)
    assert trial.skipped[0] == "disk_stall: master has no hook for its flushes"


def test_a_table_and_a_backup_that_a_power_loss_tore_keep_4_9_7_from_starting_which_is_known(lab: ProcessLab) -> None:
    """What honest ext4 leaves now and then: an empty table, and a backup of zeros."""
    made = lab.open(rocketmq.V4, rocketmq.V4.settings({"brokerRole": "ASYNC_MASTER"}), "torn")
    made.warm_up()
    made.on_nodes.crash_machine("master", "all")
    store = made.nodes["master"].store
    assert store is not None
    table = store.path / "config" / "consumerOffset.json"
    backup = table.with_name(f"{table.name}.bak")
    table.write_bytes(b"")
    backup.write_bytes(bytes(21))
    made.on_nodes.restart("master")
    backup.unlink()
    made.settle()
    events = made.recorder.events
    (abort,) = [event for event in events if event.kind == "abort"]
    words = "Failed | com.alibaba.fastjson.JSONException: syntax error, expect {, actual EOF, pos 21"
    assert str(abort.detail).startswith("exited 253; last output: ") and words in str(abort.detail)
    judged = judge.judge(events, judge.laws(["node-lives"]), lab.observes(rocketmq.V4))
    (lives,) = deviations.sorted_out(judged, events, deviations.of(rocketmq.V4))
    assert lives.verdict is not Verdict.VIOLATED and set(lives.deviations) == {"torn-backup-refused"}
    with patch.object(Nodes, "lost_power", lambda *_: False):
        (accused,) = deviations.sorted_out(judged, events, deviations.of(rocketmq.V4))
        assert accused.verdict is Verdict.VIOLATED
    # Without the backup it starts, with an empty table.
    assert [event.f for event in events if event.kind == "mark"][-2:] == ["converged", "end"]


def test_a_broker_that_does_not_load_its_own_store_is_a_finding_and_its_words_are_kept(lab: ProcessLab) -> None:
    """BrokerController.initialize() is false, and BrokerStartup exits with -3: that ended the run before."""
    made = lab.open(rocketmq.V4, rocketmq.V4.settings({"brokerRole": "ASYNC_MASTER"}), "lives")
    made.warm_up()
    made.on_nodes.kill("slave")
    store = made.nodes["slave"].store
    assert store is not None
    torn = store.path / "commitlog" / f"{1 << 20:020d}"
    torn.write_bytes(bytes(100))
    made.on_nodes.restart("slave")
    torn.unlink()
    made.settle()
    (abort,) = [event for event in made.recorder.events if event.kind == "abort"]
    assert (abort.node, abort.f, abort.status) == ("slave", "ended", None)
    assert str(abort.detail).startswith("exited 253; last output: ")
    (lives,) = judge.judge(made.recorder.events, judge.laws(["node-lives"]), lab.observes(rocketmq.V4))
    assert [each.text for each in lives.violations] == [f"slave did not come up on its own store: {abort.detail}"]
    # Without that file it comes up at the end.
    assert [event.f for event in made.recorder.events if event.kind == "mark"][-2:] == ["converged", "end"]
    assert "boot success" in made.logs()["slave"]


def test_a_real_pair_runs_under_the_files_that_somebody_brings(lab: ProcessLab, tmp_path: Path) -> None:
    master, slave = tmp_path / "master.conf", tmp_path / "slave.conf"
    master.write_text("listenPort=1\nbrokerRole=SYNC_MASTER\nflushDiskType = SYNC_FLUSH\ntransferMsgByHeap=false\n")
    slave.write_text("brokerId=1\nbrokerRole=SLAVE\nslaveReadEnable=true\n")
    files = {"master": master, "slave": slave}
    brought, lines = rocketmq.V4.bring(files, ["syncFlushTimeout=4000"])
    assert lines == ["the lab replaces listenPort, brokerId: addresses, names, paths and file sizes are its own"]
    trial = play(lab, sends(4), rocketmq.V4.given(brought), flushDiskType="ASYNC_FLUSH")
    # The lab sends, too, to see that the brokers serve.
    assert not violated(trial) and sent(trial)["PUT_OK"] >= 4
    told = {each.node: json.loads(each.detail or "") for each in trial.events if each.kind == "config"}
    assert told["master"]["flushDiskType"] == "SYNC_FLUSH" and told["slave"]["flushDiskType"] == "ASYNC_FLUSH"
    assert told["master"]["transferMsgByHeap"] is False and told["slave"]["slaveReadEnable"] is True
    assert told["master"]["syncFlushTimeout"] == 4_000
    assert trial.schedule.settings["master.transferMsgByHeap"] is False


@pytest.mark.nightly
@pytest.mark.parametrize("target", ["rocketmq@4.9.7..5.5.0", "rocketmq@5.5.0..4.9.7"])
def test_an_upgrade_and_the_way_back_keep_the_laws(lab: ProcessLab, target: str) -> None:
    steps = [("slave", "other"), ("master", "other"), ("master", "own"), ("slave", "own")]
    wait = Op("advance", {"ms": 1_000})
    ops = [
        op
        for node, image in steps
        for op in (
            Op("fault", {"name": "upgrade", "node": node, "image": image}),
            *sends(4),
            wait,
            Op("heal", {"name": "upgrade"}),
            *sends(4),
        )
    ]
    trial = play(lab, [*sends(4), *ops], resolve.target(target), rocketmqVersion="5.5.0", inSyncReplicas=2)
    assert not violated(trial)
    assert [each.node for each in trial.events if each.kind == "stop"] == [node for node, _ in steps]
    marks = [each.f for each in trial.events if each.kind == "mark"]
    assert marks[-2:] == ["converged", "end"]
