"""How long a send waits for a slave, in each version line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_port import FakePort
from hypothesis import given, settings
from hypothesis import strategies as st

from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.group_transfer import GroupTransfer
from pairproof.reference.core.versions import VERSIONS
from pairproof.reference.errors import ConfigError

MS = 1_000_000
TIMER = ("ha-transfer", None)
TIMEOUT = "FLUSH_SLAVE_TIMEOUT"


class Queue:
    """A queue of sends at 100, 200, ... with default timeouts; what was answered to which, and when."""

    def __init__(self, version: str, **settings: int) -> None:
        self.port = FakePort(None)
        self.config = BrokerConfig(brokerRole="SYNC_MASTER", rocketmqVersion=version, **settings)  # type: ignore[arg-type]
        wait = self.config.version.ack_wait
        self.transfer = GroupTransfer(wait, self.config.ack_timeout_ms * MS, self.port, lambda send: not send.without)
        self.answers: list[tuple[int, str, int]] = []
        self.added: list[int] = []
        self.ahead: list[int] = []

    def add(self) -> None:
        end = 100 * (len(self.added) + 1)
        self.added.append(self.ms)
        self.ahead.append(len(self.transfer.waiting))
        self.transfer.add(end, lambda status: self.answers.append((end, status, self.ms)))

    @property
    def ms(self) -> int:
        return self.port.time // MS

    def reach(self, offset: int) -> None:
        self.transfer.covered(max(offset, self.transfer.reached))

    def go_on(self, ms: int) -> None:
        until = self.port.time + ms * MS
        while (at := self.port.timers.get(TIMER, until + 1)) <= until:
            self.port.time = max(at, self.port.time)
            del self.port.timers[TIMER]
            self.transfer.on_timer()
        self.port.time = until


@pytest.fixture(params=list(VERSIONS))
def any_queue(request: pytest.FixtureRequest) -> Queue:
    return Queue(request.param)


def test_send_that_a_slave_holds_is_answered_at_once_in_every_version(any_queue: Queue) -> None:
    any_queue.add()
    any_queue.add()
    any_queue.reach(199)
    assert any_queue.answers == [(100, "PUT_OK", 0)]
    any_queue.reach(200)
    assert any_queue.answers[1:] == [(200, "PUT_OK", 0)]


@pytest.mark.parametrize(("version", "patience_ms"), [("4.4.0", 5_000), ("4.9.2", 5_000), ("4.9.7", 3_000)])
def test_lonely_send_waits_for_its_version_s_timeout(version: str, patience_ms: int) -> None:
    queue = Queue(version)
    queue.add()
    queue.go_on(patience_ms - 1)
    assert queue.answers == []
    queue.go_on(1)
    assert queue.answers == [(100, TIMEOUT, patience_ms)]


@pytest.mark.parametrize(
    ("version", "at_ms"),
    [("4.4.0", [5_000, 6_000]), ("4.9.2", [5_000, 10_000]), ("4.9.7", [3_000, 4_000]), ("5.5.0", [3_000, 4_000])],
)
def test_second_send_waits_behind_the_first_only_where_the_wait_begins_with_its_turn(
    version: str, at_ms: list[int]
) -> None:
    queue = Queue(version)
    queue.add()
    queue.go_on(1_000)
    queue.add()
    queue.go_on(60_000)
    assert queue.answers == [(100, TIMEOUT, at_ms[0]), (200, TIMEOUT, at_ms[1])]


def test_up_to_4_5_2_each_send_has_five_rounds_of_a_second_once_it_is_its_turn() -> None:
    queue = Queue("4.4.0", syncFlushTimeout=60_000)
    for _ in range(3):
        queue.add()
        queue.go_on(100)
    queue.go_on(60_000)
    assert queue.answers == [(100, TIMEOUT, 5_000), (200, TIMEOUT, 10_000), (300, TIMEOUT, 15_000)]


def test_up_to_4_5_2_a_sender_stops_waiting_and_the_thread_spends_its_rounds_on_it_all_the_same() -> None:
    queue = Queue("4.4.0")
    queue.add()
    queue.go_on(1_000)
    queue.add()
    queue.go_on(4_500)
    queue.add()
    queue.go_on(500)
    assert queue.answers == [(100, TIMEOUT, 5_000), (200, TIMEOUT, 6_000)]
    # The second, whose sender is gone, pays for these; without it the third would be given up.
    for offset in (110, 120, 130, 140):
        queue.reach(offset)
    queue.reach(290)
    queue.reach(300)
    assert queue.answers[2:] == [(300, "PUT_OK", 6_000)]


def test_a_send_that_nobody_waits_for_any_more_holds_nothing_up_that_was_reported() -> None:
    queue = Queue("4.4.0", syncFlushTimeout=3_000)
    queue.add()
    queue.go_on(1_000)
    queue.add()
    queue.transfer.abandon(100, "slave")
    queue.reach(200)
    assert queue.answers == []
    queue.go_on(4_000)
    assert queue.answers == [(100, TIMEOUT, 3_000), (200, "PUT_OK", 3_000)]


def test_up_to_4_5_2_a_report_that_came_while_nobody_waited_costs_the_next_send_a_wake_up() -> None:
    queue = Queue("4.4.0")
    queue.reach(50)
    queue.add()
    queue.go_on(60_000)
    queue.add()
    queue.go_on(60_000)
    assert queue.answers == [(100, TIMEOUT, 4_000), (200, TIMEOUT, 65_000)]


def test_a_report_that_says_nothing_new_wakes_nobody() -> None:
    queue = Queue("4.4.0")
    queue.add()
    queue.reach(50)
    for _ in range(9):
        queue.reach(50)
    queue.go_on(3_999)
    assert queue.answers == []
    queue.go_on(1)
    assert queue.answers == [(100, TIMEOUT, 4_000)]


def test_five_reports_that_fall_short_end_the_wait_up_to_4_5_2_and_none_later(any_queue: Queue) -> None:
    any_queue.add()
    for nth in range(5):
        any_queue.go_on(10)
        any_queue.transfer.covered(10 + nth)
    expected = [(100, TIMEOUT, 50)] if any_queue.config.rocketmqVersion in ("4.4.0", "4.5.2") else []
    assert any_queue.answers == expected


def test_seconds_that_pass_and_reports_use_up_the_same_five_wake_ups() -> None:
    queue = Queue("4.4.0")
    queue.add()
    queue.go_on(2_500)
    queue.reach(10)
    queue.go_on(1_999)
    assert queue.answers == []
    queue.go_on(1)
    assert queue.answers == [(100, TIMEOUT, 4_500)]


def test_each_send_has_wake_ups_of_its_own() -> None:
    queue = Queue("4.4.0")
    queue.add()
    queue.add()
    for offset in (10, 20, 30, 40, 100, 110, 120, 130, 140):
        queue.reach(offset)
    assert queue.answers == [(100, "PUT_OK", 0)]
    queue.reach(150)
    assert queue.answers[1:] == [(200, TIMEOUT, 0)]


# Up to 4.5.2 the report itself has cost a second.
@pytest.mark.parametrize(("version", "held_up_ms"), [("4.4.0", 4_000), ("4.9.2", 5_000), ("4.9.7", 0)])
def test_send_that_nobody_can_vouch_for_holds_up_later_ones_only_in_turn(version: str, held_up_ms: int) -> None:
    queue = Queue(version)
    queue.add()
    queue.add()
    queue.transfer.abandon(100, "slave")
    queue.reach(200)
    assert queue.answers == ([] if held_up_ms else [(200, "PUT_OK", 0)])
    queue.go_on(5_000)
    assert sorted(end for end, _, _ in queue.answers) == [100, 200]
    assert (200, "PUT_OK", held_up_ms) in queue.answers


def test_full_queue_says_so_at_once(any_queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.group_transfer.MAX_WAITING_SENDS", 1)
    any_queue.add()
    any_queue.add()
    assert any_queue.answers == [(200, TIMEOUT, 0)]


def test_sends_that_are_answered_already_make_room_for_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairproof.reference.core.group_transfer.MAX_WAITING_SENDS", 3)
    queue = Queue("4.4.0")
    for _ in range(3):
        queue.add()
    queue.go_on(5_000)
    assert len(queue.answers) == 3 and len(queue.transfer.waiting) == 2, "their turns are not over"
    for _ in range(3):
        queue.add()
    assert queue.answers[3:] == [(600, TIMEOUT, 5_000)], "only where all the others wait"
    queue.reach(500)
    assert queue.answers[4:] == [(400, "PUT_OK", 5_000), (500, "PUT_OK", 5_000)]


STEPS = st.one_of(
    st.just(("add", 0)),
    st.tuples(st.just("reach"), st.integers(0, 900)),
    st.tuples(st.just("abandon"), st.integers(0, 900)),
    st.tuples(st.just("go_on"), st.integers(0, 2_000)),
)


def _play(queue: Queue, steps: list[tuple[str, int]]) -> None:
    actions: dict[str, Callable[[int], None]] = {
        "add": lambda _: queue.add(),
        "reach": lambda offset: queue.reach(min(offset, 100 * len(queue.added))),
        "abandon": lambda below: queue.transfer.abandon(below, "slave"),
        "go_on": queue.go_on,
    }
    for what, amount in steps:
        actions[what](amount)


@given(st.sampled_from(list(VERSIONS)), st.lists(STEPS, max_size=40))
@settings(max_examples=400)
def test_whatever_the_version_every_waiting_send_is_answered_once_and_within_its_bound(
    version: str, steps: list[tuple[str, int]]
) -> None:
    queue = Queue(version)
    _play(queue, steps)
    queue.go_on(100_000_000)
    timeout_ms = queue.config.ack_timeout_ms
    answered = {end: at_ms for end, _, at_ms in queue.answers}
    assert len(queue.answers) == len(answered) == len(queue.added)
    for nth, (added_ms, ahead) in enumerate(zip(queue.added, queue.ahead, strict=True), 1):
        wait = queue.config.version.ack_wait
        turns = ahead + 1 if wait.in_turn and not wait.sender_gives_up else 1
        assert answered[100 * nth] - added_ms <= turns * timeout_ms


@given(st.sampled_from(["4.9.2", "4.9.7", "5.5.0"]), st.lists(STEPS, max_size=40))
@settings(max_examples=200)
def test_where_only_time_counts_nobody_is_given_up_early(version: str, steps: list[tuple[str, int]]) -> None:
    queue = Queue(version)
    _play(queue, steps)
    queue.go_on(100_000_000)
    for end, status, at_ms in queue.answers:
        assert status == "PUT_OK" or at_ms - queue.added[end // 100 - 1] >= queue.config.ack_timeout_ms


def test_versions_are_a_closed_list_and_replicas_are_counted_from_5_0_on() -> None:
    assert [BrokerConfig(brokerRole="SYNC_MASTER", rocketmqVersion=each).slaves_to_wait_for for each in VERSIONS] == [
        1, 1, 1, 1, 0,
    ]  # fmt: skip
    assert BrokerConfig(rocketmqVersion="5.5.0", inSyncReplicas=3).slaves_to_wait_for == 0
    assert [each.ha_socket_buffer for each in VERSIONS.values()] == [65_536, 65_536, 65_536, 0, 0]
    with pytest.raises(ConfigError, match=r"rocketmqVersion must be one of 4\.4\.0"):
        BrokerConfig(rocketmqVersion="6.0.0")
    with pytest.raises(ConfigError, match=r"inSyncReplicas came with 5\.0"):
        BrokerConfig(rocketmqVersion="4.9.7", inSyncReplicas=2)
    with pytest.raises(ConfigError, match="haPushes must be one of written, flushed"):
        BrokerConfig(haPushes="all")
