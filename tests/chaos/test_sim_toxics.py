"""Every toxic does to a simulated connection what toxiproxy 2.12.0 was measured to do to a real one (decision 0015)."""

from __future__ import annotations

from random import Random

import pytest
from talkers import World

from pairproof.chaos.labs.sim.toxics import pieces
from pairproof.harness.history import MS

# latency and jitter


def test_latency_counts_from_when_the_proxy_read_it_and_chunks_do_not_wait_for_each_other() -> None:
    world = World()
    world.add("up", "latency", latency=300)
    began = world.kernel.now
    for _ in range(4):
        world.say(b"z")
        world.run(100)
    world.run(300)
    assert world.arrivals(began) == [301, 401, 501, 601]


def test_latency_does_not_delay_the_end_of_a_connection_that_has_nothing_before_it() -> None:
    world = World()
    world.add("up", "latency", latency=300)
    world.hang_up()
    world.run(2)
    assert world.endings.how["server"] == ["peer"]


def test_end_of_a_connection_waits_behind_delayed_bytes() -> None:
    world = World()
    world.add("up", "latency", latency=300)
    world.say(b"hi")
    world.hang_up()
    world.run(300)
    assert world.server.closed == 0
    world.run(2)
    assert world.server.heard == b"hi" and world.server.closed == 1


def test_latency_that_is_taken_off_delivers_at_once() -> None:
    world = World()
    toxic = world.add("up", "latency", latency=300)
    world.say(b"zz")
    world.run(50)
    world.remove(toxic)
    world.run(0)
    assert world.server.heard == b"zz"


def test_two_latencies_add_up() -> None:
    world = World()
    for _ in range(2):
        world.add("up", "latency", latency=200)
    began = world.kernel.now
    world.say(b"z")
    world.run(500)
    assert world.arrivals(began) == [401]


def test_latency_swallows_what_no_longer_fills_the_senders_socket_up_to_its_bound() -> None:
    world = World(buffer=10)
    world.add("up", "latency", latency=3_600_000)
    taken = 0
    for _ in range(2_000):
        taken += world.say(b"0123456789")
        world.run(2)
    # One in the toxic's hand, 1024 in its channel, one in the socket.
    assert taken == 10 * (1 + 1_024 + 1)
    assert world.server.heard == b""


def test_jitter_varies_the_delay_within_its_bounds_and_keeps_the_order() -> None:
    def delays(seed_moves: int) -> list[float]:
        world = World()
        toxic = world.add("up", "latency", latency=100, jitter=90)
        toxic.dice = Random(f"jitter/{seed_moves}")
        found = []
        for _ in range(20):
            began = world.kernel.now
            world.say(b"z")
            world.run(200)
            found.append(world.arrivals(began)[-1])
        for number in range(20):
            world.say(bytes([number]))
        world.run(200)
        assert world.server.heard.endswith(bytes(range(20)))
        return found

    one, other = delays(1), delays(2)
    assert all(11 <= each <= 191 for each in one) and len(set(one)) > 10
    assert one == delays(1) != other


# bandwidth


@pytest.mark.parametrize(
    ("rate", "size", "arrivals"), [(1, 250, [101, 201, 251]), (1, 40, [41]), (20, 1_000, [51]), (1_000, 500, [1.5])]
)
def test_bandwidth_lets_so_many_bytes_pass_in_a_millisecond(rate: int, size: int, arrivals: list[float]) -> None:
    world = World()
    toxic = world.add("up", "bandwidth", rate=rate)
    began = world.kernel.now
    world.say(bytes(size))
    world.run(400)
    assert world.arrivals(began) == arrivals and toxic.effect == {"bytes_held": size}


def test_bandwidth_lets_the_next_bytes_wait_for_their_own_time_only() -> None:
    world = World()
    world.add("up", "bandwidth", rate=1)
    began = world.kernel.now
    world.say(bytes(40))
    world.say(bytes(40))
    world.run(400)
    assert world.arrivals(began) == [41, 81]


def test_bandwidth_makes_the_sender_wait() -> None:
    world = World(buffer=100)
    world.add("up", "bandwidth", rate=1)
    assert world.say(bytes(250)) == 100
    world.run(50)
    assert world.say(b"x") == 0 and world.client.writable == 0
    world.run(60)
    assert world.client.writable == 1 and world.say(b"x") == 1


def test_stall_holds_the_end_of_a_connection_only_behind_bytes() -> None:
    world = World()
    toxic = world.add("up", "bandwidth", rate=0)
    world.say(b"data")
    world.hang_up()
    world.run(1_000)
    assert world.server.closed == 0
    world.remove(toxic)
    world.run(0)
    assert world.server.heard == b"data" and world.server.closed == 1
    bare = World()
    bare.add("up", "bandwidth", rate=0)
    bare.hang_up()
    bare.run(2)
    assert bare.server.closed == 1


def test_stall_counts_what_stands_before_it_too() -> None:
    world = World()
    toxic = world.add("up", "bandwidth", rate=0)
    world.say(b"one")
    world.say(b"two")
    world.run(5)
    world.remove(toxic)
    assert toxic.effect == {"bytes_held": 6}


# slicer


@pytest.mark.parametrize(("average", "variation"), [(1, 0), (5, 2), (10, 3), (100, 50)])
def test_pieces_are_all_there_and_about_the_average(average: int, variation: int) -> None:
    found = pieces(1_000, average, variation, Random("pieces"))
    assert sum(found) == 1_000 and len(found) > 1
    assert all(0 < each <= average + variation for each in found)


def test_slicer_delivers_pieces_one_after_the_other() -> None:
    world = World()
    toxic = world.add("up", "slicer", average_size=10, size_variation=3, delay=20_000)
    began = world.kernel.now
    world.say(bytes(range(60)))
    world.run(300)
    assert world.server.heard == bytes(range(60))
    assert world.arrivals(began) == [1 + 20 * number for number in range(toxic.effect["pieces"])]


def test_slicer_that_is_taken_off_delivers_the_rest_at_once_and_one_that_cut_nothing_never_bit() -> None:
    world = World()
    toxic = world.add("up", "slicer", average_size=10, delay=20_000)
    world.say(b"short")
    world.run(100)
    assert world.server.heard == b"short" and toxic.effect == {}
    world.say(bytes(range(60)))
    world.run(30)
    world.remove(toxic)
    world.run(0)
    assert world.server.heard == b"short" + bytes(range(60))


# limit_data


def test_limit_counts_from_when_it_met_the_connection() -> None:
    world = World()
    world.say(b"before")
    world.run(5)
    toxic = world.add("up", "limit_data", bytes=7)
    world.say(b"abc")
    world.say(b"defghijklm")
    world.run(5)
    assert world.server.heard == b"beforeabcdefg" and world.endings.how == {"server": ["peer"], "client": ["peer"]}
    assert toxic.effect == {"bytes_lost": 6, "connections_closed": 1}


def test_limit_that_is_not_reached_never_bit() -> None:
    world = World()
    toxic = world.add("up", "limit_data", bytes=7)
    world.say(b"abc")
    world.run(5)
    world.remove(toxic)
    world.say(b"defghijkl")
    world.run(5)
    assert world.server.heard == b"abcdefghijkl" and toxic.effect == {}


# timeout


def test_timeout_zero_drops_and_closes_when_it_is_taken_off() -> None:
    world = World()
    toxic = world.add("up", "timeout", timeout=0)
    world.say(b"12345")
    world.run(60_000)
    assert world.server.heard == b"" and world.server.closed == 0
    world.remove(toxic)
    assert toxic.effect == {"bytes_lost": 5, "connections_closed": 1}
    world.run(0)
    assert world.endings.how == {"server": ["peer"], "client": ["peer"]}


def test_timeout_closes_after_silence_which_every_byte_interrupts() -> None:
    world = World()
    toxic = world.add("up", "timeout", timeout=300)
    began = world.kernel.now
    for _ in range(5):
        world.run(200)
        world.say(b"z")
    world.run(300)
    assert world.server.closed == 0
    world.run(2)
    assert world.server.closed == 1 and world.kernel.now - began == 1_302 * MS
    assert world.server.heard == b"" and toxic.effect == {"bytes_lost": 5, "connections_closed": 1}


def test_timeout_that_has_closed_a_connection_closes_it_once() -> None:
    world = World()
    toxic = world.add("up", "timeout", timeout=300)
    world.add("down", "slow_close", delay=60_000)
    world.run(400)
    assert world.endings.how == {"server": ["peer"], "client": []}
    world.remove(toxic)
    assert toxic.effect == {"connections_closed": 1}


def test_timeout_of_one_direction_leaves_the_other_alone() -> None:
    world = World()
    world.add("up", "timeout", timeout=0)
    world.answer(b"down")
    world.run(5)
    assert world.client.heard == b"down"


# reset_peer


def test_reset_peer_resets_a_new_connection_after_its_first_bytes() -> None:
    world = World()
    toxic = world.add("up", "reset_peer", timeout=300)
    world.connect()
    world.run(1_000)
    assert world.server.closed == 0
    world.say(b"12345")
    world.run(300)
    assert world.server.closed == 0
    world.run(2)
    assert world.endings.how == {"server": ["reset"], "client": ["reset"]} and world.server.heard == b""
    assert toxic.effect == {"bytes_lost": 5, "connections_reset": 1}


def test_reset_peer_ends_a_connection_that_was_there_before_with_fin() -> None:
    world = World()
    toxic = world.add("up", "reset_peer", timeout=0)
    world.say(b"12345")
    world.run(5)
    assert world.endings.how == {"server": ["peer"], "client": ["peer"]}
    assert toxic.effect == {"bytes_lost": 5, "connections_closed": 1}


@pytest.mark.parametrize("toxic_stays", [True, False])
@pytest.mark.parametrize("end", ["hang up", "cut"])
def test_connection_opened_under_reset_peer_ends_with_rst_whatever_ends_it(end: str, toxic_stays: bool) -> None:
    world = World()
    world.hang_up()
    toxic = world.add("up", "reset_peer", timeout=0)
    world.connect()
    if not toxic_stays:
        world.remove(toxic)
    if end == "cut":
        world.network.cut(world.link)
    else:
        world.hang_up()
    world.run(5)
    assert world.endings.how["server"] == ["peer", "reset"]


def test_reset_peer_that_has_seen_bytes_can_no_longer_be_called_off() -> None:
    world = World()
    toxic = world.add("up", "reset_peer", timeout=300)
    world.say(b"12345")
    world.run(100)
    world.remove(toxic)
    world.run(200)
    assert world.server.closed == 0
    world.run(2)
    assert world.server.closed == 1


# slow_close


def test_slow_close_delays_the_end_and_nothing_else() -> None:
    world = World()
    toxic = world.add("up", "slow_close", delay=400)
    world.say(b"hi")
    world.hang_up()
    world.run(400)
    assert world.server.heard == b"hi" and world.server.closed == 0
    world.run(2)
    assert world.server.closed == 1 and toxic.effect == {"closes_delayed": 1}


def test_slow_close_that_is_taken_off_lets_the_end_pass_at_once() -> None:
    world = World()
    toxic = world.add("up", "slow_close", delay=60_000)
    world.hang_up()
    world.run(200)
    world.remove(toxic)
    world.run(0)
    assert world.server.closed == 1


def test_slow_close_up_does_not_delay_what_the_server_ends() -> None:
    world = World()
    world.add("up", "slow_close", delay=60_000)
    world.hang_up("server")
    world.run(2)
    assert world.endings.how["client"] == ["peer"]
