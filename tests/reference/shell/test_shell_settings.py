"""Properties files as Java reads them, what becomes of their keys, and a log that stops nothing."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import pytest

from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.errors import ConfigError
from pairproof.reference.shell import properties
from pairproof.reference.shell.log import LINES_A_SECOND, Log, LogWatcher
from pairproof.reference.shell.memory import machine_memory
from pairproof.reference.shell.settings import describe_ignored, name_settings, settings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1\nb = 2\r\nc:3\rd 4\ne\t=\t5", {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}),
        ("# a=1\n  ! b=2\n\n \t\n   c=3", {"c": "3"}),
        ("a = one \\\n    two\\\n# three", {"a": "one two# three"}),
        (r"a\ b\=c\:d = \t\n\u0041\q\\", {"a b=c:d": "\t\nAq\\"}),
        ("a==b\nc=:d\ne f=g", {"a": "=b", "c": ":d", "e": "f=g"}),
        ("a=1\na=2\nempty=\nalone", {"a": "2", "empty": "", "alone": ""}),
        ("a = b  \t", {"a": "b"}),
        ("a = b\\\\\nc = d\\", {"a": "b\\", "c": "d"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, found: dict[str, str]) -> None:
    assert {key: each.value for key, each in properties.entries(text).items()} == found


@pytest.mark.parametrize("text", [r"a=\u12", r"a=\uxyzw", r"a\u1 = 2"])
def test_a_malformed_escape_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="four hexadecimal digits"):
        properties.entries(text)


def test_a_file_is_latin_1_and_of_reasonable_size(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_bytes(b"name=\xe9")
    assert properties.read(path) == {"name": "é"}
    path.write_bytes(b"#" * (properties.MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="not a properties file"):
        properties.read(path)


def test_keys_go_to_the_broker_to_the_shell_or_on_the_list_of_the_ignored() -> None:
    values = {
        "brokerRole": "SLAVE",
        "brokerId": "2",
        "storePathRootDir": "/x",
        "warmMapedFileEnable": "",
        "nonsense": "",
    }
    found = settings(values, {})
    assert (found.config.brokerId, found.root, found.commit_log) == (2, Path("/x"), Path("/x/commitlog"))
    assert (found.bind, found.idle_s) == ("127.0.0.1", 120)
    assert found.ports == [(10911, "main"), (10909, "fast"), (10912, "ha")]
    assert found.ignored == ("nonsense", "warmMapedFileEnable")


def test_every_setting_of_a_broker_is_read_from_the_file() -> None:
    other = {bool: "false", int: "77", str: "x"}
    given = {each.name: other[type(each.default)] for each in fields(BrokerConfig)} | {
        "brokerRole": "SLAVE", "flushDiskType": "SYNC_FLUSH", "haPushes": "flushed", "rocketmqVersion": "5.5.0",
        "brokerIP1": "10.0.0.1", "brokerIP2": "10.0.0.2", "haMasterAddress": "m:1", "namesrvAddr": "n:1",
        "mappedFileSizeCommitLog": "1024", "messageDelayLevel": "7s", "deleteWhen": "07", "slaveReadEnable": "true",
        "offsetCheckInSlave": "true", "haCutReports": "waits", "haListenPort": "99",
        "brokerPermission": "4", "tableSaves": "written", "transientStorePoolEnable": "true",
    }  # fmt: skip
    found = settings(given, {}).config
    unread = {each.name for each in fields(BrokerConfig) if getattr(found, each.name) == each.default}
    assert unread == set()


def test_memory_is_the_machine_s_unless_the_file_says_otherwise() -> None:
    assert settings({}, {}).config.totalMemory == machine_memory()
    assert settings({"totalMemory": "5"}, {}).config.totalMemory == 5


def test_name_servers_are_those_of_the_file_or_else_of_the_environment() -> None:
    environment = {"NAMESRV_ADDR": "a:1;b:2"}
    assert settings({}, environment).config.name_servers == ("a:1", "b:2")
    assert settings({"namesrvAddr": "c:3;"}, environment).config.name_servers == ("c:3",)
    assert settings({"namesrvAddr": ""}, environment).config.name_servers == ()
    assert settings({}, {}).config.name_servers == ()


@pytest.mark.parametrize("text", ["a", "a:", ":1", "a:0", "a:65536", "a:1,b:2", "a:1; b:2", "a:1 ;b:2", "::1:9876"])
def test_name_servers_that_are_none_are_refused_by_the_name_that_they_came_under(text: str) -> None:
    for values, environment, name in (
        ({"namesrvAddr": text}, {}, "namesrvAddr"),
        ({}, {"NAMESRV_ADDR": text}, "NAMESRV_ADDR"),
    ):
        with pytest.raises(ConfigError, match=f"^{name} must be host:port, several with ; in between, not "):
            settings(values, environment)


def test_the_ha_port_is_the_file_s_in_the_versions_that_have_one() -> None:
    given = {"haListenPort": "10999"}
    assert settings(given, {}).ports[2] == (10912, "ha"), "4.9.7 ignores it"
    assert settings({**given, "rocketmqVersion": "5.5.0"}, {}).ports[2] == (10999, "ha")
    assert settings({"haListenPort": "0", "rocketmqVersion": "5.5.0"}, {}).ports[2] == (10912, "ha")
    for port, says in (("65536", "at most 65535"), ("10911", "must not be listenPort"), ("10909", "two below it")):
        with pytest.raises(ConfigError, match=says):
            settings({"haListenPort": port, "rocketmqVersion": "5.5.0"}, {})
        assert settings({"haListenPort": port}, {})


def test_the_second_address_may_be_a_host_name() -> None:
    assert settings({"brokerIP2": "mq-master.local"}, {}).config.ha_address == "mq-master.local:10912"
    with pytest.raises(ConfigError, match="brokerIP2 must be an address or a host name"):
        settings({"brokerIP2": "a b"}, {})


def test_hours_of_retention_are_checked() -> None:
    with pytest.raises(ConfigError, match="deleteWhen must be hours from 00 to 23"):
        settings({"deleteWhen": "soon"}, {})


def test_a_master_s_id_is_0_whatever_the_file_says() -> None:
    assert settings({"brokerRole": "SYNC_MASTER", "brokerId": "3"}).config.brokerId == 0


def test_ignored_keys_take_one_line_with_what_a_mistyped_one_meant() -> None:
    assert describe_ignored(("brokerrole", "duplicationEnable", "kvConfigPath")) == (
        "nothing here acts on these settings: duplicationEnable, kvConfigPath; "
        "RocketMQ has no such settings: brokerrole (did you mean brokerRole?)"
    )
    assert describe_ignored(tuple(f"key{n}" for n in range(25))).endswith("key19 and 5 more")


def test_a_file_without_a_single_setting_is_no_name_server_s() -> None:
    with pytest.raises(ConfigError, match=r"none of the 2 keys in this file is a name server's setting \(first: '-'\)"):
        name_settings({"-": "x", "A": "y"})
    assert name_settings({"kvConfigPath": "x"}).ignored == ("kvConfigPath",) and name_settings({}).port == 9_876


def test_a_log_says_so_many_lines_a_second_and_then_how_many_it_left_out() -> None:
    read, write = os.pipe()
    now = 5.0
    log = Log(write, lambda: now)
    for number in range(LINES_A_SECOND + 7):
        log.say(f"line {number}\nof two")
    now = 6.0
    log.say("later")
    os.close(write)
    with os.fdopen(read) as file:
        lines = file.read().splitlines()
    assert len(lines) == LINES_A_SECOND + 1
    assert lines[0].endswith("line 0 of two")
    assert lines[-1].endswith("later (7 lines omitted before this)")


def test_a_log_that_nobody_reads_or_that_is_closed_stops_nothing() -> None:
    read, write = os.pipe()
    seconds = iter(range(1_000_000))
    log = Log(write, lambda: float(next(seconds)))
    while not log.left_out:
        log.say("x" * 1_000)
    os.close(read)
    log.say("nobody there")
    os.close(write)
    log.say("not even a pipe")
    assert log.left_out == 3


class Said(Log):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__(fd=-1)
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def test_a_sync_is_told_of_when_it_begins_or_ceases_to_work() -> None:
    log = Said()
    watcher = LogWatcher(log)
    for status in ("applied", "same", "applied", "failed", "failed", "same", "unread", "unread", "failed"):
        watcher.synced("topics", "asked")
        watcher.synced("topics", status)
    watcher.synced("groups", "failed")
    works, fails = "metadata: topics are those of the master", "metadata: topics cannot be fetched from the master"
    unread = "metadata: topics of the master cannot be read"
    assert log.lines == [works, fails, works, unread, fails, "metadata: groups cannot be fetched from the master"]


def test_a_registration_is_told_of_when_the_answer_is_another_one() -> None:
    log = Said()
    watcher = LogWatcher(log)
    for answer in (None, None, {}, {}, {"masterAddr": "m:1"}, {"masterAddr": "m:1"}, None, {"masterAddr": "m:1"}, {}):
        watcher.registered(answer, {})
    silent, done = "registration: a name server does not answer", "registration: done"
    known = f"{done}, the master is m:1"
    assert log.lines == [silent, done, known, silent, known, done]


def test_one_of_two_name_servers_that_is_away_is_told_of_once() -> None:
    log = Said()
    watcher = LogWatcher(log, 2)
    for _ in range(10):
        watcher.registered(None, {})
        watcher.registered({}, {})
    assert log.lines == ["registration: a name server does not answer", "registration: done"]
    for _ in range(3):
        watcher.registered({}, {})
    assert log.lines[2:] == ["registration: done"]


def test_what_happens_all_the_time_is_not_told_of() -> None:
    log = Said()
    watcher = LogWatcher(log)
    watcher.dispatched(1)
    watcher.persisted("offsets")
    watcher.appended(0, 1, b"x", "put")
    watcher.flushed(1)
    assert log.lines == []
