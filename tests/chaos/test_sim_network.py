"""Simulated links: a bounded buffer, cuts and resets, dead machines, a stall, a limit; and TCP never reorders."""

from __future__ import annotations

import pytest
from talkers import Talker, World

from pairproof.harness.history import MS


def test_bytes_arrive_once_in_order_after_the_latency() -> None:
    world = World()
    world.say(b"one")
    world.say(b"two")
    world.run(1)
    assert world.server.heard == b"onetwo"


def test_sends_arrive_one_by_one_unless_the_network_gathers() -> None:
    world = World()
    world.say(b"one")
    world.say(b"two")
    world.run(1)
    assert world.server.pieces == [b"one", b"two"]


def test_what_is_sent_within_the_time_arrives_as_one_piece_when_that_is_over() -> None:
    world = World(gather=3 * MS)
    began = world.kernel.now
    world.say(b"one")
    world.run(3)
    world.say(b"two")
    world.run(1)
    world.say(b"three")
    world.hang_up()
    world.run(10)
    assert world.server.pieces == [b"onetwo", b"three"] and world.server.closed == 1
    assert world.arrivals(began) == [4, 8]


def test_gathering_at_one_moment_costs_no_time_and_keeps_directions_apart() -> None:
    world = World(gather=0)
    began = world.kernel.now
    world.say(b"one")
    world.answer(b"yes")
    world.say(b"two")
    world.kernel.run_until(began + 1)
    world.say(b"three")
    world.run(5)
    assert world.server.pieces == [b"onetwo", b"three"] and world.client.pieces == [b"yes"]
    assert world.server.times[0] == began + MS


def test_end_of_a_stream_follows_what_is_still_gathered() -> None:
    world = World(gather=5 * MS)
    world.say(b"last")
    world.hang_up()
    world.run(10)
    assert world.server.heard == b"last" and world.server.closed == 1


def test_stall_holds_everything_and_loses_nothing() -> None:
    world = World()
    toxic = world.add("up", "bandwidth", rate=0)
    world.say(b"held")
    world.run(60_000)
    assert world.server.heard == b"" and toxic.effect["bytes_held"] == 4
    world.network.remove_toxic(world.link, toxic)
    world.say(b" and later")
    world.run(10)
    assert world.server.heard == b"held and later"


def test_bytes_that_arrive_when_a_stall_ends_do_not_overtake() -> None:
    world = World()
    toxic = world.add("up", "bandwidth", rate=0)
    world.say(b"a")
    world.run(5)
    world.say(b"b")
    # Due at exactly the moment at which the stall ends.
    world.kernel.run_until(world.kernel.now + MS - 1)
    world.kernel.now += 1
    world.network.remove_toxic(world.link, toxic)
    world.run(5)
    assert world.server.heard == b"ab"


def test_stall_of_one_direction_leaves_the_other_alone() -> None:
    world = World()
    world.add("down", "bandwidth", rate=0)
    world.say(b"up")
    world.hosts["server"].send(world.server.conns[0], b"down")
    world.run(10)
    assert world.server.heard == b"up" and world.nodes["client"].heard == b""


def test_latency_delays_and_is_counted() -> None:
    world = World()
    toxic = world.add("up", "latency", latency=200)
    began = world.kernel.now
    world.say(b"late")
    world.run(300)
    assert world.server.times == [began + 201 * MS] and toxic.effect["bytes_delayed"] == 4


@pytest.mark.parametrize("limit", [0, 1, 7, 12])
def test_limit_data_passes_exactly_n_bytes_then_closes_both_ends(limit: int) -> None:
    world = World()
    toxic = world.add("up", "limit_data", bytes=limit)
    world.say(b"0123456")
    world.say(b"789012")
    world.run(10)
    assert world.server.heard == b"0123456789012"[:limit]
    assert world.server.closed == world.nodes["client"].closed == 1
    assert toxic.effect["connections_closed"] == 1


def test_new_connection_gets_the_limit_anew() -> None:
    world = World()
    world.add("up", "limit_data", bytes=2)
    world.say(b"abc")
    world.run(5)
    world.connect()
    world.say(b"def")
    world.run(5)
    assert world.server.heard == b"abde"


def test_cut_closes_orderly_and_refuses_until_it_is_mended() -> None:
    world = World()
    toxic = world.network.cut(world.link)
    world.run(5)
    assert world.server.closed == world.nodes["client"].closed == 1
    world.connect()
    assert world.nodes["client"].failed == 1 and toxic.effect["connections_refused"] == 1
    world.link.cuts.remove(toxic)
    world.connect()
    assert len(world.nodes["client"].conns) == 2


def test_reset_loses_what_is_on_the_way() -> None:
    world = World()
    world.say(b"lost")
    assert world.network.reset(world.nodes["client"].conns[0]) == 4
    world.run(5)
    assert world.server.heard == b"" and world.server.closed == 1


def test_full_buffer_takes_a_part_and_tells_when_there_is_room() -> None:
    world = World(buffer=10)
    assert world.say(b"0123456789abc") == 10
    assert world.say(b"x") == 0
    world.run(5)
    assert world.server.heard == b"0123456789" and world.nodes["client"].writable == 1


def test_killed_process_closes_its_connections() -> None:
    world = World()
    world.hosts["server"].kill()
    world.run(5)
    assert world.nodes["client"].closed == 1
    world.connect()
    assert world.nodes["client"].failed == 1


def test_dead_machine_is_silent_until_it_is_back_and_then_resets_old_connections() -> None:
    world = World()
    world.hosts["server"].lose_power("none")
    world.say(b"anybody there?")
    world.run(60_000)
    assert world.nodes["client"].closed == 0
    world.hosts["server"].start(lambda: Talker(world.hosts["server"]))
    world.say(b"hello?")
    world.run(5)
    assert world.nodes["client"].closed == 1


def test_nobody_is_at_an_address_that_no_link_leads_to() -> None:
    world = World()
    failed: list[str] = []
    world.client.on_connect_failed = failed.append  # type: ignore[method-assign]
    world.hosts["client"].connect("127.0.0.1:1")
    world.run(1)
    assert failed == ["127.0.0.1:1"]
    world.hosts["client"].connect("127.0.0.1:1")
    world.hosts["client"].kill()
    world.run(1)
    assert len(failed) == 1
