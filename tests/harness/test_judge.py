"""The judge feeds laws in order, names what it cannot judge, and outlives laws that crash."""

from __future__ import annotations

import re

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event, kinds
from pairproof.harness.judging import judge as judging
from pairproof.harness.judging import law as neutral
from pairproof.harness.judging.judge import Judge
from pairproof.harness.judging.law import MAX_VIOLATIONS, EventFilter, only
from pairproof.harness.judging.verdict import Judgement, Verdict
from pairproof.harness.rocketmq.known.model import Known
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.testing import H, pair
from pairproof.harness.rocketmq.topology import MASTER, NO_SLAVES
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Schedule


class Counting(Law):
    """Judges every mark; none is ever wrong."""

    id = "counting"
    promise = "-"
    source = "-"
    needs = frozenset({"mark"})

    def on_mark(self, event: Event) -> None:
        self.judged += 1


class Strict(Counting):
    """No mark may be there."""

    id = "strict"

    def on_mark(self, event: Event) -> None:
        self.judged += 1
        self.violate(event, f"mark {event.f}")


class Crashing(Counting):
    """Cannot stand the mark ``bang``."""

    id = "crashing"

    def on_mark(self, event: Event) -> None:
        self.judged += 1
        if event.f == "bang":
            raise ValueError("too loud")


class CrashingAtTheEnd(Counting):
    """Falls at the last fence."""

    id = "crashing-at-the-end"

    def end(self, last: Event) -> None:
        raise ZeroDivisionError("nothing left")


class Watching(Counting):
    """Notes what the model knew when it heard of an append."""

    id = "watching"

    def on_append(self, event: Event) -> None:
        self.notes[str(event.hi)] = self.known.logs.ends.get(MASTER, -1)


class Awaiting(Counting):
    """Awaits the mark ``judge``, or a stop of the slave; counts all marks since, and asks for settings."""

    id = "awaiting"
    awaits = {"mark": EventFilter(frozenset({"judge"})), "stop": EventFilter(nodes=frozenset({"slave"}))}

    def on_config(self, event: Event) -> None:
        self.notes["configured"] = 1

    def end(self, last: Event) -> None:
        self.notes["ended"] = 1


class OfSlaves(Counting):
    """Counts the starts of slaves, whatever their names are."""

    id = "of-slaves"

    @only(but=NO_SLAVES)
    def on_start(self, event: Event) -> None:
        self.judged += 1


class CrashingWhenAsked(Counting):
    id = "crashing-when-asked"

    def applies(self) -> bool:
        return bool(1 // 0)


def marks(*names: str) -> H:
    history = H()
    for name in names:
        history.mark(name)
    return history


def verdicts(laws: tuple[type[Law], ...], history: H, live: bool) -> list[Judgement]:
    judge = Judge(laws)
    if live:
        for event in history.events:
            judge.feed(event)
    else:
        judge.feed_all(history.events)
    return judge.finish()


@pytest.mark.parametrize("live", [False, True], ids=["list", "live"])
@pytest.mark.parametrize("order", [(Counting, Crashing), (Crashing, Counting), (Crashing, Counting, Crashing)])
def test_a_law_that_crashes_is_unknown_and_harms_no_other(order: tuple[type[Law], ...], live: bool) -> None:
    found = verdicts(order, marks("warm", "bang", "end"), live)
    for each, judgement in zip(order, found, strict=True):
        if each is Counting:
            assert judgement == Judgement("counting", Verdict.HOLDS, 3, 0)
        else:
            assert (judgement.verdict, judgement.judged) == (Verdict.UNKNOWN, 2)
            told = r"law crashed: ValueError: too loud \(test_judge.py:\d+\), at event 1 \(mark\)"
            assert re.fullmatch(told, judgement.doubt or "")


@pytest.mark.parametrize("live", [False, True], ids=["list", "live"])
def test_a_law_receives_settings_only_before_the_first_event_that_it_awaits(live: bool) -> None:
    story = pair().mark("warm").mark("judge").mark("warm").mark("judge")
    assert verdicts((Awaiting,), story, live)[0] == Judgement(
        "awaiting", Verdict.HOLDS, 3, 0, notes={"configured": 1, "ended": 1}
    )
    unwoken = pair().mark("warm").crash("slave").mark("warm")
    assert verdicts((Awaiting,), unwoken, live)[0].judged == 0
    assert "ended" not in verdicts((Awaiting,), unwoken, live)[0].notes
    assert verdicts((Awaiting,), pair().mark("warm").stop("slave").mark("warm"), live)[0].judged == 1


def test_slaves_of_any_names_are_slaves() -> None:
    story = pair()
    for name in ("late-slave", "rogue_slave", "names", "other", "master"):
        story.add("start", node=name)
    assert verdicts((OfSlaves,), story, live=False)[0].judged == 2


def test_the_model_goes_on_after_a_law_crashed() -> None:
    story = pair().mark("bang").put("m0").put("m1")
    found = verdicts((Crashing, Watching), story, live=False)
    assert found[1].notes == {"100": 0, "200": 100}


def test_a_law_that_crashes_at_the_end_is_unknown() -> None:
    found = verdicts((CrashingAtTheEnd, Counting), marks("warm"), live=False)
    assert [each.verdict for each in found] == [Verdict.UNKNOWN, Verdict.HOLDS]
    told = r"law crashed: ZeroDivisionError: nothing left \(test_judge.py:\d+\), at the end"
    assert re.fullmatch(told, found[0].doubt or "")


@pytest.mark.parametrize("live", [False, True], ids=["list", "live"])
def test_a_law_that_cannot_say_whether_it_applies_is_unknown_and_harms_no_other(live: bool) -> None:
    history = pair().mark("warm").mark("end")
    alone = verdicts((Counting,), history, live)[0]
    found = verdicts((CrashingWhenAsked, Counting), history, live)
    assert found[0].verdict is Verdict.UNKNOWN and found[1] == alone
    assert re.fullmatch(
        r"law crashed: ZeroDivisionError: .* \(test_judge.py:\d+\), at event \d+ \(start\)", found[0].doubt or ""
    )


def test_a_history_that_the_model_cannot_follow_leaves_every_law_unknown() -> None:
    garbled = H().add("config", node="master", detail="no JSON").mark("end")
    found = verdicts((Counting, Strict), garbled, live=False)
    assert [each.verdict for each in found] == [Verdict.UNKNOWN] * 2
    assert all("model crashed" in (each.doubt or "") for each in found)


class Counted(neutral.Known):
    """Cannot follow the mark ``bang``, and counts the others."""

    marks = 0

    def on_mark(self, event: Event) -> None:
        if event.f == "bang":
            raise ValueError("too loud")
        self.marks += 1


class Neutral(neutral.Law):
    """Of no system; judges every mark."""

    id, promise, source, needs = "neutral", "-", "-", frozenset({"mark"})

    def on_mark(self, event: Event) -> None:
        self.judged += 1


class OfCounted(Neutral):
    id, known_type = "of-counted", Counted


class OfMaster(Neutral):
    id, ignored_nodes = "of-master", frozenset({"slave"})


def test_laws_have_the_model_that_they_declare_and_share_it_with_those_of_one_that_it_extends() -> None:
    assert [type(each) for each in Judge((Neutral,)).models] == [neutral.Known]
    assert [type(each) for each in Judge((Neutral, OfCounted, Counting)).models] == [Counted, Known]
    judge = Judge((Neutral, OfCounted))
    judge.feed_all(marks("warm", "end").events)
    assert [each.marks for each in judge.models] == [2]


def test_a_model_that_crashes_leaves_the_laws_of_another_alone() -> None:
    found = verdicts((OfCounted, Counting), marks("warm", "bang", "end"), live=False)
    assert [each.verdict for each in found] == [Verdict.UNKNOWN, Verdict.HOLDS]
    assert (found[0].doubt or "").startswith("model crashed: ValueError: too loud (test_judge.py:")


@pytest.mark.parametrize("live", [False, True], ids=["list", "live"])
def test_a_law_hears_nothing_of_a_node_that_it_is_deaf_to(live: bool) -> None:
    history = H()
    for node in ("master", "slave", "other", None):
        history.add("mark", node=node)
    found = verdicts((Neutral, OfMaster, Counting), history, live)
    assert [each.judged for each in found] == [4, 3, 3]


def test_laws_read_the_model_as_it_was_before_the_event() -> None:
    assert verdicts((Watching,), pair().put("m0"), live=False)[0].notes == {"100": 0}


def test_what_the_lab_cannot_see_is_not_observable_rather_than_kept() -> None:
    judge = Judge((Strict, Counting), observes=frozenset(kinds()) - {"mark"})
    judge.feed_all(marks("warm").events)
    assert [each.verdict for each in judge.finish()] == [Verdict.NOT_OBSERVABLE] * 2


def test_every_violation_is_counted_and_the_first_few_are_kept() -> None:
    found = verdicts((Strict,), marks(*["warm"] * (MAX_VIOLATIONS + 5)), live=False)[0]
    assert (found.verdict, found.broken, len(found.violations)) == (
        Verdict.VIOLATED,
        MAX_VIOLATIONS + 5,
        MAX_VIOLATIONS,
    )
    assert found.violations[0].seq == 0


def test_a_handler_for_a_kind_that_does_not_exist_is_refused() -> None:
    class Misspelt(Counting):
        def on_apend(self, event: Event) -> None:
            raise AssertionError

    with pytest.raises(UsageError, match="unknown kind of event 'apend'"):
        Judge((Misspelt,))


def test_an_unknown_law_is_a_usage_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="log-prefix"):
        judging.laws(["log-prefx"])


def test_every_registered_law_says_what_it_is() -> None:
    laws = judging.all_laws()
    assert len(laws) >= 18
    for law in laws:
        assert law.needs <= set(kinds()) and law.needs, law.id
        assert law.promise.endswith(".") and law.source, law.id
        assert law.__module__.rpartition(".")[2] == law.id.replace("-", "_")
        assert law.__name__ == "".join(part.capitalize() for part in law.id.split("-"))


@pytest.mark.parametrize("law", judging.all_laws(), ids=lambda law: law.id)
def test_no_registered_law_finds_anything_to_judge_where_nothing_happened(law: type[Law]) -> None:
    for history in (H(), H().mark("end")):
        judge = Judge((law,))
        judge.feed_all(history.events)
        found = judge.finish()[0]
        assert found.verdict in (Verdict.VACUOUS, Verdict.NOT_APPLICABLE) and found.judged == 0


def test_a_list_and_a_live_feed_agree_for_all_laws() -> None:
    story = pair().sent("m0").put("m1").ok("m1").crash("master", "machine").restart("master", 100).mark("heal").audit()
    laws = judging.all_laws()
    assert verdicts(laws, story, live=True) == verdicts(laws, story, live=False)


def test_plain_rows_are_judged_as_their_kinds_events() -> None:
    lab, target = resolve.lab("sim"), resolve.target("reference")
    trial = run_trial(lab, target, Schedule({}, "s", ()))
    plain = [Event(*each) for each in trial.events]
    assert judging.judge(plain, judging.laws_for(target), lab.observes(target)) == trial.judgements
