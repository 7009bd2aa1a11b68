"""Tests of ``invalid-refused``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare

from pairproof.harness.rocketmq.laws.questions.invalid_refused import InvalidRefused


def invalid(history: H, f: str, status: str, remark: str = "because") -> H:
    return history.add("invalid", node="slave", f=f, status=status, detail=remark)


def test_a_request_that_makes_no_sense_is_refused() -> None:
    assert_holds(InvalidRefused, invalid(bare(), "an unknown code", "REQUEST_CODE_NOT_SUPPORTED"))
    assert_holds(InvalidRefused, invalid(bare(), "a new topic with a space", "INVALID_PARAMETER"))


@pytest.mark.parametrize("status", ["PUT_OK", "SYSTEM_ERROR", "FLUSH_DISK_TIMEOUT", "SYSTEM_BUSY"])
def test_another_answer_breaks_it(status: str) -> None:
    broken = "slave, sent an unknown code, answered"
    assert_broken(InvalidRefused, invalid(bare(), "an unknown code", status), broken)


def test_an_inconclusive_answer_is_not_judged() -> None:
    assert_vacuous(InvalidRefused, invalid(bare(), "an unknown code", "SYSTEM_BUSY", "[REJECTREQUEST]system busy"))
    assert_vacuous(InvalidRefused, invalid(bare(), "an unknown code", "timeout"))
    assert_vacuous(InvalidRefused, invalid(bare(), "something newer than this law", "PUT_OK"))
    assert_vacuous(InvalidRefused, bare())
