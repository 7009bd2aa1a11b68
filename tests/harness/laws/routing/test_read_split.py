"""Tests of ``read-split``."""

from __future__ import annotations

import itertools
import json

import pytest
from histories import H, Verdict, assert_broken, assert_holds, assert_vacuous, judged

from pairproof.harness.rocketmq.laws.routing.read_split import ReadSplit

MB = 1_000_000


class Reads(H):
    """A pair whose log is written in bytes of choice, and a reader of t/0."""

    def begin_pull(self, node: str = "master", group: str | None = "g", value: int = 0) -> Reads:
        self.ops += 1
        self.add("invoke", node=node, process=1, op=self.ops, f="pull", queue="t/0", group=group, value=value)
        return self

    def end_pull(
        self, broker: int | None, following: int = 1, hi: int = 1, status: str = "PUT_OK", node: str = "master",
        group: str | None = "g",
    ) -> Reads:  # fmt: skip
        self.add(
            "ok", node=node, process=1, op=self.ops, f="pull", status=status, queue="t/0", group=group,
            queue_offset=following, lo=0, hi=hi, broker=broker,
        )  # fmt: skip
        return self

    def pulled(self, broker: int | None, following: int = 1, hi: int = 1, **how: str) -> Reads:
        self.begin_pull(how.get("node", "master"))
        return self.end_pull(broker, following, hi, **how)

    def message(self, offset: int, lo: int, node: str | None = None) -> Reads:
        """A store reader, or a consumer, finds a message there, at the last event's node."""
        self.add(
            "record", node=node or self.events[-1].node, op=1, queue="t/0", queue_offset=offset, lo=lo, hi=lo + 100
        )
        return self

    def group(self, phase: str = "ok", node: str = "master", status: str = "", **choice: int) -> Reads:
        """An administrator changes g, as far as ``phase``."""
        self.ops += 1
        columns = {"node": node, "process": 9, "op": self.ops, "f": "group", "message": "g"}
        self.add("invoke", detail=json.dumps(choice), **columns)
        if phase != "invoke":
            self.add(phase, **columns, status=status)
        return self

    def sync(self, upto: str = "applied") -> Reads:
        for status in dict.fromkeys(("asked", upto)):
            self.add("sync", node="slave", f="groups", status=status)
        return self


def reads(log: int = 10 * MB, end: int | None = None, **settings: object) -> Reads:
    """Both logs have ``log`` bytes; of the brokers' 10 MB, 40 % serve for reading. A pull is under way."""
    history = Reads()
    history.config("master", totalMemory=10 * MB, **settings).config("slave", totalMemory=10 * MB, **settings)
    history.start("master", log).start("slave")
    history.append("slave", 0, log if end is None else end)
    history.begin_pull("master")
    return history


ON = {"slaveReadEnable": True}


@pytest.mark.parametrize("node", ["master", "slave"])
def test_without_a_split_every_reader_is_sent_to_the_master(node: str) -> None:
    assert_holds(ReadSplit, reads().pulled(0, node=node))
    assert_broken(ReadSplit, reads().pulled(1, node=node), f"{node} suggested broker 1 for t/0; slaveReadEnable is off")
    off = reads(slaveReadEnable="false").pulled(1, node=node, status="PULL_NOT_FOUND")
    assert_broken(ReadSplit, off, "slaveReadEnable is off")


def test_an_answer_without_a_suggestion_is_not_judged() -> None:
    assert_vacuous(ReadSplit, reads().pulled(None))


def test_a_slave_that_echoes_an_offset_may_name_the_group_s_own_broker() -> None:
    changed = reads().group(brokerId=1).sync().pulled(1, status="PULL_RETRY_IMMEDIATELY", node="slave")
    assert_holds(ReadSplit, changed)
    assert_broken(ReadSplit, reads().pulled(1, status="PULL_RETRY_IMMEDIATELY", node="slave"), "slaveReadEnable is off")
    on_master = reads().group(brokerId=1).pulled(1, status="PULL_RETRY_IMMEDIATELY")
    assert_broken(ReadSplit, on_master, "slaveReadEnable is off")


@pytest.mark.parametrize("node", ["master", "slave"])
@pytest.mark.parametrize("on", [True, 1, "true", "1"])
def test_with_a_split_the_slow_are_sent_to_the_slave(node: str, on: object) -> None:
    def at(lo: int, broker: int) -> Reads:
        return reads(slaveReadEnable=on).pulled(broker, node=node).message(0, lo)

    assert_holds(ReadSplit, at(6 * MB - 1, 1))
    assert_holds(ReadSplit, at(6 * MB, 0))
    assert_broken(
        ReadSplit, at(6 * MB - 1, 0), "this reader was at least 4000001 bytes behind the log's end, and 4000000 are in"
    )
    assert_broken(ReadSplit, at(6 * MB, 1), "as if slow; this reader was at most 4000000 bytes behind")


def test_each_broker_counts_to_the_end_of_its_own_log() -> None:
    def behind(broker: int) -> Reads:
        return reads(end=5 * MB, **ON).pulled(broker, node="slave").message(0, 2 * MB)

    assert_holds(ReadSplit, behind(0))
    assert_broken(ReadSplit, behind(1), "at most 3000000 bytes")


def test_the_ratio_determines_the_bytes_in_memory() -> None:
    none = reads(**ON, accessMessageInMemoryMaxRatio=0)
    assert_holds(ReadSplit, none.pulled(1).message(0, 10 * MB - 100))
    assert_broken(
        ReadSplit, reads(**ON, accessMessageInMemoryMaxRatio="80").pulled(1).message(0, 2 * MB), "8000000 are in memory"
    )
    unknown = Reads().config("master", **ON).start("master", 10 * MB)
    assert isinstance(unknown, Reads)
    assert_holds(ReadSplit, unknown.pulled(1).message(0, 10 * MB - 100))


def test_a_full_answer_looked_at_the_next_entry_too() -> None:
    def full(broker: int, hi: int = 2) -> Reads:
        return reads(**ON).pulled(broker, 1, hi).message(0, 5 * MB).message(1, 7 * MB)

    # Between the last given entry and the next one both ids are right.
    assert_holds(ReadSplit, full(0))
    assert_holds(ReadSplit, full(1))
    assert_broken(ReadSplit, full(0, hi=1), "at least 5000000 bytes")
    slow = reads(**ON).pulled(0, 1, 2).message(0, 4 * MB).message(1, 5 * MB)
    assert_broken(ReadSplit, slow, "at least 5000000 bytes")
    assert_holds(ReadSplit, reads(**ON).pulled(0, 1, 2).message(0, 4 * MB))


def test_messages_during_the_call_may_count_or_not() -> None:
    def growing(broker: int) -> Reads:
        history = reads(**ON).begin_pull()
        history.append("master", 10 * MB, 12 * MB, "put")
        return history.end_pull(broker).message(0, 7 * MB)

    assert_holds(ReadSplit, growing(0))
    assert_holds(ReadSplit, growing(1))


@pytest.mark.parametrize(("committed", "is_right"), [(11 * MB, True), (12 * MB, False)])
def test_bytes_in_a_transient_store_pool_are_not_behind_a_reader(committed: int, is_right: bool) -> None:
    history = reads(transientStorePoolEnable="true", **ON).append("master", 10 * MB, 12 * MB, "put")
    pulled = history.add("commit", node="master", hi=committed).begin_pull().end_pull(0).message(0, 7 * MB)
    (assert_holds if is_right else assert_broken)(ReadSplit, pulled, *[] if is_right else ["behind the log's end"])


def test_an_offset_that_was_given_twice_may_be_either_message() -> None:
    assert_holds(ReadSplit, reads(**ON).message(0, 2 * MB).pulled(0).message(0, 7 * MB))
    assert_holds(ReadSplit, reads(**ON).message(0, 2 * MB).pulled(1).message(0, 7 * MB))


def test_a_pull_that_found_nothing_is_not_slow() -> None:
    for status in ("PULL_NOT_FOUND", "PULL_OFFSET_MOVED"):
        assert_holds(ReadSplit, reads(**ON).pulled(0, status=status).message(0, 0))
        assert_broken(ReadSplit, reads(**ON).pulled(1, status=status), "broker 1 for t/0; it read no entry")
    for broker in (0, 1):
        assert_holds(ReadSplit, reads(**ON).pulled(broker, status="PULL_RETRY_IMMEDIATELY").message(0, 0))


def test_a_broker_that_the_group_never_named_is_wrong() -> None:
    assert_broken(ReadSplit, reads(**ON).pulled(2), "suggested broker 2 for t/0; its group wants 0, or 1 when slow")


def test_a_group_s_own_choice_counts() -> None:
    def chosen(broker: int, lo: int) -> Reads:
        return reads(**ON).group(brokerId=2, whichBrokerWhenConsumeSlowly=3).pulled(broker).message(0, lo)

    assert_holds(ReadSplit, chosen(2, 9 * MB))
    assert_holds(ReadSplit, chosen(3, 0))
    assert_broken(ReadSplit, chosen(0, 9 * MB), "its group wants 2, or 3 when slow")
    assert_broken(ReadSplit, chosen(2, 0), "at least 10000000 bytes")
    assert_broken(ReadSplit, chosen(3, 9 * MB), "as if slow")


@pytest.mark.parametrize("phase", ["invoke", "info"])
def test_a_choice_that_may_have_arrived_may_count(phase: str) -> None:
    assert_holds(ReadSplit, reads(**ON).group(phase, brokerId=2).pulled(2).message(0, 9 * MB))
    assert_holds(ReadSplit, reads(**ON).group(phase, brokerId=2).pulled(0).message(0, 9 * MB))
    assert_holds(ReadSplit, reads(**ON).group("fail", brokerId=2).pulled(2).message(0, 9 * MB))
    refused = reads(**ON).group("fail", status="refused", brokerId=2).pulled(2)
    assert_broken(ReadSplit, refused, "its group wants 0, or 1")


def test_a_slave_uses_the_settings_of_its_last_sync() -> None:
    def asked(history: Reads, broker: int) -> Reads:
        return history.pulled(broker, node="slave").message(0, 9 * MB)

    assert_broken(ReadSplit, asked(reads(**ON).sync().group(brokerId=2), 2), "its group wants 0, or 1")
    assert_broken(ReadSplit, asked(reads(**ON).group(brokerId=2), 2), "its group wants 0, or 1")
    for broker, upto in itertools.product((0, 2), ("asked", "answered")):
        assert_holds(ReadSplit, asked(reads(**ON).sync().group(brokerId=2).sync(upto), broker))
    assert_holds(ReadSplit, asked(reads(**ON).group(brokerId=2).sync(), 2))
    assert_broken(ReadSplit, asked(reads(**ON).group(brokerId=2).sync(), 0), "its group wants 2, or 1")
    lost = reads(**ON).group(brokerId=2).sync().crash("slave", "machine").start("slave")
    assert isinstance(lost, Reads)
    assert_holds(ReadSplit, asked(lost, 0))


def test_a_pull_that_was_held_may_be_answered_as_of_its_beginning() -> None:
    held = reads(**ON).sync().begin_pull("slave").group(brokerId=2).sync()
    op = held.ops - 1
    for broker, verdict in ((0, Verdict.HOLDS), (2, Verdict.HOLDS), (3, Verdict.VIOLATED)):
        events = [*held.events]
        event = events[0]._replace(
            seq=len(events), kind="ok", node="slave", op=op, f="pull", queue="t/0", status="PULL_NOT_FOUND", group="g",
            queue_offset=1, broker=broker, detail=None,
        )  # fmt: skip
        assert judged(ReadSplit, [*events, event]).verdict is verdict


@pytest.mark.parametrize("how", ["machine", "wipe"])
def test_a_master_that_lost_its_disk_s_tail_may_know_less(how: str) -> None:
    history = reads(**ON).group(brokerId=2)
    if how == "wipe":
        history.wipe("master", "image")
    else:
        history.crash("master", "machine")
    history.start("master", 10 * MB)
    assert_holds(ReadSplit, history.pulled(0).message(0, 9 * MB))


@pytest.mark.parametrize("how", ["crash", "stop"])
def test_unsaved_settings_are_lost_with_the_process(how: str) -> None:
    def ended(node: str, saved: bool) -> Reads:
        history = reads(**ON)
        for state in ("on", "off"):
            if not saved:
                history.fault("disk_full", node, state)
            if state == "on":
                history.group(brokerId=2).sync()
        (history.crash if how == "crash" else history.stop)(node)
        return history.start(node, 10 * MB)  # type: ignore[return-value]

    for node in ("master", "slave"):
        assert_holds(ReadSplit, ended(node, False).pulled(0, node=node).message(0, 9 * MB))
    assert_broken(ReadSplit, ended("master", True).pulled(0).message(0, 9 * MB), "its group wants 2")
    assert_broken(ReadSplit, ended("slave", True).pulled(0, node="slave").message(0, 9 * MB), "its group wants 2")


def test_a_slave_of_5_may_send_the_quick_to_the_master() -> None:
    def quick(version: str) -> Reads:
        history = reads(**ON, rocketmqVersion=version).group(brokerId=1, whichBrokerWhenConsumeSlowly=2).sync()
        return history.pulled(0, node="slave").message(0, 9 * MB)

    assert_holds(ReadSplit, quick("5.5.0"))
    assert_broken(ReadSplit, quick("4.9.7"), "its group wants 1, or 2")


def test_both_ids_are_right_if_the_lag_is_unknown() -> None:
    for broker in (0, 1):
        rolled = reads(**ON).crash("master", "machine").start("master", 5 * MB)
        assert isinstance(rolled, Reads)
        assert_holds(ReadSplit, rolled.pulled(broker, node="slave").message(0, 9 * MB if broker else 0))
        empty = Reads().config("master", **ON, totalMemory=10 * MB).config("slave", **ON, totalMemory=10 * MB)
        empty.start("master", 10 * MB).start("slave")
        assert isinstance(empty, Reads)
        assert_holds(ReadSplit, empty.pulled(broker, node="slave").message(0, 9 * MB if broker else 0))
    cut = reads(**ON).begin_pull().crash("master", "machine").start("master", 5 * MB)
    assert isinstance(cut, Reads)
    assert_holds(ReadSplit, cut.end_pull(0).message(0, 0))


def test_a_call_that_failed_suggests_nothing() -> None:
    history = reads().begin_pull()
    history.add("fail", node="master", process=1, op=history.ops, f="pull", status="SYSTEM_ERROR")
    assert_vacuous(ReadSplit, history)


def test_a_broker_suggests_to_a_reader_with_a_fixed_broker_as_to_any_other() -> None:
    def fixed(broker: int) -> Reads:
        history = reads(**ON)
        history.add("consumer", process=1, status="on", group="g", f="clustering", broker=1)
        return history.pulled(broker, node="slave").message(0, 9 * MB, "slave")

    assert_holds(ReadSplit, fixed(0))
    assert_broken(ReadSplit, fixed(1), "suggested broker 1")


def test_another_broker_may_hold_another_message_at_the_same_offset() -> None:
    assert_holds(ReadSplit, reads(**ON).pulled(1).message(0, 9 * MB, "slave"))
    assert_broken(ReadSplit, reads(**ON).pulled(1).message(0, 9 * MB), "at most 1000000 bytes behind")


def test_the_log_before_its_replacement_counts_for_earlier_reads() -> None:
    def replaced(between: str) -> Reads:
        # 6 MB behind, at an offset that only a later store's reader reports.
        history = reads(**ON).pulled(1).message(0, 9 * MB)
        if between:
            history = reads(**ON).pulled(1)
            if between == "wipe":
                history.add("wipe", node="master", f="empty", hi=0)
            else:
                history.crash("master", "machine").start("master", int(between))
            history.message(0, 9 * MB)
        return history

    assert_broken(ReadSplit, replaced(""), "as if slow; this reader was at most 1000000 bytes behind")
    assert_holds(ReadSplit, replaced("wipe"))
    assert_broken(ReadSplit, replaced(str(10 * MB)), "as if slow; this reader was at most 1000000 bytes behind")
    assert_holds(ReadSplit, replaced(str(9 * MB)))
    # The same for a known offset that is truncated.
    gone = reads(**ON).message(0, 9 * MB).crash("master", "machine").start("master", 9 * MB).pulled(1)
    assert_holds(ReadSplit, gone.message(0, 4 * MB))
    known = reads(**ON).message(0, 9 * MB).pulled(1)
    known.add("wipe", node="master", f="empty", hi=0)
    assert_broken(ReadSplit, known, "as if slow; this reader was at most 1000000 bytes behind")


def test_an_answer_that_was_under_way_when_its_broker_fell_was_about_its_log_then() -> None:
    def answered(fell: bool) -> Reads:
        history = reads(3 * MB, **ON).begin_pull()
        if fell:
            history.append("master", 3 * MB, 10 * MB).crash("master", "machine").start("master", 4 * MB)
        history.end_pull(1)
        return history.message(0, 3 * MB)

    assert_broken(ReadSplit, answered(fell=False), "as if slow")
    assert_holds(ReadSplit, answered(fell=True))
