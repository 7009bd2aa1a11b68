"""A limit of a mark: what did not end in time is unknown, what was found by then is told, and other alarms go on."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairproof.harness import pair
from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event
from pairproof.harness.judging.law import Law
from pairproof.harness.trials.time_limit import OutOfTime, limited

LONG_S = 600
"""Longer than any of these tests waits."""


class Waits(Law):
    """Judges ``quick`` trials at once; with the next one the time is over. Of kills it says that they are wrong."""

    id = "waits"
    promise = "Nobody is killed."
    source = "ours"
    needs = frozenset({"crash"})
    quick = 0

    def begin(self) -> None:
        pass

    def on_start(self, event: Event) -> None:
        self.judged += 1

    def on_crash(self, event: Event) -> None:
        self.violate(event, "somebody was killed")

    def end(self, last: Event) -> None:
        type(self).quick -= 1
        if type(self).quick < 0:
            raise OutOfTime


class Quiet(Waits):
    """Has nothing to say against kills."""

    id = "quiet"

    def on_crash(self, event: Event) -> None:
        self.judged += 1


class Sleeps(Quiet):
    """Does not end."""

    id = "sleeps"

    def end(self, last: Event) -> None:
        time.sleep(LONG_S)


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Whatever a test does, nobody is called later. pytest-timeout's own alarm waits meanwhile."""
    theirs = signal.setitimer(signal.ITIMER_REAL, 0)
    before = signal.getsignal(signal.SIGALRM)
    yield
    left = signal.setitimer(signal.ITIMER_REAL, *theirs)
    assert left == (0, 0) and signal.getsignal(signal.SIGALRM) is before


def using(folder: Path, quick: int, law: type[Waits] = Waits, **more: Any) -> Any:
    law.quick = quick
    known = {"target": "reference", "lab": "sim", "laws": [law], "settings": {}, "seed": "s", "limit_s": LONG_S}
    return pair.using(**{**known, **more}, folder=folder)


def test_what_does_not_end_in_time_is_unknown(tmp_path: Path) -> None:
    late = r"unknown: it did not end within the 0\.5 s of limit_s\. "
    with using(tmp_path, 0, Sleeps, limit_s=0.5) as made:
        with pytest.raises(pair.Unsettled, match=late + "Raise it, or test less"):
            made.play(made.op("advance", ms=10))
        with pytest.raises(pair.Unsettled, match=late + "0 trials ended by then, and violate nothing"):
            made.explore(trials=20)
    with using(tmp_path, 7, Quiet) as made, pytest.raises(pair.Unsettled, match="7 trials ended by then, and violate"):
        made.explore(trials=20)


def test_a_program_s_violation_is_told_also_where_there_was_no_time_to_shrink_it(tmp_path: Path) -> None:
    for quick, length in ((1, 3), (1_000, 1)):
        with using(tmp_path, quick) as made, pytest.raises(pair.Broken, match="somebody was killed") as failed:
            made.play(made.op("advance", ms=10), made.fault("kill", node="master"), made.op("advance", ms=10))
        assert len(failed.value.finding.schedule.ops) == length and failed.value.path.exists()


def test_a_search_tells_what_it_found_also_where_there_was_no_time_to_shrink_it(tmp_path: Path) -> None:
    with using(tmp_path, 1_000) as made, pytest.raises(pair.Broken) as small:
        made.explore(trials=100)
    number = small.value.finding.trial
    with using(tmp_path, number + 1) as made, pytest.raises(pair.Broken, match="somebody was killed") as failed:
        made.explore(trials=100)
    assert failed.value.finding.trial == number
    assert len(failed.value.finding.schedule.ops) > len(small.value.finding.schedule.ops)


@pytest.mark.parametrize("limit", [0, -1, float("inf"), float("nan"), "5"])
def test_a_limit_is_a_number_of_seconds(tmp_path: Path, limit: object) -> None:
    refused = pytest.raises(UsageError, match="limit_s is a number of seconds above 0, not ")
    with refused, using(tmp_path, 1, limit_s=limit):
        pass


def test_somebody_else_s_alarm_goes_on_and_one_that_is_sooner_comes_first() -> None:
    heard: list[str] = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append("theirs"))
    try:
        signal.setitimer(signal.ITIMER_REAL, LONG_S)
        with pytest.raises(OutOfTime), limited(0.05):
            time.sleep(LONG_S)
        assert LONG_S / 2 < signal.getitimer(signal.ITIMER_REAL)[0] <= LONG_S and not heard
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with limited(LONG_S):
            signal.pause()
        assert heard == ["theirs"]
        # Overdue when the limit ends: it comes all the same.
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(OutOfTime), limited(0.01):
            time.sleep(LONG_S)
        signal.pause()
        assert heard == ["theirs", "theirs"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_thread_that_hears_no_signals_is_told_so() -> None:
    said: list[str] = []

    def other() -> None:
        try:
            with limited(1.0):
                pass
        except UsageError as why:
            said.append(str(why))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert said == ["limit_s works in the main thread; leave it out in another one"]
