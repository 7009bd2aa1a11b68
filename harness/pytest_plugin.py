"""pairproof in a test suite: the fixture ``pair``, and the mark that says of what.

    class NoSurprise(pairproof.Law): ...

    @pytest.mark.pairproof(target="reference", laws=[NoSurprise, "log-prefix"], settings={"brokerRole": "SYNC_MASTER"})
    def test_a_master_that_dies(pair):
        pair.play(pair.op("send", producer=0, size=300, wait=True, queue=0), pair.fault("kill", node="master"))

    @pytest.mark.pairproof(target="reference")
    def test_the_pair(pair):
        pair.explore(trials=300)

The mark's arguments, each optional: ``target``, ``lab``, ``laws`` (ids, or classes of your own), ``settings``,
``faults`` (names of those that a search draws; default: all), ``seed`` (default: the test's name, so a test does the
same each time), ``limit_s`` (how long one search or program may take, s; what was not decided then is unknown, and
fails the test). The fixture ``lab`` is the lab that the pair is in. Findings are written to ``.pairproof/`` beside
pytest's configuration. Nothing of pairproof is imported before a test asks for a pair.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .pair import Pair
    from .ports import Lab

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


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    shown = ", ".join(f"{name}={value!r}" for name, value in ARGUMENTS.items())
    config.addinivalue_line(
        "markers", f"{MARK}({shown}): what the fixture pair is, see pairproof.harness.pytest_plugin"
    )


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A replicated pair, as the mark ``pairproof`` says."""
    from .errors import PairproofError
    from .pair import using

    asked: dict[str, Any] = dict(ARGUMENTS)
    # The nearest mark counts most.
    for mark in reversed(list(request.node.iter_markers(MARK))):
        if wrong := [*map(str, mark.args), *sorted(set(mark.kwargs) - set(ARGUMENTS))]:
            told = f"pytest.mark.{MARK} takes {', '.join(ARGUMENTS)}, each by name, not {', '.join(wrong)}"
            pytest.fail(told, pytrace=False)
        asked |= mark.kwargs
    seed = asked["seed"] or "::".join([request.node.path.name, *request.node.nodeid.split("::")[1:]])
    folder = request.config.rootpath / FOLDER
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(using(**asked | {"seed": seed}, folder=folder))
        except PairproofError as why:
            refused = str(why)
        else:
            yield made
            return
    pytest.fail(refused, pytrace=False)


@pytest.fixture
def lab(pair: Pair) -> Lab:
    """The lab that the pair is in: what it can do and observe, and its sessions."""
    return pair.lab


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show the pair's message alone, without a traceback through pairproof."""
    report = yield
    if call.excinfo is not None and getattr(call.excinfo.value, "says_it_all", False):
        report.longrepr = str(call.excinfo.value)
    return report
