"""Topics and subscription groups: creation, versions, what a slave takes from its master; and the capture's."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.subscription_groups import SYSTEM_GROUPS, GroupTable
from pairproof.reference.core.topics import TopicTable, dead_letter_topic, retry_topic
from pairproof.reference.errors import CodecError
from pairproof.reference.wire import beans
from pairproof.reference.wire.bodies import DataVersion, SubscriptionGroupConfig, TopicConfig
from pairproof.reference.wire.bodies_route import RegisterBrokerBody
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command, CommandReader

FIRST_MS = 1_000


def clock() -> Any:
    ticks = itertools.count(FIRST_MS)
    return lambda: next(ticks)


def topics(disk: SimDisk | None = None, **options: Any) -> TopicTable:
    config = BrokerConfig(brokerClusterName="golden-cluster", **options)
    table = TopicTable(disk or SimDisk(), clock(), config)
    table.load()
    return table


def groups(disk: SimDisk | None = None, **options: Any) -> GroupTable:
    table = GroupTable(disk or SimDisk(), clock(), BrokerConfig(**options))
    table.load()
    return table


# Creation.


@pytest.mark.parametrize(("wish", "queues"), [(4, 4), (8, 8), (100, 8), (0, 0), (-1, 0)])
def test_send_creates_a_topic_after_its_template(wish: int, queues: int) -> None:
    table = topics()
    assert table.for_send("new", "TBW102", wish) == TopicConfig("new", queues, queues, 6)
    assert table.get("new") == TopicConfig("new", queues, queues, 6)
    assert table.version == DataVersion(FIRST_MS + 1, 1)


def test_new_topic_inherits_neither_inheritance_nor_order_nor_flag() -> None:
    table = topics()
    table.put("model", TopicConfig("model", 4, 4, 7, topic_sys_flag=3, order=True))
    assert table.for_send("new", "model", 8) == TopicConfig("new", 4, 4, 6)


def test_send_to_a_known_topic_changes_nothing() -> None:
    table = topics()
    table.put("T", TopicConfig("T", 2, 2))
    version = table.version
    assert table.for_send("T", "TBW102", 8) == TopicConfig("T", 2, 2) == table.for_send("T", "nonsense", 8)
    assert table.version == version


@pytest.mark.parametrize(("template", "auto"), [("TBW102", False), ("BenchmarkTest", True), ("unknown", True)])
def test_without_a_template_to_inherit_from_nothing_is_created(template: str, auto: bool) -> None:
    table = topics(autoCreateTopicEnable=auto)
    assert table.for_send("new", template, 4) is None
    assert table.get("new") is None and table.version.counter == 0


def test_template_that_an_earlier_run_saved_does_not_switch_creation_on() -> None:
    disk = SimDisk()
    topics(disk).put("T", TopicConfig("T"))
    table = topics(disk, autoCreateTopicEnable=False)
    assert table.get("TBW102") is not None
    assert table.for_send("new", "TBW102", 4) is None


def test_retry_and_dead_letter_topics_are_made_once_and_grow() -> None:
    table = topics()
    assert table.ensure(retry_topic("G"), 1) == TopicConfig("%RETRY%G", 1, 1, 6)
    assert table.ensure(dead_letter_topic("G"), 1, perm=2) == TopicConfig("%DLQ%G", 1, 1, 2)
    version = table.version
    assert table.ensure(retry_topic("G"), 1) == TopicConfig("%RETRY%G", 1, 1, 6)
    table.ensure_all({retry_topic("G"): 1})
    assert table.version == version
    assert table.ensure(retry_topic("G"), 5) == table.get("%RETRY%G") == TopicConfig("%RETRY%G", 5, 5, 6)
    table.ensure_all({retry_topic("G"): 3})
    assert table.get("%RETRY%G") == TopicConfig("%RETRY%G", 5, 5, 6)
    assert table.version.counter == version.counter + 1


def test_group_is_created_when_somebody_asks_and_that_is_allowed() -> None:
    table, strict = groups(), groups(autoCreateSubscriptionGroup=False)
    assert table.find("G") == SubscriptionGroupConfig("G") == table.get("G")
    assert table.find("G") == SubscriptionGroupConfig("G") and table.version.counter == 1
    assert strict.find("G") is None and strict.version.counter == 0
    assert strict.find("TOOLS_CONSUMER") is not None and strict.find("CID_RMQ_SYS_x") is not None


@pytest.mark.parametrize("name", ["", "a b", "g" * 256])
def test_group_with_an_illegal_name_is_not_created(name: str) -> None:
    assert groups().find(name) is None


def test_tables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    table = groups()
    monkeypatch.setattr("pairproof.reference.core.versioned_table.MAX_ENTRIES", len(table.entries) + 1)
    assert table.find("G") is not None and table.find("H") is None
    assert table.put("G", SubscriptionGroupConfig("G", consume_enable=False))


# Versions and persistence.


def test_every_change_makes_the_next_version() -> None:
    table = topics()
    table.put("T", TopicConfig("T"))
    table.put("T", TopicConfig("T"))
    assert table.remove("T") and not table.remove("T")
    assert table.version == DataVersion(FIRST_MS + 3, 3)


def test_restarted_broker_has_its_tables_and_versions_back() -> None:
    disk = SimDisk()
    table, known = topics(disk), groups(disk)
    table.for_send("new", "TBW102", 4)
    known.find("G")
    again, known_again = topics(disk), groups(disk)
    assert (again.entries, again.version) == (table.entries, table.version)
    assert (known_again.entries, known_again.version) == (known.entries, known.version)


def test_systems_own_topics_are_there_whatever_was_saved() -> None:
    disk = SimDisk()
    table = topics(disk, autoCreateTopicEnable=False)
    table.apply_from_master({"SELF_TEST_TOPIC": TopicConfig("SELF_TEST_TOPIC", 3, 3)}, DataVersion(1, 1))
    again = topics(disk)
    assert again.get("TBW102") is not None and again.get("SELF_TEST_TOPIC") == TopicConfig("SELF_TEST_TOPIC", 3, 3)


def test_change_that_a_full_disk_refused_is_saved_later() -> None:
    disk = SimDisk()
    table = topics(disk)
    disk.full.append(ActiveFault())
    table.put("T", TopicConfig("T"))
    assert table.get("T") is not None and topics(disk).get("T") is None
    disk.full.clear()
    table.save()
    assert topics(disk).get("T") is not None


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"dataVersion":{"counter":1,"timestamp":2}}', b"\xff"])
def test_body_that_is_none_is_an_error(body: bytes) -> None:
    for table in (topics(), groups()):
        with pytest.raises(CodecError):
            table.parse(body)


# From the master.


@pytest.mark.parametrize("version", [DataVersion(5, 1), DataVersion(FIRST_MS, 1), DataVersion(9_999_999, 0)])
def test_slave_takes_any_other_version_older_ones_too(version: DataVersion) -> None:
    disk = SimDisk()
    table = topics(disk)
    table.put("OnlyOnSlave", TopicConfig("OnlyOnSlave"))
    assert table.apply_from_master({"T": TopicConfig("T")}, version)
    assert (dict(table.entries), table.version) == ({"T": TopicConfig("T")}, version)
    assert topics(disk).get("T") is not None and topics(disk).version == version


def test_slave_leaves_its_table_and_file_alone_when_versions_agree() -> None:
    disk = SimDisk()
    table = topics(disk)
    table.put("T", TopicConfig("T"))
    before, file = table.entries, disk.read_whole("config/topics.json")
    disk.delete("config/topics.json")
    assert not table.apply_from_master({}, table.version)
    assert table.entries is before and disk.read_whole("config/topics.json") is None and file


class Watched(Mapping[str, SubscriptionGroupConfig]):
    """A master's table; while the slave reads it, somebody looks at the slave's."""

    def __init__(self, names: set[str], look: Callable[[], object]) -> None:
        self.names = names
        self.look = look

    def __getitem__(self, name: str) -> SubscriptionGroupConfig:
        self.look()
        return SubscriptionGroupConfig(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))

    def __len__(self) -> int:
        return len(self.names)


class ClearsFirst(GroupTable):
    """As RocketMQ 4.9 does it."""

    def apply_from_master(self, entries: Mapping[str, SubscriptionGroupConfig], version: DataVersion) -> bool:
        self.entries = {}
        return super().apply_from_master(entries, version)


@pytest.mark.parametrize(("kind", "atomic"), [(GroupTable, True), (ClearsFirst, False)])
def test_reader_sees_the_old_table_or_the_new_one(kind: type[GroupTable], atomic: bool) -> None:
    table = kind(SimDisk(), clock(), BrokerConfig())
    table.find("G")
    old, new = {*SYSTEM_GROUPS, "G"}, {"G", "H"}
    snapshot, seen = table.entries, []
    table.apply_from_master(Watched(new, lambda: seen.append(set(table.entries))), DataVersion(1, 1))
    assert set(snapshot) == old and set(table.entries) == new
    assert len(seen) == 2 and all(each in (old, new) for each in seen) == atomic


def test_master_keeps_its_own_copy() -> None:
    table = topics()
    given = {"T": TopicConfig("T")}
    table.apply_from_master(given, DataVersion(1, 1))
    given.clear()
    assert table.get("T") is not None


# The capture.


def answers(golden: Path, name: str, code: int) -> list[Command]:
    """The captured answers to ``code``, in order."""
    rows = [json.loads(line) for line in (golden / "remoting" / f"{name}.jsonl").read_text().splitlines()]
    frames = CommandReader().feed((golden / "remoting" / f"{name}.bin").read_bytes())
    return [frame for row, frame in zip(rows, frames, strict=True) if row["request_code"] == code]


def test_fresh_broker_has_the_topics_that_rocketmq_registers_first(golden: Path) -> None:
    first = next(CommandReader().feed((golden / "remoting" / "master--namesrv.bin").read_bytes()))
    wrapper = beans.decode(RegisterBrokerBody, first.body).topic_config_serialize_wrapper
    assert topics(autoCreateTopicEnable=False).entries == wrapper.topic_config_table
    assert wrapper.data_version.counter == 0
    assert topics().entries.keys() - wrapper.topic_config_table.keys() == {"TBW102"}


def test_same_changes_lead_to_the_captured_masters_tables(golden: Path) -> None:
    table, known = topics(autoCreateTopicEnable=False), groups()
    for name, queues in (("Golden-four_1", 4), ("Golden%two", 2)):
        table.put(name, TopicConfig(name, queues, queues))
    table.ensure("RMQ_SYS_TRANS_HALF_TOPIC", 1)
    for group in ("GC_concurrent", "GC_orderly", "GC_puller"):
        config = known.find(group)
        assert config is not None
        if group != "GC_puller":
            table.ensure(retry_topic(group), config.retry_queue_nums)
    config_folder = golden / "store" / "master" / "config"
    entries, version = table.parse((config_folder / "topics.json").read_bytes())
    assert (table.entries, table.version.counter) == (entries, version.counter)
    known_entries, known_version = known.parse((config_folder / "subscriptionGroup.json").read_bytes())
    assert (known.entries, known.version.counter) == (known_entries, known_version.counter)


@pytest.mark.parametrize("broker", ["master", "slave", "late-slave"])
def test_captured_files_are_written_again_byte_by_byte(golden: Path, broker: str) -> None:
    for name, table in (("topics.json", topics()), ("subscriptionGroup.json", groups())):
        data = (golden / "store" / broker / "config" / name).read_bytes()
        table.apply_from_master(*table.parse(data))
        assert table.encode(pretty=True) == data


@pytest.mark.parametrize("broker", ["slave", "late-slave"])
def test_captured_syncs_leave_the_slave_with_the_real_slaves_files(golden: Path, broker: str) -> None:
    syncs = {
        "topics.json": (topics(), answers(golden, f"{broker}--master-vip", RequestCode.GET_ALL_TOPIC_CONFIG)),
        "subscriptionGroup.json": (
            groups(),
            answers(golden, f"{broker}--master", RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
        ),
    }
    for name, (table, frames) in syncs.items():
        assert len(frames) > 5
        applied = [table.apply_from_master(*table.parse(frame.body)) for frame in frames]
        versions = [table.parse(frame.body)[1] for frame in frames]
        assert applied == [now != before for before, now in itertools.pairwise([None, *versions])]
        assert 0 < sum(applied) < len(applied)
        saved = table.parse((golden / "store" / broker / "config" / name).read_bytes())
        assert (table.entries, table.version) == saved
