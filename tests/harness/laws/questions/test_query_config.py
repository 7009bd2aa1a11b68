"""Tests of ``query-config``."""

from histories import H, assert_broken, assert_holds, assert_vacuous, bare
from histories.questions import answer

from pairproof.harness.rocketmq.laws.questions.query_config import QueryConfig


def set_as(reported: dict[str, str], **given: object) -> H:
    return answer(bare().config("slave", brokerId=1, **given), "config", node="slave", detail=reported)


def test_a_broker_tells_the_settings_that_it_was_given() -> None:
    given = {"slaveTimeout": 800, "slaveReadEnable": True, "brokerRole": "SLAVE"}
    assert_holds(
        QueryConfig, set_as({"slaveTimeout": "800", "slaveReadEnable": "true", "brokerRole": "SLAVE"}, **given)
    )
    for name, other in (("slaveTimeout", "3000"), ("slaveReadEnable", "false"), ("brokerRole", "ASYNC_MASTER")):
        assert_broken(QueryConfig, set_as({name: other}, **given), f"slave has {name}={other}; it was given ")


def test_settings_that_are_not_reported_or_left_to_the_broker_are_not_judged() -> None:
    assert_holds(QueryConfig, set_as({"rackName": "r", "inSyncReplicas": "1"}, inSyncReplicas=0, haPushes="written"))
    assert_holds(QueryConfig, set_as({"brokerIP2": "127.0.0.1"}, brokerIP2=""))
    assert_broken(QueryConfig, set_as({"brokerIP2": "127.0.0.1"}, brokerIP2="127.0.0.2"), "brokerIP2")


def test_a_broker_reports_its_settings() -> None:
    assert_broken(QueryConfig, answer(bare(), "config", "SYSTEM_ERROR", detail="no"), "answers SYSTEM_ERROR: no")
    assert_vacuous(QueryConfig, answer(bare(), "config", "SYSTEM_BUSY"))
    assert_vacuous(QueryConfig, answer(bare(), "members", detail=[]))


def test_a_slave_of_rocketmq_takes_ten_from_its_ratio() -> None:
    reported, given = {"accessMessageInMemoryMaxRatio": "30"}, {"accessMessageInMemoryMaxRatio": 40}
    assert_broken(QueryConfig, set_as(reported, **given), "accessMessageInMemoryMaxRatio=30")
    java = bare().config("slave", brokerId=1, **given).add("start", node="slave", f="unknown")
    assert_holds(QueryConfig, answer(java, "config", node="slave", detail=reported))
