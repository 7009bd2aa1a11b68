"""What a file may ask for is bounded: a schedule that would run for days, or is none, is refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.trials.schedule import Op
from pairproof.harness.trials.schedule_json import MAX_SEED_CHARS, from_json

SEND = {"producer": 0, "size": 1, "wait": True, "queue": 0}
ARM = {"node": "master", "point": "append", "nth": 1, "name": "kill"}


def data(*ops: Any, settings: Any = None, seed: Any = "s") -> dict[str, Any]:
    return {"format": 1, "settings": {} if settings is None else settings, "seed": seed, "ops": list(ops)}


def test_largest_values_are_still_a_schedule() -> None:
    ops = [
        ["advance", {"ms": 3_600_000}],
        ["step", {"events": 1_000_000}],
        ["send", {"producer": 2**31 - 1, "size": 4 * 1024 * 1024, "wait": False, "queue": 2**31 - 1}],
        ["pull", {"reader": 2**31 - 1, "node": "slave", "queue": 0}],
        ["arm", {**ARM, "nth": 1_000_000, "keep": "none"}],
        ["join", {"group": 9, "consumer": 9}],
        ["leave", {"group": 9, "consumer": 9, "lost": True}],
        ["topic", {"number": 99, "queues": 64, "node": "master"}],
        ["group", {"group": 9, "slowly": 3, "broker": 3, "node": "slave"}],
        ["send_to_wrong_broker", {"node": "other", "queue": 2**31 - 1}],
        ["delayed", {"producer": 2**31 - 1, "queue": 2**31 - 1, "level": 99}],
        ["await", {"what": "replicated", "count": 10_000, "ms": 3_600_000}],
    ]
    read = from_json(data(*ops, settings={"brokerRole": "SYNC_MASTER", "haTransferBatchSize": 512, "x": True}))
    assert read.ops == tuple(Op(do, args) for do, args in ops)
    assert from_json(read.to_json()) == read


@pytest.mark.parametrize(
    ("op", "complaint"),
    [
        (["advance", {"ms": 3_600_001}], "operation 1 (advance): ms must be 3600000 at most, not 3600001"),
        (["advance", {"ms": 10**18}], "ms must be 3600000 at most"),
        (["step", {"events": 1_000_001}], "events must be 1000000 at most"),
        (["send", {**SEND, "size": 4 * 1024 * 1024 + 1}], "size must be 4194304 at most"),
        (["send", {**SEND, "producer": 2**31}], "producer must be 2147483647 at most"),
        (["send", {**SEND, "queue": 2**31}], "queue must be 2147483647 at most"),
        (["send", {**SEND, "wait": 1}], "needs wait as bool, not 1"),
        (["send", {**SEND, "colour": 1}], "(send) has no argument 'colour'; valid: producer, queue, size, wait"),
        (["pull", {"reader": 2**31, "node": "slave", "queue": 0}], "reader must be 2147483647 at most"),
        (["arm", {**ARM, "nth": 1_000_001}], "nth must be 1000000 at most"),
        (["join", {"group": 10, "consumer": 0}], "operation 1 (join): group must be 9 at most, not 10"),
        (["leave", {"group": 0, "consumer": 0, "lost": 0}], "operation 1 (leave) needs lost as bool, not 0"),
        (["topic", {"number": 0, "queues": 65, "node": "master"}], "queues must be 64 at most"),
        (["group", {"group": 0, "slowly": 4, "broker": 0, "node": "master"}], "slowly must be 3 at most"),
        (
            ["send_to_wrong_broker", {"node": "slave", "queue": 0, "size": 1}],
            "has no argument 'size'; valid: node, queue",
        ),
        (["delayed", {"producer": 0, "queue": 0, "level": 100}], "(delayed): level must be 99 at most, not 100"),
        (["await", {"what": "frames", "count": 10_001, "ms": 1}], "(await): count must be 10000 at most, not 10001"),
        (["await", {"what": "frames", "count": 1, "ms": 3_600_001}], "(await): ms must be 3600000 at most"),
        (
            ["await", {"what": "rain", "count": 1, "ms": 1}],
            "'rain' can be awaited; valid: answered, acknowledged, repl",
        ),
        (["delayed", {"producer": 0, "queue": 0}], "(delayed) needs level as int, not None"),
        (["fault", {"name": "down", "link": ["ha"]}], "'link' must be a whole number, text, true or false, not ['ha']"),
        (["fault", {"name": "latency", "ms": 0.5}], "'ms' must be a whole number"),
        (["fault", {"name": "latency", "ms": None}], "'ms' must be a whole number"),
        (["x" * 5_000, {}], "operation 1: unknown 'xxxxxxxxxxxx...xxxxxxxxxxxxx'; valid: advance, arm"),
    ],
)
def test_operation_beyond_its_bounds_is_refused(op: Any, complaint: str) -> None:
    with pytest.raises(UsageError) as found:
        from_json(data(op))
    assert complaint in str(found.value)
    assert "\n" not in str(found.value) and len(str(found.value)) < 300


@pytest.mark.parametrize("value", [None, 0.5, [1], {"a": 1}, 2**63, "\ud800"])
def test_setting_that_is_no_number_text_or_truth_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="setting 'brokerRole' must be a whole number, text, true or false, not "):
        from_json(data(settings={"brokerRole": value}))


def test_settings_are_limited_in_number() -> None:
    with pytest.raises(UsageError, match="at most 1000 settings, not 1001"):
        from_json(data(settings={str(number): 1 for number in range(1_001)}))


def test_seed_must_be_utf8_and_short() -> None:
    with pytest.raises(UsageError, match=r"a schedule's seed must be text in UTF-8, not 'a\\udcff'"):
        from_json(data(seed="a\udcff"))
    with pytest.raises(UsageError, match="1000 characters at most, not 1001"):
        from_json(data(seed="x" * (MAX_SEED_CHARS + 1)))
    assert from_json(data(seed="é" * MAX_SEED_CHARS)).seed[0] == "é"


def test_deeply_nested_operation_is_refused_in_one_short_line() -> None:
    nested: list[Any] = []
    for _ in range(900):
        nested = [nested]
    with pytest.raises(UsageError, match="operation 1 is not") as found:
        from_json(data(nested))
    assert len(str(found.value)) < 300
