"""Trials in real processes behind a real toxiproxy: the reference keeps the laws, faults bite, a mutant is caught."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from real_labs import events, goes_on, opened, play, sends, sent, state, under, violated, within

from pairproof.chaos.labs.process.lab import ProcessLab
from pairproof.chaos.labs.real.stores import Store
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.history import MS
from pairproof.harness.ports.disks import CanStallDisk
from pairproof.harness.rocketmq.ports import CanExpire
from pairproof.harness.trials.abilities import part
from pairproof.harness.trials.schedule import Args, Op
from pairproof.reference.core.config import BrokerConfig

pytestmark = pytest.mark.slow


CASES = {
    "stall": ("stall", {"link": "ha", "direction": "down"}, "bytes_held", "FLUSH_SLAVE_TIMEOUT"),
    "reports_stall": ("stall", {"link": "ha", "direction": "up"}, "bytes_held", "FLUSH_SLAVE_TIMEOUT"),
    "down": ("down", {"link": "ha"}, "connections_closed", "SLAVE_NOT_AVAILABLE"),
    "limit_data": ("limit_data", {"link": "ha", "direction": "down", "bytes": 300}, "bytes_lost", None),
    "reset": ("reset", {"link": "client-master"}, "connections_closed", "disconnected"),
    "kill_master": ("kill", {"node": "master"}, "processes_killed", "refused"),
    "stop_slave": ("restart", {"node": "slave"}, "processes_stopped", "SLAVE_NOT_AVAILABLE"),
    "pause_slave": ("pause", {"node": "slave"}, "processes_paused", "FLUSH_SLAVE_TIMEOUT"),
    "clock": ("clock_skew", {"node": "master"}, "readings_skewed", None),
    "lies": ("lying_flush", {"node": "master"}, "files_feigned", None),
    "stalled_disk": ("disk_stall", {"node": "master"}, "flushes_held", None),
    "stalled_dispatch": ("dispatch_stall", {"node": "master"}, "dispatches_held", None),
    "wiped": ("wipe", {"node": "slave"}, "log_bytes_gone", "SLAVE_NOT_AVAILABLE"),
    "promotion": ("promotion", {"node": "slave"}, "slaves_promoted", "SLAVE_NOT_AVAILABLE"),
    "rogue_slave": ("rogue_slave", {"character": "two-faced"}, "bytes_sent", None),
    "machine": ("power_loss", {"node": "master"}, "machines_crashed", "refused"),
    "full": ("disk_full", {"node": "master"}, "bytes_filled", "SERVICE_NOT_AVAILABLE"),
    "read_only": ("read_only", {"node": "master"}, "processes_ended", "refused"),
}
NEEDS_DEVICE = ("full", "read_only")
MEMORY = BrokerConfig.totalMemory


def test_the_reference_keeps_the_laws_and_every_fault_bites(lab: ProcessLab) -> None:
    for name, (fault, args, bite, status) in CASES.items():
        trial = play(lab, under(fault, **args))
        if trial.skipped:
            assert name in NEEDS_DEVICE and not lab.has_devices(), (name, trial.skipped)
            continue
        assert not violated(trial), name
        (outcome,) = trial.faults
        assert outcome.effect.get(bite, 0) > 0, (name, outcome.effect)
        assert status is None or sent(trial)[status], (name, sent(trial))


def test_what_a_killed_slave_recovered_survives_a_power_loss(lab: ProcessLab) -> None:
    on_slave = {"node": "slave"}
    steps = [
        *sends(3), Op("advance", {"ms": 500}),
        Op("fault", {"name": "kill", **on_slave}), Op("heal", {"name": "kill"}), Op("advance", {"ms": 300}),
        Op("fault", {"name": "power_loss", "keep": "half", **on_slave}), Op("heal", {"name": "power_loss"}), *sends(3),
    ]  # fmt: skip
    trial = play(lab, steps, flushIntervalCommitLog=20_000)
    assert not violated(trial)
    recovered = [event.hi or 0 for event in trial.events if (event.kind, event.node) == ("start", "slave")]
    assert len(recovered) == 3 and 0 < recovered[1] <= recovered[2], recovered


def test_a_trial_keeps_its_nodes_settings_and_says_when_it_began_by_the_wall_clock(lab: ProcessLab) -> None:
    before_ms = time.time_ns() // MS
    trial = play(lab, sends(1))
    after_ms = time.time_ns() // MS
    assert "brokerRole=SYNC_MASTER\n" in trial.configurations["master"]
    assert "brokerRole=SLAVE\n" in trial.configurations["slave"]
    began_ms = json.loads(trial.events[0].detail or "")["beganMs"]
    # The two clocks that it is the difference of are read one after the other.
    assert before_ms - 1 <= began_ms <= after_ms - trial.events[-1].t // MS + 1


def test_a_cut_bites_where_connections_were_ended_or_refused_and_nowhere_else(lab: ProcessLab) -> None:
    ops: list[Op] = []
    # The first sends find out that their connection is gone, the next ones that there is no other.
    sent_twice = [*sends(2), Op("advance", {"ms": 300})] * 2
    # A limit that is never reached does nothing to the connection that a kill ends.
    limit = {"name": "limit_data", "link": "ha", "direction": "down", "bytes": 10_000_000}
    killed = [Op("fault", {"name": "kill", "node": "slave"}), Op("heal", {"name": "kill"}), *sent_twice]
    ops += [Op("fault", limit), *killed, Op("heal", {"name": "limit_data"})]
    for link, meanwhile in (("client-slave", sent_twice), ("client-master", sent_twice), ("ha", killed)):
        ops += [Op("fault", {"name": "down", "link": link}), *meanwhile, Op("heal", {"name": "down"})]
    trial = play(lab, ops)
    assert not violated(trial)
    assert [(each.name, bool(each.bit)) for each in trial.faults if each.name != "down"] == [
        ("kill", True), ("limit_data", False), ("kill", True),
    ]  # fmt: skip
    idle, clients, replication = (each for each in trial.faults if each.name == "down")
    assert idle.effect == {"connections_closed": 0, "connections_refused": 0} and not idle.bit
    for busy in (clients.effect, replication.effect):
        assert busy["connections_closed"] and busy["connections_refused"]


def test_an_orderly_stop_says_how_long_it_took(lab: ProcessLab) -> None:
    trial = play(lab, [*sends(1), Op("fault", {"name": "restart", "node": "slave"}), Op("heal", {"name": "restart"})])
    (stop,) = (each for each in trial.events if each.kind == "stop")
    ends = next(each.t for each in trial.events if each.kind == "start" and each.t > stop.t)
    assert stop.value is not None and 0 < stop.value <= (ends - stop.t) // MS


@pytest.mark.parametrize(("name", "node"), [("kill", "slave"), ("restart", "master")])
def test_a_node_that_is_to_start_on_a_stalled_disk_serves_when_that_goes_on(
    lab: ProcessLab, name: str, node: str
) -> None:
    trial = play(lab, within(("disk_stall", {"node": node}), (name, {"node": node})))
    assert not violated(trial)
    assert all(each.bit for each in trial.faults), trial.faults


def test_what_befalls_a_node_that_waits_for_its_disk_befalls_one_that_does_not_serve(lab: ProcessLab) -> None:
    session = opened(lab)
    on_flushes, on_retention = part(session, CanStallDisk), part(session, CanExpire)
    stall = on_flushes.stall_disk("slave")
    session.on_nodes.kill("slave")
    session.on_nodes.restart("slave")
    slave = session.nodes["slave"]
    assert slave.is_up and not session.world.serves(slave)
    pause = session.on_nodes.pause("slave")
    assert on_retention.expire("slave", 1) == {}
    session.on_nodes.resume(pause)
    assert session.on_nodes.stop("slave") == {"processes_killed": 1, "connections_closed": 0}
    session.on_nodes.restart("slave")
    assert slave.is_up and not session.world.serves(slave)
    on_flushes.resume_disk(stall)
    assert session.world.serves(slave)
    goes_on(session)
    kinds = [each.kind for each in session.recorder.events if each.node == "slave" and each.kind in ("start", "crash")]
    assert kinds == ["start", "crash", "start"], "of the start that came to nothing nobody saw anything"
    session.close()


@pytest.mark.parametrize(
    ("outer", "inner", "first_ends"),
    [
        ("disk_full", "read_only", "outer"), ("read_only", "disk_full", "inner"), ("disk_full", "promotion", "inner"),
        ("read_only", "promotion", "inner"), ("read_only", "restart", "inner"),
    ],
)  # fmt: skip
def test_what_befalls_a_disk_that_is_full_or_read_only_is_told_as_it_is(
    lab: ProcessLab, outer: str, inner: str, first_ends: str
) -> None:
    args: dict[str, Args] = {"promotion": {"node": "slave", "rejoin": "wiped"}}
    one, two = ((name, args.get(name, {"node": "slave"})) for name in (outer, inner))
    trial = play(lab, within(one, two, first_ends))
    assert not violated(trial)
    if lab.has_devices():
        refused = ("disk_full: the disk is read-only already: nothing can fill it",)
        assert trial.skipped == (refused if inner == "disk_full" else ())


def test_nobody_is_told_that_a_flush_is_done_while_the_disk_turns_read_only(
    lab: ProcessLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ext4 may say so of a flush that an error overtakes; who stands still has none under way."""
    session = opened(lab)
    if not lab.has_devices():
        pytest.skip("no loop devices here")
    seen: list[str] = []
    turn, pid = Store.read_only, session.nodes["slave"].pid
    assert pid is not None

    def scanned(store: Store) -> None:
        seen.append(state(pid))
        turn(store)

    monkeypatch.setattr(Store, "read_only", scanned)
    handle = session.on_nodes.turn_read_only("slave")
    assert seen == ["T"] and state(pid) != "T"
    session.on_nodes.turn_writable(handle)
    goes_on(session)
    session.close()


@pytest.mark.parametrize(
    ("settings", "master", "slave"),
    [
        ({}, None, None),
        ({"totalMemory": MEMORY}, MEMORY, MEMORY),
        ({"lab.slaveMemory": MEMORY}, None, MEMORY),
        ({"totalMemory": 5_000}, 5_000, 5_000),
    ],
)
def test_brokers_take_the_memory_that_a_trial_gives_even_at_its_default(
    lab: ProcessLab, settings: dict[str, int], master: int | None, slave: int | None
) -> None:
    session = opened(lab, **settings)
    for name, given in (("master", master), ("slave", slave)):
        (event,) = events(session, "config", name)
        assert json.loads(event.detail or "").get("totalMemory") == given
        written = (session.folder / f"{name}.conf").read_text().splitlines()
        assert [line for line in written if line.startswith("totalMemory")] == [f"totalMemory={given}"] * (
            given is not None
        )
    session.close()


def test_a_mutant_is_caught_by_its_law_and_only_there(lab: ProcessLab) -> None:
    ops = under("stall", link="ha", direction="down")
    assert "ack-replicated" in violated(play(lab, ops, TARGET.mutant("acks_at_once")))
    assert not violated(play(lab, ops))


def test_nothing_of_a_lab_stays(lab: ProcessLab, labs_folder: Path) -> None:
    play(lab, sends(3))
    assert list(labs_folder.glob("*/lab-*"))
    lab.close()
    assert not list(labs_folder.glob("*/lab-*"))


@pytest.mark.parametrize(("name", "ended"), [("kill", "crash"), ("restart", "orderly")])
def test_a_log_is_read_before_its_broker_starts_on_it_again(lab: ProcessLab, name: str, ended: str) -> None:
    trial = play(lab, under(name, node="slave"))
    seen = [each for each in trial.events if each.kind in ("found", "start") and each.node == "slave"]
    assert [(each.kind, each.incarnation) for each in seen] == [("start", 1), ("found", 2), ("start", 2)]
    found, start = seen[1:]
    assert found.f == ended and found.status == "whole" and found.hi == start.hi and violated(trial) == {}
