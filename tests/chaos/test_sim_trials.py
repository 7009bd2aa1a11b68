"""Cluster trials in the simulated lab: how they go, that faults bite, and what the lab refuses."""

from __future__ import annotations

import json

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.search import sweep
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.trial import Trial

LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")
SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
BRIEFLY = Op("advance", {"ms": 2})


def execute(*ops: Op, **settings: str | int) -> Trial:
    return run_trial(LAB, REFERENCE, Schedule(settings, "trial", ops), laws=())


def fault(name: str, **args: str | int) -> Op:
    return Op("fault", {"name": name, **args})


def kinds(trial: Trial, kind: str, **wanted: object) -> list[Event]:
    return [
        event
        for event in trial.events
        if event.kind == kind and all(getattr(event, name) == value for name, value in wanted.items())
    ]


def statuses(trial: Trial) -> list[str | None]:
    """Of the sends between warm-up and the last probe."""
    return [event.status for event in trial.events if event.f == "send" and event.kind in ("ok", "fail", "info")][1:-1]


def test_healthy_trial_converges_with_equal_logs() -> None:
    trial = execute(SEND, SEND)
    assert [event.f for event in kinds(trial, "mark")] == ["warm", "heal", "probe", "converged", "end"]
    assert statuses(trial) == ["PUT_OK", "PUT_OK"]
    master, slave = kinds(trial, "audit", f="final")
    assert master.status == slave.status == "whole" and (master.lo, master.hi) == (slave.lo, slave.hi)
    assert [e.digest for e in kinds(trial, "record", node="master")] == [
        e.digest for e in kinds(trial, "record", node="slave")
    ]


@pytest.mark.parametrize(
    ("ops", "settings", "status"),
    [
        ((fault("down", link="ha"), BRIEFLY, SEND), {}, "SLAVE_NOT_AVAILABLE"),
        ((fault("stall", link="ha", direction="up"), SEND, Op("advance", {"ms": 3_200})), {}, "FLUSH_SLAVE_TIMEOUT"),
        ((fault("stall", link="ha", direction="down"), SEND, Op("advance", {"ms": 3_200})), {}, "FLUSH_SLAVE_TIMEOUT"),
        ((fault("down", link="ha"), BRIEFLY, SEND), {"brokerRole": "ASYNC_MASTER"}, "PUT_OK"),
        (
            (fault("disk_stall", node="master"), SEND, Op("advance", {"ms": 5_200})),
            {"flushDiskType": "SYNC_FLUSH"},
            "FLUSH_DISK_TIMEOUT",
        ),
        (
            (fault("latency", link="ha", direction="up", ms=3_500), SEND, Op("advance", {"ms": 8_000})),
            {},
            "FLUSH_SLAVE_TIMEOUT",
        ),
        ((fault("latency", link="ha", direction="up", ms=200), SEND, Op("advance", {"ms": 800})), {}, "PUT_OK"),
        ((fault("down", link="client-master"), BRIEFLY, SEND, BRIEFLY), {}, "refused"),
        ((SEND, Op("step", {"events": 2}), fault("kill", node="master"), BRIEFLY), {}, "disconnected"),
    ],
)
def test_each_status_comes_from_the_fault_that_should_cause_it(
    ops: tuple[Op, ...], settings: Args, status: str
) -> None:
    assert statuses(execute(*ops, **settings))[-1] == status  # type: ignore[arg-type]


def every_variant() -> list[Args]:
    # slow_close needs something else that closes: test_sim_toxics.
    faults = [each for each in resolve.drawn().values() if each.name != "slow_close"]
    every = [args for each in faults for args in sweep.variants(SYSTEM, each, SYSTEM.swept.modes[0])]
    # A slave of the reference asks its clock for nothing.
    every = [args for args in every if args["name"] != "clock_skew" or args["node"] == "master"]
    # 200 bytes of 8-byte reports would take 25 of them.
    return [
        args
        for args in every
        if not (
            args["name"] == "limit_data" and args["direction"] == "up" and args["link"] == "ha" and args["bytes"] == 200
        )
    ]


@pytest.mark.parametrize("args", every_variant(), ids=lambda args: "-".join(str(value) for value in args.values()))
def test_every_fault_bites_where_there_is_something_to_bite(args: Args) -> None:
    on_slave = "slave" in (args.get("node"), str(args.get("link")).rpartition("-")[2])
    pulls = [Op("pull", {"reader": 0, "node": "slave", "queue": 0})] if on_slave else []
    settings = {"flushDiskType": "SYNC_FLUSH"} if args["name"] == "disk_stall" else {}
    if args["name"] in ("down", "reset"):
        during = [SEND, *pulls, BRIEFLY, Op("fault", args)]
    else:
        during = [*pulls, BRIEFLY, SEND, Op("fault", args), SEND, *pulls]
    if args["name"] in ("disk_full", "retention"):
        # Both are about whole files.
        sends = [SEND, BRIEFLY] * 6
        during = [Op("fault", args), *sends] if args["name"] == "disk_full" else [*sends, Op("fault", args)]
    if args["name"] == "power_loss":
        during = [SEND, Op("advance", {"ms": 20}), Op("fault", args)]
    trial = execute(*during, Op("advance", {"ms": 12_000}), **settings)
    assert [outcome.name for outcome in trial.faults] == [args["name"]]
    assert trial.faults[0].bit > 0, trial.faults[0].effect


def test_fault_with_nothing_to_bite_says_so() -> None:
    trial = execute(fault("stall", link="client-slave"), BRIEFLY)
    assert trial.faults[0].bit == 0 and kinds(trial, "fault", status="off")[0].value == 0


def test_power_loss_loses_unflushed_bytes_and_recovery_says_where_it_cut() -> None:
    trial = execute(
        SEND, Op("advance", {"ms": 20}), fault("power_loss", node="master", keep="none"), Op("advance", {"ms": 50})
    )
    crash = kinds(trial, "crash", node="master")[0]
    cut = kinds(trial, "cut", node="master")[0]
    assert crash.value and cut.lo is not None and cut.hi is not None
    assert cut.hi - cut.lo == crash.value


def test_slave_that_is_ahead_after_the_masters_power_loss_is_refused_aloud() -> None:
    trial = execute(
        SEND, Op("advance", {"ms": 20}), fault("power_loss", node="master", keep="none"), Op("advance", {"ms": 20_000})
    )
    diverged = kinds(trial, "diverged")
    assert diverged and diverged[0].hi is not None and diverged[0].value is not None
    assert diverged[0].hi > diverged[0].value


@pytest.mark.parametrize("point", ["append", "flush", "send", "recv"])
@pytest.mark.parametrize("node", ["master", "slave"])
def test_trigger_fires_once_at_its_point(node: str, point: str) -> None:
    arm = Op("arm", {"node": node, "point": point, "nth": 2, "name": "kill"})
    trial = execute(arm, SEND, SEND, SEND, Op("advance", {"ms": 2_000}), flushDiskType="SYNC_FLUSH")
    assert len(kinds(trial, "crash", node=node)) == 1
    assert len(kinds(execute(SEND), "crash")) == 0


def test_crash_at_an_append_stops_the_node_right_there() -> None:
    arm = Op("arm", {"node": "slave", "point": "append", "nth": 1, "name": "kill"})
    trial = execute(arm, SEND, Op("advance", {"ms": 20}))
    crash = kinds(trial, "crash", node="slave")[0]
    before = trial.events[: crash.seq]
    assert next(e for e in reversed(before) if e.node == "slave" and e.kind != "fault").kind == "append"
    assert not [e for e in kinds(trial, "report", side="s") if e.t == crash.t]


@pytest.mark.parametrize("node", ["master", "slave"])
def test_clean_stop_loses_nothing_and_is_recovered_normally(node: str) -> None:
    trial = execute(SEND, Op("advance", {"ms": 20}), fault("restart", node=node), Op("advance", {"ms": 100}))
    assert len(kinds(trial, "stop", node=node)) == 1 and not kinds(trial, "crash") and not kinds(trial, "cut")
    assert kinds(trial, "start", node=node)[-1].f == "normal"
    killed = execute(SEND, Op("advance", {"ms": 20}), fault("kill", node=node), Op("advance", {"ms": 100}))
    assert kinds(killed, "start", node=node)[-1].f == "abnormal"


def test_flush_that_a_killed_process_began_makes_nothing_durable() -> None:
    kill = fault("kill", node="master")
    stalled = (fault("disk_stall", node="master"), SEND, Op("advance", {"ms": 20}), kill, BRIEFLY)
    after = (Op("heal", {"name": "disk_stall"}), BRIEFLY)
    trial = execute(*stalled, *after, flushDiskType="SYNC_FLUSH")
    crash = kinds(trial, "crash", node="master")[0]
    assert not [e for e in kinds(trial, "flush", node="master") if e.hi and e.hi > 230 and e.incarnation == 1]
    assert crash.incarnation == 1


def test_every_trial_ends_with_a_probe_that_was_answered() -> None:
    trial = execute(fault("power_loss", node="master", keep="none"), Op("advance", {"ms": 50}))
    probes = {e.op for e in kinds(trial, "mark", f="probe")}
    assert {e.status for e in kinds(trial, "ok") if e.op in probes} & {"PUT_OK", "SLAVE_NOT_AVAILABLE"}


@pytest.mark.parametrize("character", ["misplaced", "junk"])
def test_impostor_in_the_masters_place_is_seen_through(character: str) -> None:
    trial = execute(SEND, BRIEFLY, BRIEFLY, fault("rogue_master", character=character), Op("advance", {"ms": 30_000}))
    assert trial.faults[0].effect["seen_through"] >= 1
    assert kinds(trial, "mark", f="converged")


def test_history_counts_from_zero_without_gaps_and_time_never_goes_back() -> None:
    trial = execute(SEND, fault("kill", node="slave"), Op("advance", {"ms": 100}))
    assert [event.seq for event in trial.events] == list(range(len(trial.events)))
    assert all(a.t <= b.t for a, b in zip(trial.events, trial.events[1:], strict=False))
    assert all(isinstance(json.loads(e.detail or ""), dict) for e in trial.events if e.kind in ("config", "fault"))


@pytest.mark.parametrize(
    ("op", "complaint"),
    [
        (fault("earthquake"), "unknown fault 'earthquake'; valid: bandwidth"),
        (fault("down", link="moon"), "link cannot be 'moon'; valid: ha"),
        (fault("kill", node="nobody"), "node cannot be 'nobody'; valid: "),
        (fault("stall", direction="sideways"), "direction cannot be 'sideways'; valid: "),
        (Op("arm", {"node": "slave", "point": "lunch", "nth": 1, "name": "kill"}), "points: append, flush, send, recv"),
        (Op("pull", {"reader": 0, "node": "nobody", "queue": 0}), "not .nobody."),
        (Op("pull", {"reader": 0, "node": "slave3", "queue": 0}), "master or slave .lab.slaves., not .slave3."),
        (Op("arm", {"node": "slave2", "point": "append", "nth": 1, "name": "kill"}), "lab.slaves.: master, slave;"),
    ],
)
def test_what_does_not_exist_gets_one_clear_line(op: Op, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        execute(op)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"brokerRoll": "SYNC_MASTER"}, "unknown setting 'brokerRoll'"),
        ({"brokerRole": "KING"}, "brokerRole must be one of"),
        ({"lab.typo": 1}, "unknown setting 'lab.typo'; valid beside"),
        ({"lab.bufferBytes": 0}, "from 1 to"),
        ({"lab.latencyMicros": "soon"}, "whole number from 1"),
        ({"haTransferBatchSize": 0}, "must be positive"),
        ({"slaveTimeout": "soon"}, "whole number"),
        ({"mappedFileSizeCommitLog": 10}, "at least 512"),
        ({"mappedFileSizeCommitLog": 1 << 30}, "at most 67108864 where files are kept in memory"),
        ({"maxMessageSize": 99}, "at least 100, a probe's size"),
        ({"lab.bufferBytes": 2, "lab.latencyMicros": 50_000}, "let 19 bytes of the log pass in a second"),
        ({"lab.bufferBytes": 1, "haTransferBatchSize": 1}, "haTransferBatchSize=1 let 76 bytes"),
        ({"lab.bufferBytes": 7}, "takes no report of 8 bytes whole, .*: make it larger, or set haCutReports=waits"),
        ({"haCutReports": "never"}, "haCutReports must be one of closes, waits"),
        ({"lab.sendTimeoutMs": 0}, "from 1 to 600000"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: Args, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        execute(SEND, **settings)  # type: ignore[arg-type]
