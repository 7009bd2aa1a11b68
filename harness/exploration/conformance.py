"""The conformance kit as functions: what a third party calls from its own program or test suite.

from . import conformance

conformance.run("reference", "sim", trials=500).assert_holds()

TestPair = conformance.machine("reference", "sim").TestCase     # an ordinary Hypothesis state machine
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..judging import judge as judging
from ..judging import own_laws
from ..judging.law import Law
from ..ports import Lab, Target
from ..search.machine import machine as state_machine
from ..trials import resolve
from ..trials.interpreter import run_trial
from . import profiles
from .explore import Explorer
from .summary import Summary

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine


def run(
    target: str | Target,
    lab: str | Lab = "sim",
    *,
    profile: str | None = None,
    seconds: float | None = None,
    trials: int | None = None,
    first: bool = False,
    seed: str = "conformance",
    laws: Iterable[str | type[Law]] | None = None,
) -> Summary:
    """Explore ``target`` in ``lab`` and judge it. ``laws``: ids or classes; default: all laws of its system, or all.

    ``profile``: as of ``pairproof check``.

    ``seconds`` or ``trials`` limits the searches instead of the profile. Neither limits the corpus before them, nor, in
    a deterministic lab, the shrinking of a violation. With ``trials`` the summary of a deterministic lab depends on the
    seed alone. ``first``: stop at the first violation. The summary's :meth:`~.summary.Summary.assert_holds` fails a
    test with an account of the violation. UsageError for names that do not exist, LabError if the lab failed.
    """
    playing_lab = resolve.lab(lab) if isinstance(lab, str) else lab
    found = resolve.target(target) if isinstance(target, str) else target
    asked = None if laws is None else tuple(laws)
    judged = _laws(found, asked)
    with own_laws.added({each.id: each for each in judged}):
        summary = Explorer(
            playing_lab,
            found,
            profiles.profile(profile or profiles.default(playing_lab.deterministic)),
            seed,
            judged,
            seconds=seconds,
            trials=trials,
            first=first,
        ).run()
        shown = None
        if summary.findings and playing_lab.deterministic:
            shown = run_trial(playing_lab, found, summary.findings[0].schedule, laws=judged)
    named = () if asked is None else tuple(each.id for each in judged)
    return summary._replace(laws=judged, named=named, shown=shown)


def machine(
    target: str | Target, lab: str | Lab = "sim", *, laws: Iterable[str | type[Law]] | None = None
) -> type[RuleBasedStateMachine]:
    """A state machine class that raises AssertionError with the law and the program when a law is violated.

    A subclass may add rules, which call ``self.act("send", {...})`` and the like. ``laws``: ids, or classes.
    """
    found = resolve.target(target) if isinstance(target, str) else target
    return state_machine(
        resolve.lab(lab) if isinstance(lab, str) else lab,
        found,
        _laws(found, laws),
    )


def _laws(target: Target, laws: Iterable[str | type[Law]] | None) -> tuple[type[Law], ...]:
    if laws is None:
        return judging.laws_for(target)
    laws = tuple(laws)
    own_laws.checked(laws)
    return tuple(judging.laws([each])[0] if isinstance(each, str) else each for each in laws)
