"""A pulled network cable in cluster trials: what clients, laws and histories show of it."""

from __future__ import annotations

import pytest

from pairproof.chaos.scenarios import library
from pairproof.chaos.scenarios.play import UNKNOWN, play
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.errors import UsageError
from pairproof.harness.history import MS, Event
from pairproof.harness.judging import judge
from pairproof.harness.judging.disturbances import EVERY_LINK
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import cluster, swarm, topology
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Scalar, Schedule
from pairproof.harness.trials.trial import Trial

LAB = resolve.lab("sim")
SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
HEAL = Op("heal", {"name": "disconnect"})


def execute(*ops: Op, laws: bool = True, target: str = "reference", **settings: Scalar) -> Trial:
    schedule = Schedule(settings, "disconnect", ops)
    return run_trial(LAB, resolve.target(target), schedule, laws=judge.all_laws() if laws else ())


def disconnect(node: str) -> Op:
    return Op("fault", {"name": "disconnect", "node": node})


def advance(ms: int) -> Op:
    return Op("advance", {"ms": ms})


def violated(trial: Trial) -> list[str]:
    return [each.law for each in trial.judgements if each.verdict is not Verdict.VACUOUS and each.violations]


def answers(trial: Trial) -> list[tuple[str | None, int]]:
    """How sends between warm-up and the last probe ended, and after how many ms."""
    began = {event.op: event.t for event in trial.events if event.kind == "invoke"}
    ended = [event for event in trial.events if event.f == "send" and event.kind in ("ok", "fail", "info")]
    return [(event.status, (event.t - began[event.op]) // MS) for event in ended[1:-1]]


def of_fault(trial: Trial) -> list[Event]:
    return [event for event in trial.events if event.kind == "fault"]


def test_without_its_slave_a_send_waits_for_slave_timeout_and_the_connection_stands() -> None:
    trial = execute(disconnect("slave"), SEND, advance(3_500), HEAL, advance(100), SEND, advance(100))
    assert [status for status, _ in answers(trial)] == ["FLUSH_SLAVE_TIMEOUT", "PUT_OK"]
    assert answers(trial)[0][1] in range(3_000, 3_010)
    assert [event.kind for event in trial.events if event.kind == "close"] == [] and violated(trial) == []


def test_without_its_master_a_send_waits_until_the_cable_is_back() -> None:
    trial = execute(advance(10), disconnect("master"), SEND, advance(2_000), HEAL, advance(100))
    ((status, took),) = answers(trial)
    assert status == "PUT_OK" and 2_000 <= took <= 2_020 and violated(trial) == []


@pytest.mark.parametrize("node", ["master", "slave"])
def test_after_the_housekeeping_interval_both_sides_give_up_and_meet_again(node: str) -> None:
    settings = {"haSendHeartbeatInterval": 500, "haHousekeepingInterval": 3_000}
    trial = execute(disconnect(node), SEND, advance(20_000), HEAL, advance(1_000), **settings)
    closed = {event.side for event in trial.events if event.kind == "close" and event.f == "local"}
    assert closed == {"m", "s"} and violated(trial) == []
    assert trial.faults[0].effect["connects_unanswered"] >= 1
    assert [event.f for event in trial.events if event.kind == "mark"][-2:] == ["converged", "end"]


def test_a_cable_that_nobody_missed_did_nothing() -> None:
    trial = execute(disconnect("slave"), advance(1), HEAL, laws=False)
    assert (trial.faults[0].bit, trial.faults[0].effect) == (0, {})
    assert execute(disconnect("slave"), SEND, advance(1), HEAL, laws=False).faults[0].bit == 1


def test_it_is_in_the_history_as_a_fault_at_every_link_of_the_node() -> None:
    on, off = of_fault(execute(disconnect("slave"), advance(5_000), HEAL, laws=False))
    assert (on.node, on.link, on.status) == (off.node, off.link, "on") == ("slave", EVERY_LINK, "on")
    assert off.status == "off" and off.value == 1


def test_a_node_that_a_trial_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no node 'slave2' in this trial"):
        execute(disconnect("slave2"))
    with pytest.raises(UsageError, match="link cannot be 'ha'; valid: all"):
        execute(Op("fault", {"name": "disconnect", "node": "slave", "link": "ha"}))


def test_links_that_laws_take_for_touched_are_those_of_the_lab() -> None:
    settings = TARGET.settings({"lab.slaves": 3, "lab.nameServer": 1, "lab.others": 1})
    session = LAB.open(TARGET, settings, "s")
    for node in topology.PROCESSES:
        host = session.world.hosts[node]  # type: ignore[attr-defined]
        own = {each.name for each in session.world.network.links.values() if each.host is host}  # type: ignore[attr-defined]
        own |= {each.name for each in host.ways.values()}
        assert own - {"rogue_slave"} == topology.links_of(node)


@pytest.mark.parametrize("node", topology.PROCESSES)
def test_no_law_is_violated_where_everybody_is(node: str) -> None:
    settings: dict[str, Scalar] = {
        "lab.nameServer": 1,
        "lab.others": 1,
        "lab.slaves": 3,
        "haHousekeepingInterval": 6_000,
    }
    join = Op("join", {"group": 0, "consumer": 0})
    ops = (join, advance(1_000), SEND, disconnect(node), SEND, advance(15_000), SEND, HEAL, advance(31_000))
    trial = execute(*ops, **settings)
    assert violated(trial) == [] and trial.faults[0].bit


def test_a_pulled_cable_during_a_pause_mixes_up_no_log() -> None:
    """Shrunk from a seeded trial: a piece of a frame waits in the paused slave, the frame's end in the cable."""
    armed = Op("arm", {"name": "pause", "node": "slave", "point": "recv", "nth": 1})
    send = Op("send", {"producer": 0, "size": 420, "wait": True, "queue": 0})
    settings: dict[str, Scalar] = {"haSendHeartbeatInterval": 500, "lab.bufferBytes": 600}
    trial = execute(armed, advance(3_100), send, disconnect("slave"), advance(20), **settings)
    assert [each.bit for each in trial.faults] == [1, 1] and violated(trial) == []


@pytest.mark.parametrize("search", [swarm, cluster])
def test_no_seeded_trial_with_a_pulled_cable_raises_an_alarm(search: object) -> None:
    made = (search.schedule("cables", number) for number in range(4_000))  # type: ignore[attr-defined]
    drawn = [each for each in made if any(op.args.get("name") == "disconnect" for op in each.ops)][:40]
    assert len(drawn) >= 10
    for each in drawn:
        trial = run_trial(LAB, TARGET, each)
        assert violated(trial) == [] and not [one for one in trial.judgements if one.verdict is Verdict.UNKNOWN]


def test_a_laws_excuse_is_the_cable_and_not_the_fault_s_name() -> None:
    """The same history without the word that every link is concerned: a client's link was quiet, and slow."""
    settings: dict[str, Scalar] = {"brokerRole": "ASYNC_MASTER", "flushDiskType": "SYNC_FLUSH"}
    trial = execute(
        SEND, advance(2_000), SEND, advance(1), disconnect("master"), advance(9_000), HEAL, advance(100), **settings
    )
    blamed = [event._replace(link=None) if event.kind == "fault" else event for event in trial.events]
    laws = judge.laws(["ack-bounded"])
    verdicts = [judge.judge(each, laws, LAB.observes(TARGET))[0].verdict for each in (trial.events, blamed)]
    assert verdicts == [Verdict.HOLDS, Verdict.VIOLATED]


def test_the_scenario_says_so_where_the_cable_did_nothing() -> None:
    scenario = library.shipped("network-disconnect")
    case = scenario.cases[0]
    step = case.steps[0]
    brief = case._replace(steps=(step._replace(for_ms=0),), loads=(), expect=case.expect._replace(phases=()))
    found = play(scenario, brief, LAB, TARGET, "s")
    assert found.verdict == UNKNOWN and "had no effect" in found.doubts[0]
