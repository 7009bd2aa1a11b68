"""The simulated lab with a name server: brokers find each other, tables follow, consumers come, go and are recorded."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pairproof.chaos.rocketmq.provision import QUEUES
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.template import (
    CONSUMING,
    Template,
    advance,
    astray,
    fault,
    group,
    heal,
    join,
    leave,
    pull,
    send,
    topic,
)
from pairproof.harness.rocketmq.workloads import TEMPLATES
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")


def execute(*ops: Op, **settings: str | int | bool) -> Trial:
    return run_trial(LAB, REFERENCE, Schedule({"lab.nameServer": 1, **settings}, "whole", ops), laws=())


def kinds(trial: Trial, kind: str, **wanted: object) -> list[Event]:
    return [
        event
        for event in trial.events
        if event.kind == kind and all(getattr(event, name) == value for name, value in wanted.items())
    ]


def last_table(trial: Trial, node: str, f: str) -> Event:
    return kinds(trial, "table", node=node, f=f)[-1]


def delivered(trial: Trial, of: str | None = "g0") -> set[tuple[str | None, str | None]]:
    return {(event.node, event.message) for event in kinds(trial, "deliver", group=of)}


# Brokers and their name server.


def test_a_pair_that_knows_only_its_name_server_replicates_and_serves() -> None:
    trial = execute(pull("slave"), advance(100))
    (config,) = kinds(trial, "config", node="slave")
    assert json.loads(config.detail or "")["haMasterAddress"] == ""
    answer = kinds(trial, "register", node="slave", status="ok")[0]
    assert json.loads(answer.detail or "") == {"ha": "master", "master": "master"}
    assert [event.f for event in kinds(trial, "mark")] == ["warm", "heal", "probe", "converged", "end"]
    assert [event.message for event in kinds(trial, "deliver", node="slave")] == ["m0"]
    assert json.loads(last_table(trial, "names", "brokers").detail or "") == {"broker-a": {"0": "master", "1": "slave"}}


def test_addresses_may_come_from_the_configuration_besides() -> None:
    trial = execute(fault("kill", node="names"), advance(1_000), **{"lab.haMasterAddress": 1})
    (config,) = kinds(trial, "config", node="slave")
    assert json.loads(config.detail or "")["haMasterAddress"].endswith(":10912")
    assert kinds(trial, "mark", f="converged")


def test_a_second_address_and_ha_port_are_registered_and_lead_the_slave_to_its_master() -> None:
    more = {"brokerIP2": "10.1.0.1", "haListenPort": 9, "rocketmqVersion": "5.5.0"}
    trial = execute(pull("slave"), advance(100), **more)
    assert {event.f for event in kinds(trial, "register", node="master")} == {"10.1.0.1:+3"}
    (config,) = kinds(trial, "config", node="slave")
    assert json.loads(config.detail or "")["haListenPort"] == 10_924, "the lab has its own ports"
    answer = kinds(trial, "register", node="slave", status="ok")[0]
    assert json.loads(answer.detail or "") == {"ha": "master", "master": "master"}
    assert kinds(trial, "mark", f="converged")


def test_a_configured_address_counts_although_the_master_registers_another() -> None:
    trial = execute(advance(1_000), **{"lab.haMasterAddress": 1, "brokerIP2": "10.1.0.1"})
    assert kinds(trial, "mark", f="converged")
    literal = {"slave.haMasterAddress": "mq-master:10912", "brokerIP2": "10.1.0.1"}
    assert kinds(execute(advance(1_000), **literal), "mark", f="converged")


def test_tables_of_every_slave_become_the_masters_with_their_versions() -> None:
    changes = [topic(3, "master"), group(0, 1, "master")]
    trial = execute(*changes, *CONSUMING, **{"lab.slaves": 2})
    for table in ("topics", "groups"):
        master, *slaves = (last_table(trial, node, table) for node in ("master", "slave", "slave2"))
        assert master.value is not None and master.lo is not None
        assert {(each.value, each.lo, each.detail) for each in slaves} == {(master.value, master.lo, master.detail)}
    assert json.loads(last_table(trial, "slave", "topics").detail or "")["t0"]["writeQueueNums"] == 3
    assert json.loads(last_table(trial, "slave2", "groups").detail or "")["g0"]["brokerId"] == 1
    offsets = json.loads(last_table(trial, "master", "offsets").detail or "")
    assert offsets["pairproof@g0"]["0"] == 3  # the warm-up's, one of the story's, the probe
    assert json.loads(last_table(trial, "slave", "offsets").detail or "") == offsets


@pytest.mark.parametrize(
    ("link", "fails", "goes_on"),
    [("meta", {"offsets", "delays", "groups"}, {"topics"}), ("meta-fast", {"topics"}, {"offsets", "delays", "groups"})],
)
def test_a_cut_link_stops_the_steps_of_a_sync_that_go_over_it(link: str, fails: set[str], goes_on: set[str]) -> None:
    trial = execute(fault("down", link=link), advance(12_000))
    during = [event for event in kinds(trial, "sync") if 5_000_000_000 < event.t < 17_000_000_000]
    ended = {
        status: {event.f for event in during if event.status == status} for status in ("failed", "same", "applied")
    }
    assert ended["failed"] == fails and ended["same"] | ended["applied"] == goes_on
    assert not kinds(trial, "close")


def test_a_broker_that_dies_leaves_the_name_servers_table_and_comes_back() -> None:
    trial = execute(fault("kill", node="master"), advance(1_000), heal("kill"), advance(1_000))
    read = [json.loads(event.detail or "").get("broker-a") for event in kinds(trial, "table", f="brokers")]
    assert read[:2] == [{"1": "slave"}, {"0": "master", "1": "slave"}]


def test_a_name_server_that_dies_forgets_all_and_learns_it_again() -> None:
    trial = execute(fault("kill", node="names"), advance(31_000), heal("kill"), advance(62_000))
    assert [event.f for event in kinds(trial, "crash", node="names")] == ["process"]
    tables = [json.loads(event.detail or "") for event in kinds(trial, "table", node="names")]
    assert tables[0] == {} and set(tables[-1]["broker-a"]) == {"0", "1"}
    assert kinds(trial, "register", status="failed")


def test_a_wiped_slave_fetches_its_tables_while_a_wiped_master_is_given_them() -> None:
    wiped = fault("wipe", node="slave")
    trial = execute(*CONSUMING, wiped, heal("wipe"), pull("slave"), advance(12_000), pull("slave"), advance(100))
    asked = [(event.kind, event.status) for event in trial.events if event.f == "pull" and event.group is None]
    assert ("fail", "TOPIC_NOT_EXIST") in asked and asked[-1][0] == "ok"
    trial = execute(fault("wipe", node="master"), heal("wipe"), advance(100), send(0), advance(100))
    assert kinds(trial, "ok", f="send", message="m1")


def test_a_slave_that_loses_power_while_it_saves_has_the_table_from_before() -> None:
    (template,) = (each for each in TEMPLATES if "loses power while" in each.about)
    trial = execute(*template.ops)
    (crash,) = kinds(trial, "crash", node="slave", f="machine")
    saved = [event for event in kinds(trial, "persist", node="slave", f="topics") if event.t <= crash.t]
    assert saved[-1].t == crash.t and crash.value == 0
    after, *_, end = kinds(trial, "table", node="slave", f="topics")
    assert "pairproof" in (after.detail or "") and "t0" not in (after.detail or "") and "t0" in (end.detail or "")


# Consumers.


def queues_of(trial: Trial) -> dict[int | None, set[str | None]]:
    """Which queues each consumer held in the end."""
    held: dict[int | None, set[str | None]] = {}
    for event in kinds(trial, "assign"):
        mine = held.setdefault(event.process, set())
        (mine.add if event.status == "on" else mine.discard)(event.queue)
    return held


def test_two_consumers_share_the_queues_and_one_that_leaves_hands_its_own_over() -> None:
    shared = queues_of(execute(*CONSUMING))
    assert sorted(len(each) for each in shared.values()) == [QUEUES // 2] * 2
    trial = execute(*CONSUMING, leave(0, 0))
    left, stays = queues_of(trial).values()
    assert not left and len(stays) == QUEUES
    assert [event.status for event in kinds(trial, "consumer")] == ["on", "on", "off"]


def test_a_lost_consumer_gives_nothing_up_and_its_queues_are_taken_over_all_the_same() -> None:
    trial = execute(*CONSUMING, leave(0, 0, lost=True), advance(25_000))
    lost, stays = queues_of(trial).values()
    assert len(lost) == QUEUES // 2 and len(stays) == QUEUES
    assert kinds(trial, "consumer")[-1].status == "lost"


def test_every_group_gets_every_message_and_a_broadcasting_one_at_each_member() -> None:
    trial = execute(join(0, 0), join(1, 0), join(8, 0), join(8, 1), advance(1_000), send(0), send(3), advance(3_000))
    sent = {("master", event.message) for event in kinds(trial, "ok", f="send")}
    assert delivered(trial, "g0") == delivered(trial, "g1") == sent
    members = {event.process for event in kinds(trial, "consumer", f="broadcasting")}
    assert len(members) == 2
    for each in members:
        assert {(event.node, event.message) for event in kinds(trial, "deliver", process=each)} == sent


def test_what_a_consumer_does_is_recorded_as_the_history_says() -> None:
    trial = execute(join(0, 0), advance(1_000), send(0), advance(6_000))
    consumer = kinds(trial, "consumer")[0]
    its = [event for event in trial.events if event.process == consumer.process and event.kind != "ask"]
    assert all(event.group == "g0" for event in its)
    assert [event.kind for event in its[:2]] == ["consumer", "route"]
    assert json.loads(its[1].detail or "") == {"0": "master", "1": "slave"}
    query = next(event for event in its if event.kind == "invoke")
    assert (query.f, query.node, query.broker) == ("query", "master", 0)
    for kind, f, columns in (
        ("ok", "query", ("queue", "queue_offset")),
        ("assign", None, ("queue", "value")),
        ("invoke", "pull", ("queue", "value", "broker", "node")),
        ("deliver", "pull", ("message", "queue", "queue_offset", "lo", "hi", "digest", "op")),
        ("ok", "pull", ("queue", "queue_offset", "lo", "hi", "broker")),
        ("invoke", "commit", ("queue", "queue_offset", "value", "broker")),
        ("ok", "commit", ("queue", "queue_offset", "value")),
    ):
        found = [event for event in its if event.kind == kind and (f is None or event.f == f)]
        assert found and all(getattr(event, name) is not None for event in found for name in columns), (kind, f)


def test_a_commit_that_rides_on_a_pull_comes_right_before_it_and_ends_with_it() -> None:
    trial = execute(join(0, 0), advance(1_000), send(0), advance(6_000), send(0), advance(1_000))
    riders = [event for event in kinds(trial, "invoke", f="commit") if event.value]
    assert riders
    for rider in riders:
        carrier = trial.events[rider.seq + 1]
        assert (carrier.kind, carrier.f, carrier.queue) == ("invoke", "pull", rider.queue)
    ended = {event.op: event.seq for event in kinds(trial, "ok", f="commit")}
    pulled = {event.op: event.seq for event in kinds(trial, "ok", f="pull")}
    for rider in riders:
        if rider.op in ended:
            assert ended[rider.op] == pulled[trial.events[rider.seq + 1].op] + 1


def test_consumers_read_on_from_the_slave_when_the_master_dies() -> None:
    away = (fault("stall", link="ha", direction="down"), fault("kill", node="master"), advance(38_000))
    trial = execute(*CONSUMING, *away, heal("kill"), advance(1_000))
    served = {event.node for event in kinds(trial, "ok", f="pull", group="g0")}
    assert served == {"master", "slave"}


def test_a_consumer_that_was_told_to_reads_from_the_slave_and_commits_to_the_master() -> None:
    trial = execute(group(0, 1, "master"), advance(12_000), *CONSUMING, slaveReadEnable=True)
    assert "slave" in {event.node for event in kinds(trial, "deliver", group="g0")}
    assert {event.node for event in kinds(trial, "invoke", f="commit")} == {"master"}


BY_USER = {"lab.connectBrokerByUser": 1, "lab.defaultBrokerId": 1}


def test_a_consumer_whose_user_fixed_the_slave_reads_there_and_commits_to_the_master() -> None:
    trial = execute(*CONSUMING, slaveReadEnable=True, **BY_USER)
    assert {event.node for event in kinds(trial, "invoke", f="pull", group="g0")} == {"slave"}
    assert {event.broker for event in kinds(trial, "ok", f="pull", group="g0")} == {0}, "the slave suggests the master"
    assert {event.node for event in kinds(trial, "invoke", f="commit")} == {"master"}
    assert {event.broker for event in kinds(trial, "consumer", status="on")} == {1}
    led = execute(*CONSUMING, slaveReadEnable=True)
    assert {event.node for event in kinds(led, "invoke", f="pull", group="g0")} == {"master"}
    assert {event.broker for event in kinds(led, "consumer", status="on")} == {None}


def turns(trial: Trial) -> list[str | None]:
    """Which broker each answer that brought something came from, in order."""
    served = {event.op for event in kinds(trial, "deliver", group="g0")}
    return [event.node for event in kinds(trial, "ok", f="pull", group="g0") if event.op in served]


@pytest.mark.parametrize(
    ("usual", "expected"), [(0, ["master", "slave", "master", "slave"]), (1, ["master", "slave", "slave"])]
)
def test_one_pull_from_the_slave_is_followed_by_one_from_the_master_unless_the_group_says_otherwise(
    usual: int, expected: list[str]
) -> None:
    backlog = [send(0, wait=True, size=1_000) for _ in range(60)]
    trial = execute(
        group(0, usual, "master"), advance(12_000), *backlog, advance(1_000), join(0, 0), advance(100),
        slaveReadEnable=True, totalMemory=20_000, mappedFileSizeCommitLog=65_536, **{"lab.slaveMemory": 1 << 30},
    )  # fmt: skip
    # The master's 40 % are 8,000 bytes, and it gives 8 messages at a time of what it takes to be on its disk.
    assert turns(trial)[: len(expected)] == expected


def test_a_slave_that_is_not_for_reading_serves_in_4_9_and_refuses_in_5() -> None:
    # A slave of 5.x fetches the topics for the first time after a minute.
    away = (*CONSUMING, advance(62_000), fault("kill", node="master"), advance(38_000), pull("slave"), advance(100))
    served, refused = (execute(*away, rocketmqVersion=version) for version in ("4.9.7", "5.5.0"))
    answers = kinds(served, "ok", f="pull", node="slave")
    assert answers and {event.broker for event in answers} == {0}
    assert kinds(served, "deliver", node="slave", group=None)
    assert not kinds(refused, "deliver", node="slave")
    assert {event.status for event in kinds(refused, "fail", f="pull", node="slave")} == {"SYSTEM_BUSY"}
    for_reading = execute(*away, rocketmqVersion="5.5.0", slaveReadEnable=True)
    assert kinds(for_reading, "deliver", node="slave", group=None)


def test_end_waits_until_consumers_have_caught_up_and_tables_have_followed() -> None:
    trial = execute(join(0, 0), advance(100), send(0), send(1), send(2), send(3))
    end, converged = trial.events[-1], kinds(trial, "mark", f="converged")[0]
    assert end.t - converged.t >= 22_000_000_000
    stored = {("master", event.message) for event in kinds(trial, "ok", f="send")}
    assert delivered(trial) == stored
    assert kinds(trial, "sync", f="groups")[-1].t > converged.t


# Administrators, and producers who send elsewhere.


def test_a_slave_refuses_messages_and_administrators() -> None:
    trial = execute(astray("slave", 1), topic(2, "slave"), group(1, 0, "slave"), advance(100))
    refused = {event.f: event.status for event in kinds(trial, "fail", node="slave")}
    assert refused == {"send": "SERVICE_NOT_AVAILABLE", "topic": "SYSTEM_ERROR", "group": "SYSTEM_ERROR"}
    assert {event.message for event in kinds(trial, "invoke", node="slave") if event.f != "send"} == {"t0", "g1"}


def test_another_broker_name_takes_messages_and_its_queues_say_whose_they_are() -> None:
    trial = execute(*CONSUMING, astray("other", 0), advance(2_000), **{"lab.others": 1})
    (ok,) = kinds(trial, "ok", f="send", node="other")
    assert ok.status == "PUT_OK" and ok.hi is not None
    assert ("other", ok.message) in delivered(trial)
    held = {(event.node, event.queue) for event in kinds(trial, "assign", status="on")}
    assert {node for node, queue in held if queue == "pairproof/0"} == {None, "other"}
    assert set(json.loads(last_table(trial, "names", "brokers").detail or "")) == {"broker-a", "broker-b"}
    assert all("other" not in (event.detail or "") for event in kinds(trial, "route"))


@pytest.mark.parametrize(("dies", "lives"), [("master", "other"), ("other", "master")])
def test_one_broker_name_goes_on_without_the_other(dies: str, lives: str) -> None:
    during = (
        fault("kill", node=dies),
        advance(1_000),
        astray(lives, 0),
        astray(dies, 0),
        advance(6_000),
    )
    trial = execute(*CONSUMING, *during, brokerRole="ASYNC_MASTER", **{"lab.others": 1})
    crash = kinds(trial, "crash", node=dies)[0]
    after = {event.node: event.kind for event in trial.events[crash.seq :] if event.f == "send" and event.status}
    back = [event for event in kinds(trial, "start", node=dies) if event.t > crash.t]
    asked = [event for event in trial.events[crash.seq : back[0].seq] if event.f == "send" and event.status]
    assert {event.node: event.kind for event in asked} == {lives: "ok", dies: "fail"} and after
    assert lives in {event.node for event in trial.events[crash.seq : back[0].seq] if event.kind == "deliver"}


# What the judge makes of it.


BITE_THE_WRONG = {"power fails after an orderly stop", "files go while no queue has what they hold"}
"""Stories in which a fault finds nothing to lose where a broker has made it durable, or has kept it."""


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.about)
def test_no_law_is_broken_by_a_story_and_its_faults_bite(template: Template) -> None:
    trial = run_trial(LAB, REFERENCE, Schedule({"lab.nameServer": 1, **template.settings}, "template", template.ops))
    alarms = [each for each in trial.judgements if each.verdict in (Verdict.VIOLATED, Verdict.UNKNOWN)]
    assert not alarms
    assert all(outcome.bit for outcome in trial.faults) != (template.about in BITE_THE_WRONG)


ABOUT_THE_WHOLE = ("deliver-", "meta-", "mode-", "progress-", "queue-", "read-", "role-", "route-")


def test_stories_alone_exercise_every_law_about_the_whole() -> None:
    reached = set()
    for template in TEMPLATES:
        trial = run_trial(LAB, REFERENCE, Schedule({"lab.nameServer": 1, **template.settings}, "reach", template.ops))
        reached |= {each.law for each in trial.judgements if each.verdict is Verdict.HOLDS}
    # Several slaves are the swarm's business, pulls by tags those of every pair; stories are played in every lab, and
    # consumers that fail and second masters are simulated.
    whole = {law.id for law in judge.all_laws() if law.id.startswith(ABOUT_THE_WHOLE)}
    wanted = whole - {"role-fan-out", "deliver-by-tag", "deliver-sent-back", "route-last-master"}
    assert wanted <= reached


def test_queues_and_indexes_are_read_at_every_audit_of_a_pair_too() -> None:
    ops = (send(0), send(1), advance(100), fault("kill", node="slave"), advance(100), heal("kill"))
    trial = run_trial(LAB, REFERENCE, Schedule({}, "pair", ops), laws=())
    audits = {event.op for event in kinds(trial, "audit")}
    assert len(audits) == 2
    for kind, name in (("entries", "queue"), ("keys", "message")):
        for audit in audits:
            read: dict[str | None, dict[str | None, int | None]] = {}
            for event in kinds(trial, kind, op=audit):
                read.setdefault(event.node, {})[getattr(event, name)] = event.digest
            assert read["master"] == read["slave"] and read["master"]


# What cannot be.


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: run(join(0, 0)), "join needs a name server, .*: set lab.nameServer=1"),
        (lambda: run(leave(0, 0)), "leave needs a name server"),
        (lambda: run(fault("kill", node="names")), "no node 'names' in this trial; valid: master, slave"),
        (
            lambda: run(fault("down", link="meta")),
            "no link 'meta' in this trial; valid: ha, client-master, client-slave",
        ),
        (lambda: run(**{"lab.others": 1}), "lab.others needs a name server, .*: set lab.nameServer=1"),
        (lambda: execute(**{"lab.defaultBrokerId": 1}), "lab.defaultBrokerId is .* set lab.connectBrokerByUser=1, too"),
        (lambda: execute(**{**BY_USER, "lab.defaultBrokerId": 4}), "lab.defaultBrokerId must be .* from 0 to 3, not 4"),
        (lambda: run(**{"lab.slaveMemory": -1}), "lab.slaveMemory must be a whole number from 0"),
        (lambda: run(**{"lab.nameServer": 2}), "lab.nameServer must be a whole number from 0 to 1, not 2"),
        (lambda: execute(fault("down", link="meta2")), "no link 'meta2' in this trial"),
        (lambda: execute(topic(1, "slave2")), "an administrator asks master or slave .lab.slaves., not 'slave2'"),
        (
            lambda: execute(astray("other", 0)),
            "a producer sends to master or slave .lab.slaves., not 'other'",
        ),
        (lambda: run(maxIndexNum=20_000_000), "20 \\* maxIndexNum \\+ 40 must be at most 67108864"),
    ],
)
def test_what_a_trial_does_not_have_gets_one_clear_line(make: Callable[[], Trial], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        make()


def run(*ops: Op, **settings: str | int) -> Trial:
    return run_trial(LAB, REFERENCE, Schedule(settings, "pair", ops), laws=())
