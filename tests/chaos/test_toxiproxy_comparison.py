"""The simulated toxics do to a connection what those of a real toxiproxy-server do (decision 15), play by play."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from toxic_plays import DIFFERENT, FIN, PLAYS, RST, Different, Heard, Outcome, Play, differences, give
from toxic_stages import RealContext, SimContext
from toxiproxies import Server, running

every_play = pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)


def simulated(play: Play) -> Outcome:
    return asyncio.run(give(play, SimContext()))


def real(server: Server, *plays: Play) -> list[Outcome]:
    """All at once, each through a proxy of its own."""

    async def one(number: int, play: Play) -> Outcome:
        async with RealContext(server.proxies, f"play-{number}") as stage:
            return await give(play, stage)

    async def all_of_them() -> list[Outcome]:
        return await asyncio.gather(*(one(number, play) for number, play in enumerate(plays)))

    return asyncio.run(all_of_them())


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as made:
        yield made


@pytest.fixture(scope="module")
def outcomes(server: Server) -> dict[str, Outcome]:
    """Of every play through the real one."""
    plays = [*PLAYS, *(each.play for each in DIFFERENT)]
    return dict(zip((play.name for play in plays), real(server, *plays), strict=True))


@every_play
def test_the_simulation_does_what_toxiproxy_does(server: Server, outcomes: dict[str, Outcome], play: Play) -> None:
    expected = simulated(play)
    if differences(expected, outcomes[play.name]):
        # A machine that was busy for a moment is forgiven, once.
        (outcomes[play.name],) = real(server, play)
    assert differences(expected, outcomes[play.name]) == []


@every_play
def test_a_play_is_about_its_toxics(play: Play) -> None:
    assert bool(differences(simulated(play), simulated(play.without_toxics()))) == play.bites


@pytest.mark.parametrize("known", DIFFERENT, ids=lambda known: known.play.name)
def test_what_the_simulation_does_otherwise_is_known(
    server: Server, outcomes: dict[str, Outcome], known: Different
) -> None:
    def told(outcome: Outcome) -> tuple[bytes, str | None]:
        heard = outcome[0, known.end]
        return heard.data, heard.end and heard.end[1]

    assert told(simulated(known.play)) == known.simulated
    if told(outcomes[known.play.name]) != known.real:
        (outcomes[known.play.name],) = real(server, known.play)
    assert told(outcomes[known.play.name]) == known.real


# The comparison itself


def heard(*pieces: tuple[float, bytes], end: tuple[float, str] | None = None) -> Outcome:
    one = Heard()
    one.pieces = list(pieces)
    one.end = end
    return {(0, "server"): one}


SAID = heard((0, b"abc"), (600, b"def"), end=(700, FIN))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (heard((0, b"abc"), (600, b"de"), end=(700, FIN)), "6 bytes b'abcdef' against 5 bytes b'abcde'"),
        (heard((0, b"abd"), (600, b"cef"), end=(700, FIN)), "6 bytes b'abcdef' against 6 bytes b'abdcef'"),
        (heard((0, b"abcdef"), end=(700, FIN)), "byte 3 after 600 ms against 0 ms"),
        (heard((0, b"ab"), (600, b"cdef"), end=(700, FIN)), "byte 2 after 0 ms against 600 ms"),
        (heard((0, b"abc"), (1_300, b"def"), end=(1_350, FIN)), "byte 3 after 600 ms against 1300 ms"),
        (heard((0, b"abc"), (600, b"def"), end=(700, RST)), "ended with (700, 'fin') against (700, 'rst')"),
        (heard((0, b"abc"), (600, b"def")), "ended with (700, 'fin') against None"),
        (heard((0, b"abc"), (600, b"def"), end=(1_500, FIN)), "ended after 700 ms against 1500 ms"),
        ({}, "6 bytes b'abcdef' against 0 bytes b''"),
    ],
)
def test_a_difference_is_noticed_whoever_comes_first(other: Outcome, said: str) -> None:
    assert differences(SAID, other) == [f"(0, 'server'): {said}"]
    assert len(differences(other, SAID)) == 1


def test_a_busy_machine_and_other_pieces_are_no_difference() -> None:
    late = heard((100, b"ab"), (140, b"c"), (800, b"d"), (990, b"ef"), end=(1_000, FIN))
    assert differences(SAID, late) == differences(late, SAID) == differences(SAID, SAID) == []
