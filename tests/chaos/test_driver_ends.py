"""When a pair has come to rest: where a broker's log ends, as clients and files show it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pairproof.chaos.rocketmq.driver import RocketMQDriver


def ends(stored: dict[str, int], **shown: int) -> set[int | None]:
    up = SimpleNamespace(is_up=True)
    world = SimpleNamespace(evidence=SimpleNamespace(log_ends=shown), nodes={"master": up, "slave": up})
    driver: Any = SimpleNamespace(world=world, clients=SimpleNamespace(stored=stored), pair=("master", "slave"))
    return RocketMQDriver.ends(driver)


def test_a_log_whose_files_lack_an_answered_message_has_no_end_yet() -> None:
    assert ends({"master": 460}, master=460, slave=460) == {None, 460}, "its process's pool holds the message"
    assert ends({"master": 460}, master=690, slave=690) == {690}
    assert ends({}, master=460, slave=460) == {460}
    assert ends({}, slave=460) == {None, 460}
