"""One meaning of vacuous: what a run says of a law, what it lacks, and the exit code that follows."""

from __future__ import annotations

from pairproof.harness.judging.verdict import CORPUS, Demands, Standing, Verdict, conclusion, exit_code, standing

HELD = Verdict.HOLDS
IDLE = Verdict.VACUOUS


def code(*verdicts: Verdict) -> int:
    return exit_code(map(Standing, verdicts))


def test_the_worst_law_decides_the_exit_code() -> None:
    assert code(HELD) == code(HELD, IDLE) == code(HELD, Verdict.NOT_OBSERVABLE) == 0
    assert code(HELD, IDLE, Verdict.UNKNOWN) == 3
    assert code(HELD, IDLE, Verdict.UNKNOWN, Verdict.VIOLATED) == 1


def test_a_run_in_which_nothing_was_judged_is_unknown_and_not_every_law_holds() -> None:
    assert code() == code(IDLE) == code(IDLE, Verdict.NOT_OBSERVABLE) == code(Verdict.NOT_APPLICABLE) == 3
    assert conclusion([]) is Verdict.UNKNOWN


def test_a_law_that_the_corpus_alone_exercised_is_lacking_only_where_the_searches_must_exercise_it() -> None:
    seen = [(CORPUS, HELD), (CORPUS, IDLE), ("swarm", IDLE)]
    known = standing("a", seen)
    assert known == Standing(HELD, "", corpus_only=True) and known.remark == "judged by the corpus only"
    strict = standing("a", seen, Demands(by_searches=frozenset("a")))
    assert strict.lacking == strict.remark == "the searches gave it nothing to judge"
    assert exit_code([known]) == 0 and exit_code([strict]) == 3


def test_searches_do_not_stand_in_for_the_corpus() -> None:
    # Whether they come so far depends on the machine; the corpus does not.
    seen = [(CORPUS, IDLE), ("swarm", HELD)]
    known = standing("a", seen, Demands(by_corpus=frozenset("a")))
    assert known.lacking == "the corpus gave it nothing to judge" and exit_code([known]) == 3
    assert exit_code([standing("a", seen)]) == 0


def test_what_cannot_be_observed_or_does_not_apply_is_not_vacuous() -> None:
    demands = Demands(frozenset("a"), frozenset("a"))
    for verdict in (Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE):
        known = standing("a", [(CORPUS, verdict), ("swarm", verdict)], demands)
        assert known == Standing(verdict) and exit_code([known, Standing(HELD)]) == 0


def test_a_demand_that_is_not_met_hides_no_violation() -> None:
    lacking = Standing(IDLE, "the searches gave it nothing to judge")
    assert exit_code([lacking, Standing(HELD)]) == 3
    assert exit_code([lacking, Standing(Verdict.VIOLATED)]) == 1


def test_demands_are_read_from_the_facts_of_a_run() -> None:
    facts = {"corpus_must_judge": ["a"], "must_not_be_vacuous": ["b"]}
    assert Demands.of_facts(facts) == Demands(frozenset("a"), frozenset("b"))
    assert Demands.of_facts({}) == Demands.of_facts({"corpus_must_judge": None}) == Demands()
