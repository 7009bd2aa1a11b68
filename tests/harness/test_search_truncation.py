"""Cut points come from a dry run, every one is a byte at which the stream is really cut, and none is left out."""

from __future__ import annotations

import pytest

from pairproof.harness.history import Recorder
from pairproof.harness.rocketmq import truncation
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule

LAB = resolve.lab("sim")
REFERENCE = resolve.target("reference")
EVERY = truncation.schedules(LAB, REFERENCE, "cuts")


def _stream() -> Recorder:
    """Two records, one of them crossing a frame border, then a heartbeat; another connection talks, too."""
    told = Recorder()
    told.add(0, "frame", link="ha:1", side="s", lo=0, hi=100)
    told.add(0, "append", node="master", lo=100, hi=150)
    told.add(0, "append", node="master", lo=150, hi=180)
    told.add(0, "frame", link="ha:2", side="m", lo=100, hi=160)
    told.add(0, "frame", link="ha:2", side="s", lo=100, hi=160)
    told.add(0, "report", link="ha:1", side="m", hi=100)
    told.add(0, "frame", link="ha:2", side="s", lo=160, hi=180)
    told.add(0, "report", link="ha:2", side="m", hi=160)
    told.add(0, "frame", link="ha:2", side="s", lo=180, hi=180)
    return told


def test_points_are_header_bytes_and_the_neighbourhood_of_every_border() -> None:
    up, down = truncation.points(_stream().events, 1)
    assert up == tuple(range(9))
    first, body, record, second, end = 0, 12, 62, 72, 104
    expected = {*range(first, body + 1), *range(end, end + 13)}
    expected |= {border + by for border in (body, record, second, second + 12, end) for by in range(-2, 3)}
    assert set(down) == {each for each in expected if each <= end + 12}


def test_a_stream_that_was_silent_has_no_points() -> None:
    assert truncation.points(_stream().events, 9) == ((), ())


def test_every_byte_of_reports_and_of_a_header_is_cut_in_both_ways_roles_and_push_modes() -> None:
    for role in truncation.ROLES:
        for pushes in truncation.PUSHES:
            mine = [each for each in EVERY if {"brokerRole": role, "haPushes": pushes}.items() <= each.settings.items()]
            dies, ends = _bytes(mine, "limit_data"), _bytes(mine, "stall")
            assert dies["up"] == set(range(17)) and ends["up"] == set(range(1, 17))
            assert dies["down"] >= set(range(13)) and ends["down"] == dies["down"] - {0}
    assert len({repr(each) for each in EVERY}) == len(EVERY)


def _bytes(schedules: list[Schedule], fault: str) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {"up": set(), "down": set()}
    for each in schedules:
        for op in each.ops:
            if op.args.get("name") == fault:
                found[str(op.args["direction"])].add(int(op.args.get("bytes", each.settings.get("lab.bufferBytes", 0))))
    return found


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_short_write_ends_at_its_byte_and_the_rest_follows(direction: str) -> None:
    side, unit = ("s", 8) if direction == "up" else ("m", 12)
    for size in (1, 5, unit - 1):
        schedule = next(
            each
            for each in EVERY
            if each.settings.get("lab.bufferBytes") == size
            and each.ops[1].args == {"name": "stall", "link": "ha", "direction": direction}
        )
        events = run_trial(LAB, REFERENCE, schedule).events
        began = next(each.seq for each in events if each.kind == "fault")
        left = [each for each in events[began:] if each.kind == "partial" and (each.side, each.f) == (side, "out")]
        assert left and left[0].value == size
        healed = next(each.seq for each in events if each.kind == "fault" and each.status == "off")
        assert any(each.kind in ("frame", "report") and each.side == side for each in events[healed:])


def test_a_sample_of_the_cut_points_raises_no_alarm() -> None:
    # The whole of it is what `check` runs.
    for schedule in EVERY[:150]:
        judged = run_trial(LAB, REFERENCE, schedule).judgements
        assert [each.law for each in judged if each.verdict in ("violated", "unknown")] == []


def test_order_is_the_seeds_and_the_schedules_are_not() -> None:
    other = truncation.schedules(LAB, REFERENCE, "other")
    plain = [sorted(repr(each._replace(seed="")) for each in listed) for listed in (EVERY, other)]
    assert plain[0] == plain[1] and EVERY[0]._replace(seed="other") != other[0]
