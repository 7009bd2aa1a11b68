"""What settings of a history mean: defaults, version lines, and how many slaves an answer promises."""

from __future__ import annotations

import pytest

from pairproof.harness.rocketmq.settings import DEFAULTS, LINES, is_on, line, parse, promised_slaves, version


def test_defaults_complete_what_a_history_says() -> None:
    found = parse('{"slaveTimeout": "500", "brokerRole": "SYNC_MASTER"}')
    assert found == {**DEFAULTS, "slaveTimeout": 500, "brokerRole": "SYNC_MASTER"}


@pytest.mark.parametrize("detail", ["[]", "{", '{"slaveTimeout": "soon"}', '{"rocketmqVersion": "latest"}'])
def test_settings_that_cannot_be_are_refused(detail: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(detail)


@pytest.mark.parametrize(
    ("version", "since"),
    [
        ("3.2.6", (0,)),
        ("4.4", (0,)),
        ("4.5.2", (0,)),
        ("4.6.0", (4, 6)),
        ("4.7.0", (4, 7)),
        ("4.7.1", (4, 7, 1)),
        ("4.9.2", (4, 7, 1)),
        ("4.9.3", (4, 9, 3)),
        ("4.9.10", (4, 9, 3)),
        ("5.0.0-preview", (5,)),
        ("5.5.0", (5,)),
    ],
)
def test_every_version_belongs_to_a_line(version: str, since: tuple[int, ...]) -> None:
    assert line({"rocketmqVersion": version}).since == since


def test_lines_are_listed_newest_first_and_a_history_without_a_version_is_one_of_4_9() -> None:
    assert [each.since for each in LINES] == sorted((each.since for each in LINES), reverse=True)
    assert line({}).since == (4, 9, 3)


@pytest.mark.parametrize(
    ("role", "version", "asked", "promised"),
    [
        ("SYNC_MASTER", "4.9.7", 0, 1),
        ("SYNC_MASTER", "4.9.7", 3, 1),
        ("ASYNC_MASTER", "4.9.7", 0, 0),
        ("SYNC_MASTER", "5.5.0", 0, 0),
        ("SYNC_MASTER", "5.5.0", 1, 0),
        ("SYNC_MASTER", "5.5.0", 2, 1),
        ("SYNC_MASTER", "5.5.0", 3, 2),
        ("ASYNC_MASTER", "5.5.0", 3, 0),
    ],
)
def test_how_many_slaves_an_answer_promises(role: str, version: str, asked: int, promised: int) -> None:
    assert promised_slaves({"brokerRole": role, "rocketmqVersion": version, "inSyncReplicas": asked}) == promised


def test_versions_can_be_compared() -> None:
    assert version({}) == (4, 9, 7)
    assert version({"rocketmqVersion": "4.9.10"}) > (4, 9, 4) > version({"rocketmqVersion": "4.9.3"})
    with pytest.raises(ValueError, match="latest"):
        version({"rocketmqVersion": "latest"})


@pytest.mark.parametrize(
    ("said", "on"), [(1, True), (True, True), ("1", True), ("True", True), (0, False), ("false", False), ("", False)]
)
def test_a_setting_is_on_however_that_is_written(said: object, on: bool) -> None:
    assert is_on({"slaveReadEnable": said}, "slaveReadEnable") is on  # type: ignore[dict-item]
    assert not is_on({}, "slaveReadEnable")
