"""A half-open connection in the simulation: one end hears that it is over, the other believes in it."""

from __future__ import annotations

from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})
HEAL = Op("heal", {"name": "half_open"})


def severed(keeps: str, *then: Op) -> Trial:
    begin = Op("fault", {"name": "half_open", "link": "ha", "keeps": keeps})
    ops = (SEND, advance(1_000), begin, *then)
    return run_trial(resolve.lab("sim"), TARGET, Schedule({"brokerRole": "SYNC_MASTER"}, "trial", ops))


def advance(ms: int) -> Op:
    return Op("advance", {"ms": ms})


def told(trial: Trial) -> list[str | None]:
    """What the sends of its program were answered, in order; those before and after it are the session's."""
    return [each.status for each in trial.events if each.kind == "ok" and each.f == "send"][1:-1]


def closed_by(trial: Trial, node: str) -> list[int]:
    """When this node heard that a connection between the brokers is over, ms."""
    found = [e for e in trial.events if e.kind == "close" and e.node == node and (e.link or "").startswith("ha:")]
    return [each.t // 1_000_000 for each in found]


def holds(trial: Trial) -> bool:
    return not [each.law for each in trial.judgements if str(each.verdict) in ("violated", "unknown")]


def test_a_slave_comes_back_while_its_master_still_has_the_old_connection() -> None:
    trial = severed("server", advance(6_000), SEND, advance(1_000), HEAL, advance(1_000), SEND, advance(1_000))
    assert told(trial) == ["PUT_OK"] * 3 and holds(trial)
    connects = [each for each in trial.events if each.kind == "connect" and each.side == "m"]
    on, off = [each.t // 1_000_000 for each in trial.events if each.kind == "fault" and each.f == "half_open"]
    assert len(connects) == 2 and [on] == closed_by(trial, "slave")[:1]
    assert not [at for at in closed_by(trial, "master") if at < off] and off in closed_by(trial, "master")


def test_a_slave_that_still_believes_hears_nothing_until_it_gives_the_master_up() -> None:
    trial = severed("client", SEND, advance(30_000), SEND, advance(1_000), HEAL)
    assert told(trial) == ["PUT_OK", "SLAVE_NOT_AVAILABLE", "PUT_OK"] and holds(trial)
    (waited, *_) = closed_by(trial, "master")
    assert waited < min(closed_by(trial, "slave"), default=0)


def test_what_is_sent_to_the_end_that_is_gone_goes_nowhere_and_is_counted() -> None:
    trial = severed("server", SEND, advance(100), HEAL)
    (off,) = [each for each in trial.events if each.kind == "fault" and each.f == "half_open" and each.status == "off"]
    assert '"connections_severed": 1' in str(off.detail) and '"bytes_swallowed"' in str(off.detail)
    again = severed("server", HEAL)
    assert not [each for each in again.events if each.kind == "fault" and "bytes_swallowed" in str(each.detail)]
