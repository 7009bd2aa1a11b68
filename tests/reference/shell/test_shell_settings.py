"""Properties files as Java reads them, what becomes of their keys, and a log that stops nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pairproof.reference.errors import ConfigError
from pairproof.reference.shell import properties
from pairproof.reference.shell.log import LINES_A_SECOND, Log
from pairproof.reference.shell.settings import settings, told


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
    assert properties.parse(text) == found


@pytest.mark.parametrize("text", [r"a=\u12", r"a=\uxyzw", r"a\u1 = 2"])
def test_a_malformed_escape_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="four hexadecimal digits"):
        properties.parse(text)


def test_a_file_is_latin_1_and_of_reasonable_size(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_bytes(b"name=\xe9")
    assert properties.read(path) == {"name": "é"}
    path.write_bytes(b"#" * (properties.MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="no properties file"):
        properties.read(path)


def test_keys_go_to_the_broker_to_the_shell_or_on_the_list_of_the_ignored() -> None:
    values = {"brokerRole": "SLAVE", "brokerId": "2", "storePathRootDir": "/x", "namesrvAddr": "a:1", "nonsense": ""}
    found = settings(values)
    assert (found.config.brokerId, found.root, found.commit_log) == (2, Path("/x"), Path("/x/commitlog"))
    assert (found.bind, found.idle_s) == ("127.0.0.1", 120)
    assert found.ports == [(10911, "main"), (10909, "main"), (10912, "ha")]
    assert found.ignored == ("namesrvAddr", "nonsense")


def test_a_master_s_id_is_0_whatever_the_file_says() -> None:
    assert settings({"brokerRole": "SYNC_MASTER", "brokerId": "3"}).config.brokerId == 0


def test_ignored_keys_take_one_line_with_what_a_mistyped_one_meant() -> None:
    assert told(("brokerrole", "duplicationEnable")) == (
        "nothing here acts on these settings: brokerrole (did you mean brokerRole?), duplicationEnable"
    )
    assert told(tuple(f"key{n}" for n in range(25))).endswith("key19 and 5 more")


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
    assert lines[-1].endswith("later (7 lines left out before this)")


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
