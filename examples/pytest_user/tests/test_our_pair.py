"""Our team's guarantees of its pair."""

import pytest
from hypothesis.stateful import rule

from pairproof import Law, conformance

OURS = {"brokerRole": "SYNC_MASTER", "flushDiskType": "ASYNC_FLUSH"}
"""As in production."""


class NothingWhileDown(Law):
    """A law is a class: its promise, its required events, and a method for each event type."""

    id = "nothing-while-down"
    promise = "A broker that was killed appends nothing."
    source = "our runbook"
    needs = frozenset({"append", "crash"})

    def begin(self) -> None:
        self.down: set[str] = set()

    def on_crash(self, event):
        self.down.add(event.node)

    def on_start(self, event):
        self.down.discard(event.node)

    def on_append(self, event):
        self.judged += 1
        if event.node in self.down:
            self.violate(event, f"{event.node} appends [{event.lo}, {event.hi}) while it is down")


@pytest.mark.pairproof(target="reference", settings=OURS, laws=[NothingWhileDown, "log-prefix", "node-lives"])
def test_a_master_that_is_killed_under_load(pair) -> None:
    sends = [pair.op("send", producer=0, size=300, wait=False, queue=0) for _ in range(5)]
    trial = pair.play(*sends, pair.fault("kill", node="master"), pair.op("advance", ms=1_000), *sends)
    assert len(trial.events) > 50


@pytest.mark.pairproof(target="reference", laws=["ack-replicated", "contract"])
def test_a_search_finds_nothing(pair) -> None:
    assert pair.explore(trials=100).trials >= 100


@pytest.mark.pairproof(target="reference+answers_before_flush", laws=["ack-flushed"])
def test_the_tests_can_fail(pair) -> None:
    with pytest.raises(AssertionError, match="ack-flushed is violated: "):
        pair.explore(trials=100)


@pytest.mark.pairproof(target="reference", faults=["down", "stall"], laws=["ack-replicated"])
def test_links_may_break_in_any_way(pair) -> None:
    pair.explore(trials=100)


class WithOurJob(conformance.machine("reference", laws=[NothingWhileDown])):
    """Hypothesis draws the program, under the profile and with the example database of this repository."""

    @rule()
    def nightly_job(self):
        """The steps of our job: a batch of large messages, then a pause."""
        for _ in range(3):
            self.act("send", {"producer": 0, "size": 3_000, "wait": False, "queue": 0})
        self.act("advance", {"ms": 500})


TestWithOurJob = WithOurJob.TestCase
