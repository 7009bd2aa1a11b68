"""A stranger tests a law as pairproof tests its own: by histories written by hand."""

from __future__ import annotations

from pairproof import Verdict, conformance, testing
from pairproof.harness.testing import toy
from stranger.answer_was_asked import AnswerWasAsked


def test_an_answer_to_a_question_is_as_it_should_be() -> None:
    testing.assert_holds(AnswerWasAsked, testing.History().invoke("m0").after(5).ok("m0"))


def test_an_answer_to_no_question_is_broken() -> None:
    testing.assert_broken(AnswerWasAsked, testing.History().add("ok", op=7, node="master"), "operation 7 was answered")


def test_questions_alone_give_nothing_to_judge() -> None:
    testing.assert_vacuous(AnswerWasAsked, testing.History().invoke("m0"))


def test_law_and_operation_play_in_the_toy() -> None:
    summary = conformance.run(toy.TARGET, toy.LAB, trials=20, laws=["answer-was-asked"])
    assert not summary.findings and summary.verdicts["answer-was-asked"] is Verdict.HOLDS
