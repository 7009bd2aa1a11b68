"""What tests of laws are written with: histories by hand, by topic, and what a law makes of them."""

from histories.story import G, Q, Story
from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.testing import FILE, SIZE, H, bare, pair, trio
from pairproof.harness.testing import MS, History, assert_broken, assert_holds, assert_vacuous, judged

__all__ = [
    "FILE",
    "MS",
    "SIZE",
    "G",
    "H",
    "History",
    "Q",
    "Story",
    "assert_broken",
    "assert_holds",
    "assert_not_applicable",
    "assert_unknown",
    "assert_vacuous",
    "bare",
    "judged",
    "pair",
    "trio",
]


def assert_not_applicable(law: type[Law], history: History) -> None:
    assert judged(law, history.events).verdict is Verdict.NOT_APPLICABLE


def assert_unknown(law: type[Law], history: History) -> None:
    assert judged(law, history.events).verdict is Verdict.UNKNOWN
