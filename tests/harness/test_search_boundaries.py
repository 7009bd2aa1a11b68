"""Settings at their borders: drawn on top, for a share of the trials, and each of them one that the target takes."""

from __future__ import annotations

import pytest

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import boundaries, cluster, swarm
from pairproof.harness.rocketmq.boundaries import BOUNDARIES, SHARE, at_boundaries
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Schedule

SIM, REFERENCE = resolve.lab("sim"), resolve.target("reference")
PLAIN = Schedule({"haPushes": "written"}, "s/0", ())
ALL = [each for row in BOUNDARIES for each in row]


@pytest.mark.parametrize("settings", ALL, ids=str)
def test_the_reference_takes_every_border(settings: Args) -> None:
    assert REFERENCE.settings(settings)


@pytest.mark.parametrize("settings", ALL, ids=str)
def test_no_end_is_dropped_for_a_silence_that_its_peer_is_allowed(settings: Args) -> None:
    merged = {"haSendHeartbeatInterval": 5_000, "haHousekeepingInterval": 20_000, **settings}
    for side, peer in (("master", "slave"), ("slave", "master")):
        beats = merged.get(f"{peer}.haSendHeartbeatInterval", merged["haSendHeartbeatInterval"])
        patience = merged.get(f"{side}.haHousekeepingInterval", merged["haHousekeepingInterval"])
        assert int(patience) > int(beats) + 1_000


def test_a_share_of_the_trials_gets_some_and_the_others_stay_as_they_are() -> None:
    drawn = [at_boundaries(PLAIN, "s", number, SIM) for number in range(800)]
    changed = [each for each in drawn if each != PLAIN]
    assert 0.7 * SHARE < len(changed) / len(drawn) < 1.3 * SHARE
    assert all(each.ops == PLAIN.ops and each.settings["haPushes"] == "written" for each in changed)
    assert at_boundaries(PLAIN, "s", 7, SIM) == drawn[7]
    assert {key for each in changed for key in each.settings} >= {key for each in ALL for key in each}


def test_labs_where_time_is_real_keep_their_short_intervals() -> None:
    process = resolve.lab("process")
    assert all(at_boundaries(PLAIN, "s", number, process) == PLAIN for number in range(100))


@pytest.mark.parametrize("make", [swarm.schedule, cluster.schedule])
def test_both_seeded_searches_draw_them(make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(make)
    monkeypatch.setattr(boundaries, "SHARE", 0.0)
    before = [make("s", number, SIM) for number in range(100, 112)]
    monkeypatch.setattr(boundaries, "SHARE", 1.0)
    after = [make("s", number, SIM) for number in range(100, 112)]
    assert [each.ops for each in before] == [each.ops for each in after]
    assert sum(one.settings != other.settings for one, other in zip(before, after, strict=True)) >= 3


@pytest.mark.parametrize("micros", (0, 20_000))
def test_slowest_pair_still_takes_what_is_uneven(micros: int) -> None:
    slow: Args = {"lab.bufferBytes": 600, "lab.latencyMicros": 5_000, "haTransferBatchSize": 50}
    assert REFERENCE.settings({**slow, "lab.gatherMicros": micros, "lab.spread": 10})


@pytest.mark.parametrize(("name", "values"), boundaries.UNEVEN)
def test_a_share_of_the_simulated_trials_only_is_uneven(name: str, values: tuple[int, ...]) -> None:
    drawn = [boundaries.varied(PLAIN, "s", number, SIM) for number in range(800)]
    found = [each.settings[name] for each in drawn if name in each.settings]
    assert 0.7 * boundaries.UNEVEN_SHARE < len(found) / len(drawn) < 1.3 * boundaries.UNEVEN_SHARE
    assert set(found) == set(values)
    process = resolve.lab("process")
    assert all(boundaries.varied(PLAIN, "s", number, process) == PLAIN for number in range(100))


def test_readers_ask_for_as_many_messages_as_they_are_set_to() -> None:
    _, pull, wait = resolve.system("rocketmq").traffic
    ops = (*swarm.STARTS[3], pull, wait, pull, wait)
    trial = run_trial(SIM, REFERENCE, Schedule({"lab.pullMessages": 2}, "few", ops))
    brought: dict[int | None, int] = {}
    for event in trial.events:
        if event.kind == "deliver":
            brought[event.op] = brought.get(event.op, 0) + 1
    assert list(brought.values()) == [2, 2]
    verdicts = {each.law: each.verdict for each in trial.judgements}
    assert verdicts["pull-is-filled"] is verdicts["pull-goes-on"] is Verdict.HOLDS


def test_a_share_of_the_drawn_trials_and_one_in_a_few_of_the_listed_ones_have_visits() -> None:
    drawn = [boundaries.varied(PLAIN, "s", number, SIM) for number in range(800)]
    visited = [each for each in drawn if boundaries.CONVERSATIONS not in each.settings]
    assert 0.8 * boundaries.CONVERSATION_SHARE < len(visited) / len(drawn) < 1.2 * boundaries.CONVERSATION_SHARE
    assert {each.settings.get(boundaries.CONVERSATIONS) for each in drawn} == {None, 0}
    listed = [
        boundaries.listed(PLAIN, number).settings[boundaries.CONVERSATIONS]
        for number in range(10 * boundaries.LISTED_ONE_IN)
    ]
    assert len(listed) - listed.count(boundaries.NOTHING_ASKED) == 10 and len(set(listed)) == 11


@pytest.mark.parametrize("which", [None, boundaries.NOTHING_ASKED, 0, 1, 2])
def test_a_trial_is_asked_as_its_settings_say(which: int | None) -> None:
    def told(number: int | None, *kinds: str) -> set[str | None]:
        settings: Args = {} if number is None else {boundaries.CONVERSATIONS: number}
        found = run_trial(SIM, REFERENCE, Schedule(settings, "visits", ()), laws=()).events
        return {each.f for each in found if each.kind in kinds}

    assert bool(told(which, "conversation", "invalid")) == (which not in (0, boundaries.NOTHING_ASKED))
    assert bool(told(which, "answer")) == (which != boundaries.NOTHING_ASKED)
    assert told(1, "conversation") != told(2, "conversation")
