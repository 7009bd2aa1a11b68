"""pairproof in a test suite: the fixture ``pair``, its mark, and ``pairs`` for tests that draw.

    class NoSurprise(pairproof.Law): ...

    @pytest.mark.pairproof(target="reference", laws=[NoSurprise, "log-prefix"], settings={"brokerRole": "SYNC_MASTER"})
    def test_a_master_that_dies(pair):
        pair.play(pair.op("send", producer=0, size=300, wait=True, queue=0), pair.fault("kill", node="master"))

    @pytest.mark.pairproof(target="reference")
    def test_the_pair(pair):
        pair.explore(trials=300)

    @hypothesis.given(size=strategies.integers(0, 4_000))
    def test_sizes(pairs, size):
        with pairs(target="reference") as pair:
            pair.play(pair.op("send", producer=0, size=size, wait=True, queue=0))

The mark's arguments, each optional: ``target``, ``lab``, ``laws`` (ids, or classes of your own), ``settings``,
``faults`` (names that a search draws; default: all), ``seed`` (default: the test's name, so that a test is repeatable),
``limit_s`` (time limit of one search or program, s; undecided laws are then unknown and fail the test). The fixture
``lab`` is the lab of the pair. Findings are written to ``.pairproof/`` beside
pytest's configuration. Nothing of pairproof is imported before a test asks for a pair.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .pair import Pair
    from .ports import Lab

    Pairs = Callable[..., AbstractContextManager[Pair]]

MARK = "pairproof"
ARGUMENTS: dict[str, Any] = {
    "target": "reference",
    "lab": "sim",
    "laws": (),
    "settings": {},
    "faults": None,
    "seed": "",
    "limit_s": None,
}
FOLDER = ".pairproof"
ONE_A_TEST = (
    "the fixture pair is made once per test, and @given executes a test for many examples: use the fixture pairs, and "
    "begin each example with: with pairs(target=...) as pair:"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    shown = ", ".join(f"{name}={value!r}" for name, value in ARGUMENTS.items())
    config.addinivalue_line(
        "markers", f"{MARK}({shown}): what the fixture pair is, see pairproof.harness.pytest_plugin"
    )


@pytest.fixture
def pair(request: pytest.FixtureRequest, pairs: Pairs) -> Iterator[Pair]:
    """A replicated pair with the arguments of the mark ``pairproof``."""
    asked: dict[str, Any] = {}
    # The nearest mark overrides the others.
    for mark in reversed(list(request.node.iter_markers(MARK))):
        if mark.args:
            _refuse(mark.args)
        asked |= mark.kwargs
    with pairs(**asked) as made:
        yield made


@pytest.fixture(scope="session")
def pairs(request: pytest.FixtureRequest) -> Pairs:
    """Pairs for ``with`` blocks, with the mark's arguments: one for each example of a Hypothesis test, say."""

    @contextlib.contextmanager
    def made(**asked: Any) -> Iterator[Pair]:
        from .errors import PairproofError
        from .pair import using

        if wrong := sorted(set(asked) - set(ARGUMENTS)):
            _refuse(wrong)
        given = ARGUMENTS | asked
        # Without folders, as in pytest's output: "tests/test_a.py::test_b (call)".
        given["seed"] = given["seed"] or os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].rpartition("/")[2]
        with contextlib.ExitStack() as stack:
            try:
                pair = stack.enter_context(using(**given, folder=request.config.rootpath / FOLDER))
            except PairproofError as why:
                refused = str(why)
            else:
                yield pair
                return
        pytest.fail(refused, pytrace=False)

    return made


def _refuse(wrong: Iterable[object]) -> None:
    error = f"{MARK} takes {', '.join(ARGUMENTS)}, each by name, not {', '.join(map(str, wrong))}"
    pytest.fail(error, pytrace=False)


@pytest.fixture
def lab(pair: Pair) -> Lab:
    """The lab of the pair: its abilities, its events, and its sessions."""
    return pair.lab


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show only the pair's message, without a traceback through pairproof."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if getattr(error, "no_traceback", False):
        report.longrepr = str(error)
    elif type(error).__name__ == "FailedHealthCheck" and "fixture 'pair'" in str(error):
        report.longrepr = ONE_A_TEST
    return report
