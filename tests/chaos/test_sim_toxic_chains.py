"""Toxics one behind the other, their coming and going, and cluster trials under them."""

from __future__ import annotations

from random import Random

import pytest
from talkers import World

from pairproof.chaos.labs.sim.toxics import KINDS, Toxic
from pairproof.harness.errors import LabError, UsageError
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Trial

SEND = Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0})


def execute(*ops: Op, **settings: str | int) -> Trial:
    return run_trial(resolve.lab("sim"), resolve.target("reference"), Schedule(settings, "trial", ops), laws=())


def fault(name: str, **args: str | int) -> Op:
    return Op("fault", {"name": name, **args})


def test_toxics_act_in_the_order_added() -> None:
    world = World()
    limit = world.add("up", "limit_data", bytes=3)
    lost = world.add("up", "timeout", timeout=0)
    world.say(b"12345")
    world.run(5)
    assert limit.effect["bytes_lost"] == 2 and lost.effect["bytes_lost"] == 3
    other = World()
    lost, limit = other.add("up", "timeout", timeout=0), other.add("up", "limit_data", bytes=3)
    other.say(b"12345")
    other.run(5)
    assert lost.effect["bytes_lost"] == 5 and limit.effect == {}


def test_what_a_removed_toxic_held_goes_through_those_behind_it() -> None:
    world = World()
    stall = world.add("up", "bandwidth", rate=0)
    world.add("up", "latency", latency=300)
    began = world.kernel.now
    world.say(b"ab")
    world.run(101)
    world.remove(stall)
    world.run(300)
    # Since it was read, not since the stall ended: measured.
    assert world.arrivals(began) == [301]


def test_limit_data_that_has_cut_bytes_off_closes_even_if_it_is_taken_off_before_the_rest_is_through() -> None:
    world = World()
    limit = world.add("up", "limit_data", bytes=6)
    slicer = world.add("up", "slicer", average_size=2, delay=10_000)
    world.say(b"0123456789")
    world.run(12)
    for toxic in (limit, slicer):
        world.remove(toxic)
    world.run(50)
    world.say(b"more")
    world.run(50)
    # A stream with a hole in it that goes on would be no stream.
    assert world.server.heard == b"012345" and world.server.closed == 1


def test_full_toxic_makes_the_ones_before_it_wait() -> None:
    world = World(buffer=10_000)
    before = world.add("up", "slicer", average_size=1)
    stall = world.add("up", "bandwidth", rate=0)
    world.say(b"0123456789")
    world.run(50)
    assert stall.effect["bytes_held"] == 1
    world.remove(stall)
    world.run(0)
    assert world.server.heard == b"0123456789" and before.effect["pieces"] == 10


@pytest.mark.parametrize("seed", range(40))
def test_toxics_that_lose_nothing_lose_nothing_however_they_come_and_go(seed: int) -> None:
    dice = Random(f"chain/{seed}")
    world = World(buffer=dice.choice((3, 50, 1_000)))
    on: list[Toxic] = []
    sent = b""
    for _ in range(60):
        move = dice.random()
        if move < 0.25:
            kind = dice.choice(("latency", "bandwidth", "slicer", "slow_close"))
            size = dice.choice((1, 4))
            on.append(
                world.add("up", kind, latency=20, jitter=30, rate=dice.choice((0, 1)), average_size=size, delay=9)
            )
        elif move < 0.45 and on:
            world.remove(on.pop(dice.randrange(len(on))))
        else:
            data = bytes((len(sent) + each) % 251 for each in range(dice.randrange(1, 40)))
            sent += data[: world.say(data)]
        if dice.random() < 0.6:
            world.run(dice.choice((1, 3, 120)))
    ends = world.client.conns[0]
    world.hang_up()
    for toxic in on:
        world.remove(toxic)
        world.run(dice.choice((0, 2)))
    world.run(5)
    assert world.server.heard == sent and world.server.closed == 1
    assert ends.in_flight == 0 and (ends.pipe is None or ends.pipe.swallowed == 0)


def test_connection_whose_toxics_are_gone_pays_for_none() -> None:
    world = World()
    for toxic in [world.add("up", "latency", latency=100), world.add("up", "bandwidth", rate=0)]:
        world.say(b"late")
        world.run(2)
        world.remove(toxic)
    assert world.client.conns[0].pipe is not None
    world.run(0)
    assert world.client.conns[0].pipe is None and world.server.heard == b"latelate"


def test_machine_that_loses_power_loses_what_the_proxy_had_not_read() -> None:
    world = World()
    toxic = world.add("up", "bandwidth", rate=0)
    world.say(b"read")
    world.say(b"in the socket")
    world.run(5)
    world.hosts["client"].lose_power("none")
    world.remove(toxic)
    world.run(5)
    assert world.server.heard == b"read" and world.server.closed == 0


@pytest.mark.parametrize(("waits", "heard"), [(b"in the socket", b"read"), (b"", b"readunder way")])
def test_bytes_under_way_do_not_overtake_lost_ones(waits: bytes, heard: bytes) -> None:
    world = World()
    toxic = world.add("up", "bandwidth", rate=0)
    world.say(b"read")
    world.run(5)
    if waits:
        world.say(waits)
        world.run(5)
    world.say(b"under way")
    world.hosts["client"].lose_power("none")
    world.run(5)
    world.remove(toxic)
    world.run(5)
    assert world.server.heard == heard


def test_reset_and_cut_count_what_a_toxic_had_swallowed() -> None:
    for end_it in ("reset", "cut"):
        world = World()
        world.add("up", "latency", latency=1_000)
        world.say(b"lost")
        world.run(10)
        if end_it == "reset":
            assert world.network.reset(world.client.conns[0]) == 4
        else:
            assert world.network.cut(world.link).effect["bytes_lost"] == 4
        world.run(2_000)
        assert world.server.heard == b""
        assert world.endings.how["server"] == ["reset" if end_it == "reset" else "peer"]


@pytest.mark.parametrize("toxic", sorted(KINDS))
def test_toxic_that_touched_nothing_has_no_effect(toxic: str) -> None:
    world = World()
    found = world.add("up", toxic, average_size=1, timeout=0)
    world.answer(b"the other way")
    world.run(60_000)
    effect = dict(found.effect)
    world.remove(found)
    assert effect == {} and world.client.heard == b"the other way"


# The lab


@pytest.mark.parametrize(("direction", "other"), [("up", "down"), ("down", "up")])
@pytest.mark.parametrize("link", ["ha", "client-master"])
def test_slow_close_bites_where_something_closes(link: str, direction: str, other: str) -> None:
    slow = fault("slow_close", link=link, direction=direction, ms=3_500)
    closing = fault("limit_data", link=link, direction=other, bytes=0)
    trial = execute(slow, closing, SEND, Op("advance", {"ms": 12_000}))
    assert trial.faults[0].effect["closes_delayed"] > 0
    assert execute(slow, SEND, Op("advance", {"ms": 1_000})).faults[0].bit == 0


@pytest.mark.parametrize("toxic", ["jitter", "slicer"])
def test_same_seed_same_draws(toxic: str) -> None:
    ops = (fault(toxic), SEND, SEND, Op("advance", {"ms": 5_000}))
    assert execute(*ops).events == execute(*ops).events


def test_reset_is_recorded_as_such_and_a_cut_is_not() -> None:
    def endings(name: str) -> set[str | None]:
        trial = execute(fault(name, link="ha"), Op("advance", {"ms": 50}))
        return {event.f for event in trial.events if event.kind == "close"}

    assert endings("reset") == {"reset"} and endings("down") == {"peer"}


@pytest.mark.parametrize("buffer", [1, 7, 11, 13])
def test_pair_converges_through_the_smallest_socket_buffers(buffer: int) -> None:
    settings: dict[str, str | int] = {"lab.bufferBytes": buffer, "haCutReports": "waits"}
    trial = execute(SEND, Op("pull", {"reader": 0, "node": "slave", "queue": 0}), SEND, **settings)
    assert [e.f for e in trial.events if e.kind == "mark"] == ["warm", "heal", "probe", "converged", "end"]
    assert {e.status for e in trial.events if e.kind == "ok"} == {"PUT_OK"}


def test_what_no_toxic_can_be_gets_one_clear_line() -> None:
    with pytest.raises(UsageError, match="a piece has at least 1 byte; use bytes=1 or more"):
        execute(fault("slicer", bytes=0))
    session = resolve.lab("sim").open(resolve.target("reference"), resolve.target("reference").settings({}), "toxics")
    with pytest.raises(LabError, match="unknown toxic 'sugar'; valid: bandwidth, latency"):
        session.on_links.add_toxic("ha", "up", "sugar", {})  # type: ignore[attr-defined]
