"""Tests of ``conversation-answered``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.conversations import BY_KEY, SERVED
from pairproof.harness.rocketmq.laws.questions.conversation_answered import ConversationAnswered


def asked(f: str, status: str = "PUT_OK", detail: str | None = None, **settings: object) -> H:
    history = H().config("master", **settings).start("master")
    return history.add("conversation", node="master", f=f, status=status, detail=detail)


def test_a_conversation_reports_the_last_request() -> None:
    right = SERVED["who consumes"].expects
    assert_holds(ConversationAnswered, asked("who consumes", detail=right))
    assert_broken(
        ConversationAnswered, asked("who consumes", detail='{"clients": []}'), 'PUT_OK, {"clients": []}; right is'
    )
    assert_broken(ConversationAnswered, asked("who consumes", "SYSTEM_ERROR"), "answered SYSTEM_ERROR; allowed: PUT_OK")
    assert_holds(ConversationAnswered, asked("who is left", "SYSTEM_ERROR"))
    assert_broken(ConversationAnswered, asked("who is left", detail=right), "allowed: INVALID_PARAMETER, SYSTEM_ERROR")


def test_a_broker_without_an_index_finds_no_keys() -> None:
    def without(status: str) -> H:
        return asked("all that have the key", status, messageIndexEnable=False)

    assert_holds(ConversationAnswered, without("QUERY_NOT_FOUND"))
    assert_broken(ConversationAnswered, without("PUT_OK"), "allowed: QUERY_NOT_FOUND")
    assert set(SERVED) >= BY_KEY


def test_a_conversation_without_an_answer_is_not_judged() -> None:
    assert_vacuous(ConversationAnswered, asked("who consumes", "timeout"))
    assert_broken(ConversationAnswered, asked("who consumes", "SYSTEM_BUSY"), "answered SYSTEM_BUSY")
    assert_vacuous(ConversationAnswered, asked("something that another version asks"))


@pytest.mark.parametrize("ahead", [False, True])
def test_a_broker_in_class_rollback_may_be_stuck(ahead: bool) -> None:
    """It was a slave that had more than its master kept."""
    history = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100 if ahead else 200)
    history.add("conversation", node="slave", f="who consumes", status="SERVICE_NOT_AVAILABLE")
    if ahead:
        assert_vacuous(ConversationAnswered, history)
    else:
        assert_broken(ConversationAnswered, history, "answered SERVICE_NOT_AVAILABLE")


def test_a_broker_with_a_pool_may_not_show_a_message_yet() -> None:
    wrong = {"f": "who consumes", "status": "SYSTEM_ERROR"}
    assert_vacuous(ConversationAnswered, asked(**wrong, transientStorePoolEnable="true"))
    slave = asked(**wrong, transientStorePoolEnable="true", brokerRole="SLAVE")
    assert_broken(ConversationAnswered, slave, "answered SYSTEM_ERROR; allowed: PUT_OK")
