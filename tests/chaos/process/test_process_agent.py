"""The agent in real brokers: their flushes obey the lab, and say when the log is durable."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from real_labs import play, sends, sent, violated
from toxiproxies import binary

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.rocketmq.agent import tool
from pairproof.chaos.rocketmq.install import JARS
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Op
from pairproof.harness.trials.trial import Trial

pytestmark = pytest.mark.slow

SETTINGS = {"brokerRole": "ASYNC_MASTER", "flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": 1_000}
# Of 5.5.0 a trial takes twice as long, and the same code of RocketMQ's is reached.
VERSIONS = ["4.9.7", pytest.param("5.5.0", marks=pytest.mark.nightly)]


@pytest.fixture(scope="module")
def lab() -> Iterator[ProcessLab]:
    os.environ["PAIRPROOF_TOXIPROXY"] = str(binary())
    for each in (*JARS.values(), tool.TOOL):
        each.install()
    made = ProcessLab()
    yield made
    made.close()


def fault(name: str, **args: int | str) -> Op:
    return Op("fault", {"name": name, "node": "master", **args})


def heal(name: str) -> Op:
    return Op("heal", {"name": name})


def wait(ms: int) -> Op:
    return Op("advance", {"ms": ms})


def played(lab: ProcessLab, version: str, *ops: Op) -> Trial:
    every = [*sends(4), wait(500), *ops, wait(500), *sends(2), wait(500)]
    return play(lab, every, resolve.target(f"rocketmq@{version}+agent"), **SETTINGS)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
def test_under_a_stalled_flush_a_sync_flush_send_times_out(lab: ProcessLab, version: str) -> None:
    trial = played(lab, version, fault("disk_stall"), *sends(4), wait(3_000), heal("disk_stall"))
    assert not violated(trial)
    assert sent(trial)["FLUSH_DISK_TIMEOUT"] == 4 and sent(trial)["PUT_OK"] >= 6
    assert trial.faults[0].effect["flushes_held"] >= 1
    assert {each.node for each in trial.events if each.kind == "flush"} == {"master", "slave"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("node", "nth"), [("master", 3), pytest.param("slave", 2, marks=pytest.mark.nightly)])
def test_a_broker_is_killed_at_its_nth_append_and_no_later(lab: ProcessLab, version: str, node: str, nth: int) -> None:
    arm = Op("arm", {"node": node, "point": "append", "nth": nth, "name": "kill"})
    # One by one: what a slave appends at once is what it has got at once.
    trial = played(lab, version, arm, *(op for each in sends(6) for op in (each, wait(100))))
    assert not violated(trial)
    # Four sends before it was armed, and one of the warm-up: what its files have is what it appended.
    last = [each for each in trial.events if each.kind == "append" and each.node == node and each.incarnation == 1]
    assert len([each for each in trial.events if each.kind == "crash"]) == 1 and len(last) == 5 + nth


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("point", ["flush", "send", "recv"])
@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_trigger_fires_once_at_its_point(lab: ProcessLab, version: str, node: str, point: str) -> None:
    trial = played(lab, version, Op("arm", {"node": node, "point": point, "nth": 2, "name": "kill"}), *sends(4))
    assert [each.node for each in trial.events if each.kind == "crash"] == [node]
    assert not violated(trial)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "lies", [pytest.param(True, id="lying"), pytest.param(False, id="honest", marks=pytest.mark.nightly)]
)
def test_a_power_loss_takes_what_a_lying_disk_called_durable_and_nothing_else(
    lab: ProcessLab, version: str, lies: bool
) -> None:
    began, ended = ([fault("lying_flush")], [heal("lying_flush")]) if lies else ([], [])
    dark = [fault("power_loss", keep="none"), heal("power_loss")]
    trial = played(lab, version, *began, *sends(8), wait(800), *dark, *ended)
    if not lab.has_devices():
        pytest.skip("no disks of our own here")
    assert sent(trial)["PUT_OK"] >= 12
    lost = next(each for each in trial.events if each.kind == "crash")
    assert (lost.status, bool(lost.value)) == (("lied", True) if lies else (None, False))
    # Behind a lying disk the contract asks nothing of the broker, and without one nothing is lost.
    assert "contract" not in violated(trial) and "ack-flushed" not in violated(trial)
