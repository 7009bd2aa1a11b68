"""What tests of laws are written with: histories by hand, by topic, and what a law makes of them."""

from histories.builder import G, Q, Story
from pairproof.harness.history import kinds
from pairproof.harness.judging.judge import Judge
from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.testing import FILE, SIZE, H, bare, pair, trio
from pairproof.harness.testing import MS, History, assert_broken, assert_holds, assert_vacuous, judged

__all__ = [
    "FILE", "MS", "SIZE", "G", "H", "History", "Q", "Story", "Verdict", "assert_broken", "assert_holds",
    "assert_not_applicable", "assert_unbroken", "assert_unknown", "assert_vacuous", "bare", "blind", "judged", "pair",
    "trio",
]  # fmt: skip


def assert_unbroken(law: type[Law], history: History) -> None:
    """Whether or not there was something to judge."""
    found = judged(law, history.events)
    assert not found.violations and found.doubt is None, (found.violations, found.doubt)


def assert_not_applicable(law: type[Law], history: History) -> None:
    assert judged(law, history.events).verdict is Verdict.NOT_APPLICABLE


def assert_unknown(law: type[Law], history: History) -> None:
    assert judged(law, history.events).verdict is Verdict.UNKNOWN


def blind(law: type[Law], history: History, *unseen: str) -> Verdict:
    """The verdict in a lab that does not record these kinds."""
    judge = Judge((law,), frozenset(kinds()) - set(unseen))
    judge.feed_all(each for each in history.events if each.kind not in unseen)
    return judge.finish()[0].verdict
