"""What a trial lost, and the class of its faults: of histories written by hand, and of the corpus of losses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairproof.harness import registry
from pairproof.harness.commands.check import recorded
from pairproof.harness.commands.main import main
from pairproof.harness.exploration.losses import NAME, NOT_PLAYED, PLAYED, Loss, Losses
from pairproof.harness.rocketmq import losses, outlook
from pairproof.harness.rocketmq.losses import CALLED, measure, outcome, total, words
from pairproof.harness.rocketmq.objectives import SEVERAL
from pairproof.harness.rocketmq.testing import SIZE, H, pair
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Measured, Trial


def sent(*messages: str, **settings: str) -> H:
    history = pair(**settings)
    for message in messages:
        history.sent(message)
    return history


def loss(history: H) -> Loss:
    found = measure(history.events)
    assert found is not None
    return found


def end(history: H, master: str = "", slave: str = "") -> Loss:
    return loss(history.audit(records={"master": master.split(), "slave": slave.split()}))


def away(history: H, node: str = "master", fault: str = "kill") -> H:
    """A fault begins and ends the node's process."""
    return history.fault(fault, node).crash(node)


def back(history: H, *held: str, node: str = "master", fault: str = "kill", slave: tuple[str, ...] = ()) -> H:
    """The fault ends, the node is back, and at the end these messages are on the master and on the slave."""
    history.start(node).fault(fault, node, "off")
    return history.audit(records={"master": list(held), "slave": list(slave)})


def read(history: H, node: str, *messages: str) -> H:
    history.add("invoke", node=node, op=900, f="pull")
    for message in messages:
        history.add("deliver", node=node, op=900, f="pull", message=message)
    return history


def test_where_acknowledged_messages_are_at_the_end_is_what_counts() -> None:
    kept = loss(back(away(sent("m0", "m1")), "m0", "m1", slave=("m0", "m1")))
    assert (kept.acknowledged, kept.lost, kept.slave_only, kept.master_only) == (2, 0, 0, 0)
    spread = loss(back(away(sent("m0", "m1", "m2")), "m0", slave=("m1",)))
    assert (spread.lost, spread.slave_only, spread.master_only) == (1, 1, 1)
    assert words(total([spread])) == "3 PUT_OK: 1 lost, 1 on a slave only, 1 on the master only"
    assert words(total([kept])) == ""


def test_other_answers_that_say_stored_are_counted_apart() -> None:
    history = sent("m0").put("m1").ok("m1", "SLAVE_NOT_AVAILABLE").put("m2").ok("m2", "FLUSH_SLAVE_TIMEOUT")
    found = loss(back(away(history), "m0", "m1"))
    assert (found.acknowledged, found.lost, found.other, found.other_lost) == (1, 0, 2, 1)


def test_what_retention_removed_is_not_lost_and_what_the_master_had_lost_before_is() -> None:
    history = away(sent("m0", "m1")).start("master").fault("kill", "master", "off")
    history.add("expire", node="master", lo=SIZE)
    assert (end(history, "m1").lost, end(history, "m1").removed) == (0, 1)
    history = away(sent("m0", "m1")).start("master", 0).fault("kill", "master", "off")
    history.add("expire", node="master", lo=SIZE)
    assert (end(history).lost, end(history).removed) == (2, 0)


def test_retention_of_either_broker_takes_nothing_and_power_afterwards_does() -> None:
    def played(*faults: tuple[str, str]) -> Loss:
        send = (Op("send", {"producer": 0, "size": 1_024, "wait": True, "queue": 0}), Op("advance", {"ms": 50}))
        ops = [*send * 20, *(Op("fault", {"name": name, "node": node}) for name, node in faults), *send * 20]
        trial = run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule({}, "r", tuple(ops)), laws=())
        seen = measure(trial.events)
        assert seen is not None
        return seen

    for nodes in (["master"], ["slave"], ["master", "slave"]):
        found = played(*(("retention", node) for node in nodes))
        assert (found.lost, found.slave_only, found.master_only, found.accepted) == (0, 0, 0, 20)
    assert found.removed == 20, "both deleted them"
    assert played(*(("power_loss", node) for node in ("master", "slave"))).lost


def test_a_log_that_begins_later_at_the_end_has_been_expired_unless_it_is_another_store() -> None:
    def ended(history: H) -> Loss:
        history.add("record", node="master", op=70, f="final", lo=SIZE, hi=2 * SIZE, message="m1", queue="t/0")
        return loss(history.add("audit", node="master", op=70, f="final", status="whole", lo=SIZE, hi=2 * SIZE))

    found = ended(away(sent("m0", "m1")).start("master").fault("kill", "master", "off"))
    assert (found.lost, found.removed) == (0, 1)
    replaced = away(sent("m0", "m1")).add("wipe", node="master", f="image", hi=2 * SIZE, detail="slave").start("master")
    assert ended(replaced.fault("kill", "master", "off")).lost == 1


def test_without_an_audit_of_the_master_nobody_knows_what_is_lost() -> None:
    found = loss(away(sent("m0")))
    assert (found.lost, found.slave_only, found.other_lost, outcome(found, "lost")) == (None, None, None, None)
    assert found.tried == 0


def test_sends_before_and_while_the_fault_lasts_and_what_readers_got() -> None:
    history = read(away(read(sent("m0", "m1", "m2"), "master", "m2"), "slave"), "slave", "m0", "m0", "m1")
    history.sent("m3").put("m4").ok("m4", "SLAVE_NOT_AVAILABLE").invoke("m5").over("m5", "info", "timeout")
    found = loss(read(back(history, node="slave"), "master", "m2").sent("m6"))
    assert (found.before, found.tried, found.accepted, found.accepted_other) == (3, 3, 1, 1)
    assert (found.readable, outcome(found, "unavailable"), outcome(found, "stored")) == (2, 1, 1)
    unread = loss(back(away(sent("m0"))))
    assert (unread.readable, outcome(unread, "unavailable")) == (None, None)


def test_unavailable_is_the_longest_row_of_sends_that_nobody_stored() -> None:
    history = away(sent("m0"))
    for number in range(3):
        history.after(500).invoke(f"x{number}").over(f"x{number}", "info", "timeout")
    found = loss(back(history.after(100)).after(100).sent("m9"))
    assert found.unavailable_ns == 1_000_000_000 and found.not_back == 0
    assert loss(away(sent("m0")).invoke("x")).not_back == 1


def test_what_another_master_took_is_kept_and_can_be_accepted_meanwhile() -> None:
    def other(history: H, message: str, op: int) -> H:
        call = {"node": "other", "op": op, "f": "send", "message": message}
        return history.add("invoke", **call).add("ok", **call, status="PUT_OK", lo=0, hi=100)

    found = loss(back(other(away(other(sent("m0"), "b0", 500)), "b1", 501)))
    assert (found.before, found.lost, found.tried, found.accepted) == (2, 1, 1, 1)


@pytest.mark.parametrize(
    ("fault", "place", "called"),
    [
        ("stall", "ha", ("partition", "link")),
        ("disconnect", "slave2", ("partition", "slave")),
        ("latency", "ha", ("slow link", "link")),
        ("disk_full", "master", ("full disk", "master")),
        ("read_only", "slave", ("read-only disk", "slave")),
        ("kill", "master", ("kill", "master")),
        ("promotion", "slave", ("promotion", "slave")),
        ("older_image", "slave", ("older image", "slave")),
    ],
)
def test_each_fault_has_a_class_and_what_it_is_at(fault: str, place: str, called: tuple[str, str]) -> None:
    history = sent("m0").fault(fault, place)
    history.put("m1").ok("m1").fault(fault, place, "off")
    found = end(history, "m0", "m0")
    assert (found.fault, found.of, found.acknowledged, found.lost) == (*called, 2, 1)


def test_every_class_is_one_of_a_fault_that_there_is() -> None:
    assert CALLED.keys() <= set(registry.names("faults"))


def test_both_at_once_is_a_class_and_one_after_the_other_is_not() -> None:
    history = away(away(sent("m0"), fault="power_loss"), "slave", "power_loss").start("master").start("slave")
    assert (end(history).fault, end(history).of) == ("power loss", "both")
    history = away(sent("m0")).start("master").fault("kill", "master", "off").after(1)
    history = away(history, "slave").start("slave").fault("kill", "slave", "off")
    assert (end(history).fault, end(history).of) == (SEVERAL, "")


def test_a_master_without_clients_and_slave_is_partitioned() -> None:
    history = sent("m0").fault("down", "ha").fault("down", "client-master")
    assert end(history)[:2] == ("partition", "master")


def test_a_fault_that_overlaps_the_one_that_took_a_broker_leaves_the_cause_open() -> None:
    assert end(away(sent("m0").fault("down", "ha"))).fault == SEVERAL
    history = sent("m0").fault("down", "ha").fault("down", "ha", "off").after(1)
    assert end(away(history)).fault == "kill"


def test_faults_without_effect_and_those_elsewhere_have_no_class() -> None:
    assert measure(sent("m0").audit().events) is None
    assert measure(sent("m0").fault("kill", "other").audit().events) is None
    history = sent("m0").fault("kill", "master")
    history.add("fault", op=sum(map(ord, "killmaster")), f="kill", status="off", node="master", value=0)
    assert measure(history.audit().events) is None


def test_the_mode_is_the_masters() -> None:
    assert loss(away(sent("m0", flushDiskType="SYNC_FLUSH"))).mode == "SYNC_MASTER SYNC_FLUSH"
    assert losses.mode({"master": {}}) == "ASYNC_MASTER ASYNC_FLUSH, no slave"
    assert losses.mode({"master": {"transientStorePoolEnable": True}}) == "ASYNC_MASTER ASYNC_FLUSH, pool, no slave"


# The corpus.


def corpus(role: str, flush: str, target_name: str = "reference", **more: str) -> dict[tuple[str, str], Loss]:
    target = resolve.target(target_name)
    assert isinstance(target, resolve.TakesConfiguration)
    typed = [f"brokerRole={role}", f"flushDiskType={flush}", *(f"{key}={value}" for key, value in more.items())]
    target = target.given(target.bring({}, typed)[0])
    lab, system = resolve.lab("sim"), resolve.system_of(target)
    found = {}
    for each in system.loss_programs(resolve.under(target, {})):
        trial = run_trial(lab, target, resolve.scheduled(target, each.schedule), laws=())
        assert not trial.skipped, each.name
        seen = system.loss(trial.events)
        assert seen is not None, each.name
        found[each.fault, each.of] = seen
    return found


def lossy(found: dict[tuple[str, str], Loss]) -> set[str]:
    return {f"{fault}, {of}" for (fault, of), each in found.items() if each.lost}


BOTH = {"disk lost or wiped, both"}


@pytest.mark.parametrize("target", ["reference", "rocketmq-4.9.7@model"])
def test_the_corpus_loses_what_each_deployment_may_lose(target: str) -> None:
    lag = {"disk lost or wiped, master", "promotion, slave"}
    reboot = {"read-only disk, both"}
    weakest = lossy(corpus("ASYNC_MASTER", "ASYNC_FLUSH", target))
    assert {"power loss, master", "power loss, both", *lag, *BOTH} <= weakest
    assert lossy(corpus("ASYNC_MASTER", "SYNC_FLUSH", target)) == {*lag, *BOTH}
    assert lossy(corpus("SYNC_MASTER", "ASYNC_FLUSH", target)) <= {"power loss, both", *reboot, *BOTH}
    assert lossy(corpus("SYNC_MASTER", "SYNC_FLUSH", target)) == BOTH, "the same programs lose nothing else"


def test_the_corpus_has_a_program_for_each_row_of_the_outlook() -> None:
    found = corpus("ASYNC_MASTER", "ASYNC_FLUSH")
    assert list(found) == list(outlook.classes())
    assert list(found)[-1] == ("disk lost or wiped", "both"), "listed last"
    wrong = {key: each[:2] for key, each in found.items() if each[:2] != key}
    assert wrong == {("full disk", "both"): ("full disk", "master")}, "a slave gets nothing of a full master"


def test_only_nodes_that_the_pair_has_are_in_the_corpus() -> None:
    alone = corpus("ASYNC_MASTER", "ASYNC_FLUSH", **{"lab.slaves": "0"})
    assert {of for _, of in alone} == {"master"}
    assert alone["power loss", "master"].lost and not alone["kill", "master"].lost


def test_with_two_slaves_both_are_all_of_them_and_the_lag_is_that_of_all() -> None:
    two = corpus("ASYNC_MASTER", "ASYNC_FLUSH", **{"lab.slaves": "2"})
    assert (
        two["power loss", "both"].lost and two["promotion", "slave"].lost and two["disk lost or wiped", "master"].lost
    )
    assert two["partition", "master"][:2] == ("partition", "master")


def test_what_a_program_loses_is_what_the_contract_lets_it_lose() -> None:
    for role, flush in outlook.MODES:
        versions = {"brokerRole": role, "flushDiskType": flush, "rocketmqVersion": "4.9.7"}
        prospect = outlook.Pair(versions, {"brokerRole": "SLAVE", "rocketmqVersion": "4.9.7"})
        for (fault, of), each in corpus(role, flush).items():
            assert not each.lost or outlook.may_lose(prospect, fault, of), (role, flush, fault, of)


# The table.


def trial(found: Loss | None, source: str = "", **more: object) -> Trial:
    made = Trial(0, NAME if source else "swarm", Schedule({}, "s", ()), [], [], source=source)
    return made._replace(measured=Measured(1, 0, None, (), loss=found), **more)  # type: ignore[arg-type]


def table(**impossible: str) -> Losses:
    programs = list(resolve.system("rocketmq").loss_programs({}))
    return Losses(programs, {key.replace("_", " ").replace("  ", ", "): why for key, why in impossible.items()})


def row(found: Losses, fault: str, of: str) -> dict[str, object]:
    return next(each for each in found.rows() if (each["fault"], each["of"]) == (fault, of))


SEEN = loss(back(away(sent("m0", "m1")), "m0", slave=("m0",)))


def test_each_class_says_what_was_lost_or_why_it_was_not_played() -> None:
    found = table(kill__both="not possible here: it requires that a node's process can be killed")
    assert len(found.missing) == len(found.classes) - 1, "one is not possible"
    found.take(trial(SEEN, "kill, master"))
    found.take(trial(SEEN))
    assert [row(found, "kill", "master")[name] for name in ("trials", "lost", "state")] == [2, 2, ""]
    assert row(found, "kill", "slave")["state"] == NOT_PLAYED
    assert row(found, "kill", "both")["state"] == "not possible here: it requires that a node's process can be killed"
    (minimum,) = found.minimums()
    assert (minimum.met, minimum.least, minimum.is_met) == (1, len(found.classes) - 1, False)


def test_a_class_that_was_refused_skipped_or_without_effect_is_not_cut_off() -> None:
    found = table()
    found.take(trial(None, "kill, master", refused="no such setting")._replace(measured=None))
    found.take(trial(None, "kill, slave", skipped=("disk_full: nobody would see it",)))
    found.take(trial(None, "kill, both"))
    found.take(trial(SEEN, "power loss, slave"))
    assert "no such setting" in str(row(found, "kill", "master")["state"])
    assert "nobody would see it" in str(row(found, "kill", "slave")["state"])
    assert row(found, "kill", "both")["state"] == "the fault had no effect"
    assert row(found, "power loss", "slave")["state"] == "counts as kill, master"
    assert not {("kill", "master"), ("kill", "slave"), ("kill", "both")} & set(found.missing)


def test_without_a_corpus_nothing_is_demanded_and_every_trial_counts() -> None:
    found = Losses()
    found.take(trial(SEEN))
    assert found.minimums() == [] and [each["lost"] for each in found.rows()] == [1]


# check.


def brought(*typed: str) -> list[str]:
    return [each for key in typed for each in ("--set", key)]


def test_check_plays_every_class_and_says_the_same_with_the_same_seed(tmp_path: Path) -> None:
    asked = [*brought("brokerRole=ASYNC_MASTER"), "--seed", "1", "--trials", "2", "--law", "log-grows"]
    told = []
    for name in ("a", "b"):
        assert main(["check", *asked, "--runs", str(tmp_path / name), "--json", str(tmp_path / f"{name}.json")]) == 0
        told.append(json.loads((tmp_path / f"{name}.json").read_text())["losses"])
    assert told[0] == told[1] and all(row["trials"] for row in told[0] if row["of"] != "both")
    lost = {row["fault"] for row in told[0] if row["corpus"] and row["lost"]}
    assert lost >= {"power loss", "promotion", "disk lost or wiped"}
    assert all(row["program"] for row in told[0] if row["corpus"] and row["lost"])


def test_a_class_that_the_time_limit_cut_off_makes_the_run_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*brought("brokerRole=ASYNC_MASTER"), "--time", "0.001s", "--jobs", "1", "--law", "log-grows"]
    assert main(["check", *asked, "--runs", str(tmp_path)]) == 3
    said = capsys.readouterr().out
    assert "not played" in said and f"coverage minimums missed: {PLAYED}: 1 of 18" in said
    (facts,) = tmp_path.glob("*/run.json")
    assert [row["state"] for row in json.loads(facts.read_text())["losses"] if row["corpus"]][1:] == [NOT_PLAYED] * 17
    assert recorded(facts.parent) == 3, "and so says whoever reads the run"
