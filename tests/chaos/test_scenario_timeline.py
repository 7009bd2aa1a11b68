"""A scenario becomes a schedule: merged, sorted by time, the same in every lab; and a picture of it."""

from __future__ import annotations

import pytest

from pairproof.chaos.scenarios import picture, reading, timeline
from pairproof.chaos.scenarios.scenario import Case
from pairproof.harness.errors import UsageError
from pairproof.harness.texts import folding
from pairproof.harness.trials.schedule import Op
from pairproof.harness.trials.schedule_json import from_json


def case(body: str) -> Case:
    return reading.from_text(f"name: x\nabout: y\nexpect: {{}}\n{body}", "x").cases[0]


def program(body: str) -> list[str]:
    short = {"send(producer=0, size=200, wait=true, queue=0)": "send", 'pull(reader=0, node="master", queue=0)': "pull"}
    return [short.get(each, each) for each in timeline.compiled(case(body), "s").program()]


def test_loads_and_steps_are_merged_with_time_between() -> None:
    body = (
        "workload:\n- send: {every: 500ms, for: 1s}\n- pull: {every: 700ms, from: 100ms, for: 1s}\n"
        "timeline:\n- {at: 500ms, fault: down, for: 400ms}\n"
    )
    assert program(body) == [
        "send", "advance(ms=100)", "pull", "advance(ms=400)", 'fault(name="down", link="ha")', "send",
        "advance(ms=300)", "pull", "advance(ms=100)", 'heal(name="down")', "advance(ms=200)",
    ]  # fmt: skip


def test_last_operation_has_the_time_that_the_case_lasts() -> None:
    assert program("timeline:\n- {at: 1s, pull: {}}\nlasts: 3s") == ["advance(ms=1000)", "pull", "advance(ms=2000)"]
    assert program("timeline:\n- {at: 1s, pull: {}}\n") == ["advance(ms=1000)", "pull"]


def test_a_step_after_another_counts_from_its_end() -> None:
    body = (
        "timeline:\n- {at: 1s, fault: down, for: 2s}\n- {after: 500ms, fault: kill, id: dead}\n"
        "- {after: 1s, heal: dead}\n- {after: 0s, pull: {}}\n"
    )
    assert [(each.begin_ms, each.end_ms) for each in timeline.spans(case(body))] == [
        (1_000, 3_000), (3_500, 4_500), (4_500, 4_500), (4_500, 4_500),
    ]  # fmt: skip


def test_a_step_at_the_nth_send_comes_right_behind_it() -> None:
    body = (
        "workload:\n- send: {every: 100ms, for: 400ms}\n- pull: {every: 50ms, for: 100ms}\n"
        "timeline:\n- {after_sends: 3, fault: kill}\n"
    )
    made = program(body)
    assert made[made.index('fault(name="kill", node="slave")') - 1] == "send"
    assert made[: made.index('fault(name="kill", node="slave")')].count("send") == 3


def test_a_heal_ends_the_oldest_and_a_fault_without_end_lasts() -> None:
    body = "timeline:\n- {at: 1s, fault: down, id: a}\n- {at: 2s, fault: down, id: b}\n- {at: 3s, heal: a}\nlasts: 5s\n"
    assert [each.end_ms for each in timeline.spans(case(body))] == [3_000, 5_000, 3_000]


def test_a_schedule_that_is_compiled_can_be_read_back_and_names_its_seed() -> None:
    made = timeline.compiled(case("workload:\n- send: {every: 1s, for: 2s}\nsettings: {slaveTimeout: 900}"), "seed/1")
    assert from_json(made.to_json()) == made and made.seed == "seed/1" and made.settings == {"slaveTimeout": 900}


def test_what_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="a case lasts 660 s, 600 s are the most"):
        case("timeline:\n- {at: 10m, fault: down, for: 1m}\n")


def test_awaiting_is_an_operation_of_its_own() -> None:
    body = "timeline:\n- {at: 1s, await: {what: acknowledged, count: 3, ms: 2s}}\n- {after: 1s, pull: {}}\n"
    assert program(body) == [
        "advance(ms=1000)", 'await(what="acknowledged", count=3, ms=2000)', "advance(ms=1000)", "pull",
    ]  # fmt: skip


def test_picture_shows_loads_faults_and_moments_in_time() -> None:
    body = (
        "workload:\n- send: {every: 500ms, for: 4s, queue: 1}\n"
        "timeline:\n- {at: 4s, fault: down, for: 4s}\n- {at: 2s, pull: {}}\n"
    )
    axis, send, down, pull = picture.drawn(case(body))
    begin = axis.index("|0 s")
    assert axis[begin + picture.WIDTH // 2 :].startswith("|4 s")
    assert send.startswith("send(queue=1) every 500 ms") and send[begin:] == "." * (picture.WIDTH // 2)
    assert down.startswith("down(link=ha)") and down[begin:] == " " * (picture.WIDTH // 2) + "=" * (picture.WIDTH // 2)
    assert pull[begin:] == " " * (picture.WIDTH // 4) + "^"


@pytest.mark.parametrize(
    ("given", "folded"),
    [
        ("", []),
        ("abc", ["a", "b", "c"]),
        ("aaa", ["3 times:", "  a"]),
        ("xababaay", ["x", "2 times:", "  a", "  b", "2 times:", "  a", "a", "y"]),
        ("abcdabcd", ["2 times:", "  a", "  b", "  c", "  d"]),
    ],
)
def test_repetitions_are_folded(given: str, folded: list[str]) -> None:
    shown = folding.folded(list(given))
    unfolded: list[str] = []
    times, block = 1, []
    for each in [*shown, ""]:
        if not each.startswith("  "):
            unfolded, block = unfolded + block * times, []
            times = int(each.split()[0]) if each.endswith("times:") else 1
            block = [] if each.endswith("times:") or not each else [each]
            if block:
                unfolded, block = unfolded + block, []
        else:
            block.append(each.strip())
    assert "".join(unfolded) == given
    assert len(shown) <= len(folded)


def test_a_fault_s_name_is_enough_to_heal_it() -> None:
    steps = case("timeline:\n- {at: 1s, fault: down}\n- {at: 2s, heal: down}\n").steps
    assert steps[1].op == Op("heal", {"name": "down"})
