"""A pulled network cable: what waits, in which order it goes on, and what a connect hears."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from talkers import Talker, World

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.cable import Cable
from pairproof.chaos.labs.sim.host import CONNECT_TIMEOUT_NS, Host

ENDS = ["client", "server"]


def pull(world: World, name: str) -> ActiveFault:
    fault = ActiveFault()
    world.hosts[name].cable.pulled.append(fault)
    return fault


def plug_in(world: World, name: str, fault: ActiveFault) -> None:
    world.hosts[name].cable.plug_in(fault)


@pytest.mark.parametrize("name", ENDS)
def test_nothing_leaves_or_arrives_and_all_of_it_goes_on_in_order(name: str) -> None:
    world = World()
    world.say(b"on the way ")
    fault = pull(world, name)
    world.say(b"held ")
    world.answer(b"back")
    world.run(60_000)
    # What is under way arrives even if its sender has no cable any more.
    assert world.server.heard == (b"on the way " if name == "client" else b"") and world.client.heard == b""
    assert world.endings.how == {"server": [], "client": []}
    plug_in(world, name, fault)
    world.say(b"and new")
    world.run(10)
    assert world.server.heard == b"on the way held and new" and world.client.heard == b"back"


@pytest.mark.parametrize("name", ENDS)
def test_bytes_that_wait_fill_the_senders_buffer(name: str) -> None:
    world = World(buffer=10)
    fault = pull(world, name)
    assert (world.say(b"0123456"), world.say(b"789abc")) == (7, 3)
    world.run(1_000)
    plug_in(world, name, fault)
    world.run(5)
    assert world.server.heard == b"0123456789" and world.client.writable == 1 and fault.effect == {"bytes_held": 10}


@pytest.mark.parametrize(("name", "closes"), [("client", "server"), ("server", "server"), ("client", "client")])
def test_who_is_cut_off_does_not_learn_of_a_close_before(name: str, closes: str) -> None:
    world = World()
    other = next(each for each in ENDS if each != closes)
    fault = pull(world, name)
    world.say(b"last words")
    world.hang_up(closes)
    world.run(60_000)
    assert world.nodes[other].closed == 0
    plug_in(world, name, fault)
    world.run(5)
    assert world.nodes[other].closed == 1 and fault.effect["closes_delayed"] == 1


@pytest.mark.parametrize("cut", [True, False])
def test_a_link_that_is_cut_meanwhile_closes_at_once_for_the_one_who_hears_it(cut: bool) -> None:
    world = World()
    fault = pull(world, "client")
    for _ in range(2):
        if cut:
            assert world.network.cut(world.link).effect.get("connections_closed") in (1, None)
            world.link.cuts.pop()
        else:
            world.network.reset(world.client.conns[0])
    world.run(5)
    assert world.server.closed == 1 and world.client.closed == 0
    # It knows of nothing, and may well say something.
    assert world.say(b"hello?") == 6
    plug_in(world, "client", fault)
    world.run(5)
    assert world.client.closed == 1 and world.server.heard == b"" and world.link.ends == []


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_toxic_that_closes_reaches_only_the_one_who_hears_it(direction: str) -> None:
    world = World()
    fault = pull(world, "client")
    toxic = world.add(direction, "timeout", timeout=0)
    world.remove(toxic)
    world.run(5)
    assert world.client.closed == 0
    plug_in(world, "client", fault)
    world.run(5)
    assert world.client.closed == world.server.closed == 1


@pytest.mark.parametrize("name", ENDS)
def test_a_connect_is_not_answered_and_fails_when_its_time_is_up(name: str) -> None:
    world = World()
    fault = pull(world, name)
    began = world.kernel.now
    world.hosts["client"].connect("way")
    world.kernel.run_until(began + CONNECT_TIMEOUT_NS - 1)
    assert world.client.failed == 0 and fault.effect == {"connects_unanswered": 1}
    world.kernel.run_until(began + CONNECT_TIMEOUT_NS)
    assert world.client.failed == 1
    plug_in(world, name, fault)
    world.run(10_000)
    assert world.client.failed == 1 and len(world.client.conns) == 1


@pytest.mark.parametrize("name", ENDS)
def test_a_connect_succeeds_if_the_cable_is_back_in_time(name: str) -> None:
    world = World()
    fault = pull(world, name)
    world.hosts["client"].connect("way")
    world.run(4_000)
    plug_in(world, name, fault)
    world.run(10_000)
    assert world.client.failed == 0 and len(world.client.conns) == 2


def test_a_connect_that_waits_again_has_no_more_time_than_before() -> None:
    world = World()
    first, began = pull(world, "server"), world.kernel.now
    world.hosts["client"].connect("way")
    world.run(4_000)
    plug_in(world, "server", first)
    second = pull(world, "client")
    world.kernel.run_until(began + CONNECT_TIMEOUT_NS)
    assert world.client.failed == 1 and second.effect == {"connects_unanswered": 1}


def test_a_proxy_that_refuses_does_so_for_a_server_without_its_cable_and_not_for_who_cannot_reach_it() -> None:
    world = World()
    world.network.cut(world.link)
    fault = pull(world, "server")
    world.connect()
    assert world.client.failed == 1 and "connects_unanswered" not in fault.effect
    pull(world, "client")
    world.connect()
    assert world.client.failed == 1


def test_a_server_whose_process_is_gone_does_not_refuse_without_its_cable() -> None:
    world = World()
    fault = pull(world, "server")
    world.hosts["server"].kill()
    world.connect()
    assert world.client.failed == 0 and world.client.closed == 0
    plug_in(world, "server", fault)
    world.run(5)
    assert world.client.failed == 1 and world.client.closed == 1


def test_a_machine_that_loses_power_loses_what_it_had_not_sent() -> None:
    world = World()
    fault = pull(world, "client")
    world.say(b"lost")
    world.answer(b"for nobody")
    world.hosts["client"].lose_power("none")
    world.hosts["client"].start(lambda: Talker(world.hosts["client"]))
    plug_in(world, "client", fault)
    world.run(5)
    # The machine that is back knows nothing of that connection and resets it.
    assert world.server.heard == b"" and world.server.closed == 1


def test_it_comes_back_only_when_nothing_else_keeps_the_cable_out() -> None:
    world = World()
    first, second = pull(world, "server"), pull(world, "server")
    world.say(b"held")
    world.run(5)
    plug_in(world, "server", first)
    world.run(5)
    assert world.server.heard == b"" and first.effect == second.effect == {"bytes_held": 4}
    plug_in(world, "server", second)
    world.run(5)
    assert world.server.heard == b"held"


def test_what_is_pulled_again_by_the_first_that_goes_on_keeps_the_rest() -> None:
    cable, again = Cable(), ActiveFault()
    went: list[int] = []

    def go(number: int) -> None:
        went.append(number)
        if number == 1:
            cable.pulled.append(again)

    first = ActiveFault()
    cable.pulled.append(first)
    for number in (1, 2):
        cable.keep_incoming(b"x", go, number)
    cable.plug_in(first)
    assert went == [1]
    cable.plug_in(again)
    assert went == [1, 2]


def test_a_paused_process_hears_it_when_it_goes_on() -> None:
    world = World()
    fault, pause = pull(world, "server"), ActiveFault()
    world.say(b"twice held")
    world.run(5)
    world.hosts["server"].pauses.append(pause)
    plug_in(world, "server", fault)
    world.run(5)
    assert world.server.heard == b""
    world.hosts["server"].pauses.remove(pause)
    world.hosts["server"].resume()
    assert world.server.heard == b"twice held"


@pytest.mark.parametrize("closes", [False, True])
def test_what_has_reached_a_paused_process_is_not_overtaken_when_its_cable_is_pulled(closes: bool) -> None:
    """It is in the socket already: the next pulled cable must not put it behind what came after it."""
    world = World()
    host, pause = world.hosts["server"], ActiveFault()
    host.pauses.append(pause)
    world.say(b"first ")
    world.run(5)
    fault = pull(world, "server")
    world.say(b"second")
    if closes:
        world.hang_up()
    world.run(5)
    host.pauses.remove(pause)
    host.resume()
    world.run(5)
    assert (world.server.heard, world.server.closed) == (b"first ", 0)
    plug_in(world, "server", fault)
    world.run(5)
    assert (world.server.heard, world.server.closed) == (b"first second", int(closes))


def test_a_close_that_has_reached_a_paused_process_is_not_delayed_by_its_cable() -> None:
    world = World()
    host, pause = world.hosts["server"], ActiveFault()
    host.pauses.append(pause)
    world.say(b"bye")
    world.hang_up()
    world.run(5)
    fault = pull(world, "server")
    host.pauses.remove(pause)
    host.resume()
    world.run(5)
    assert (world.server.heard, world.server.closed, fault.effect) == (b"bye", 1, {})


HOLDING = ("cable client", "cable server", "pause client", "pause server", "latency", "slicer", "bandwidth", "stall")
"""Troubles that hold bytes back and lose none."""


class Held:
    """Troubles of :data:`HOLDING` that go on, each ended by its own function."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ends: list[Callable[[], None]] = []

    def begin(self, what: str, up: bool) -> None:
        kind, _, name = what.partition(" ")
        direction = "up" if up else "down"
        if kind == "cable":
            self.ends.append(partial(plug_in, self.world, name, pull(self.world, name)))
        elif kind == "pause":
            self.ends.append(partial(self._resume, self.world.hosts[name], self._pause(self.world.hosts[name])))
        else:
            toxic = {
                "latency": lambda: self.world.add(direction, "latency", latency=7, jitter=7),
                "slicer": lambda: self.world.add(direction, "slicer", average_size=2, size_variation=1, delay=900),
                "bandwidth": lambda: self.world.add(direction, "bandwidth", rate=1),
                "stall": lambda: self.world.add(direction, "bandwidth", rate=0),
            }[kind]()
            self.ends.append(partial(self.world.remove, toxic))

    @staticmethod
    def _pause(host: Host) -> ActiveFault:
        host.pauses.append(fault := ActiveFault())
        return fault

    @staticmethod
    def _resume(host: Host, fault: ActiveFault) -> None:
        host.pauses.remove(fault)
        host.resume()


@given(st.integers(min_value=0, max_value=2**32), st.sampled_from((7, 1_000)))
@hypothesis.settings(max_examples=300, derandomize=True)
def test_whatever_overlaps_streams_stay_in_order_and_whole(seed: int, buffer: int) -> None:
    """Any troubles that only hold bytes back, also two of a kind, ended in any order."""
    dice, world = Random(seed), World(buffer)
    held, said, answered = Held(world), b"", b""
    for number in range(30):
        piece = bytes([number]) * dice.randint(1, 6)
        do = dice.choice(("say", "say", "answer", "run", "begin", "begin", "end"))
        if do == "say":
            said += piece[: world.say(piece)]
        elif do == "answer":
            answered += piece[: world.answer(piece)]
        elif do == "run":
            world.run(dice.choice((0, 1, 2, 9)))
        elif do == "begin":
            held.begin(dice.choice(HOLDING), dice.random() < 0.5)
        elif held.ends:
            held.ends.pop(dice.randrange(len(held.ends)))()
    for end in dice.sample(held.ends, len(held.ends)):
        end()
        world.run(dice.choice((0, 1, 3)))
    world.run(1_000)
    assert (world.server.heard, world.client.heard) == (said, answered)
    assert all(end.in_flight == 0 for end in (world.server.conns[0], world.client.conns[0]))
