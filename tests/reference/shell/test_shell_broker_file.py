"""The reader of brokers' files: what is refused, in one line that can be printed, and which keys RocketMQ has."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest
from hypothesis import given, strategies
from hypothesis import settings as sized

from pairproof.reference.errors import ConfigError
from pairproof.reference.shell import broker_file, catalogue, properties
from pairproof.reference.shell.properties import Entry

GOOD = "brokerName=broker-a\nbrokerId=0\nbrokerRole=SYNC_MASTER\nflushDiskType=SYNC_FLUSH\nnamesrvAddr=127.0.0.1:9876\n"
COMPOSE = 'version: "3.7"\nservices:\n  names:\n    image: broker:1\n    ports: ["127.0.0.1:1:1"]\n  # a comment\n'


def refusal(path: Path, data: bytes) -> str:
    """Why a file is refused; one line that a terminal shows as it is."""
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        broker_file.read(path)
    said = str(caught.value)
    assert said.isprintable()
    return said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "b.conf"


def test_a_good_file_is_read_with_its_lines(path: Path) -> None:
    path.write_bytes(b"# \xe4\xb8\xad\xe6\x96\x87\r\n\r\nbrokerRole = SLAVE\r\nflushDiskType : ASYNC_\\\r\n  FLUSH\r\n")
    assert broker_file.read(path) == {"brokerRole": Entry("SLAVE", 3), "flushDiskType": Entry("ASYNC_FLUSH", 4)}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            codecs.BOM_UTF16_LE + GOOD.encode("utf-16-le"),
            "is encoded in UTF-16, of which RocketMQ reads no key: save it",
        ),
        (codecs.BOM_UTF16_BE + GOOD.encode("utf-16-be"), "is encoded in UTF-16,"),
        (GOOD.encode("utf-16-le"), "is encoded in UTF-16,"),
        (GOOD.encode("utf-16-be")[:-1], "is encoded in UTF-16,"),
        (GOOD.encode("utf-32"), "is encoded in UTF-32,"),
        (codecs.BOM_UTF8 + GOOD.encode(), "begins with a byte order mark"),
        (GOOD.encode() + b"a=\x1b[31m", "has the byte 0x1b in line 6: this is not a properties file"),
        (json.dumps({"a": 1}).encode(), "(first: '{\"a\"'): it is JSON; give a broker's properties file"),
        (b'{"a": ', "it looks like JSON"),
        (b'{"brokerRole": "SYNC_MASTER",\n"flushDiskType": "SYNC_FLUSH"}', "it is JSON"),
        (b"<project>\n</project>", "it looks like XML"),
        (
            COMPOSE.encode(),
            "none of the 5 keys in this file is a broker's setting (first: 'version'): it looks like YAML",
        ),
        (
            b"A page of text\nabout brokers\n",
            "none of the 2 keys in this file is a broker's setting (first: 'A'): give",
        ),
        (b"brokerName=x\n" + b"".join(b"k%d=1\n" % n for n in range(10)), "only 1 of the 11 keys in this file"),
        (b"listenPrt=5", "(first: 'listenPrt'; did you mean listenPort?)"),
        (b"a=\\u12", r"b.conf:1: malformed \uXXXX escape in '\u12': write"),
    ],
)
def test_what_is_no_broker_s_file_is_named(path: Path, data: bytes, says: str) -> None:
    assert says in refusal(path, data)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("flushDiskTyp=SYNC_FLUSH", "b.conf:6: RocketMQ has no key flushDiskTyp, and would ignore 'SYNC_FLUSH'; "),
        ("flushdisktype=SYNC_FLUSH", "did you mean flushDiskType?"),
        ("transientStorePoolEnabled=true", "did you mean transientStorePoolEnable?"),
        ("enableDLedgerCommitLog=true", "did you mean enableDLegerCommitLog?"),
        ("insyncReplica=2", "did you mean inSyncReplicas?"),
        ('brokerRole="SYNC_MASTER"', ':6: brokerRole="SYNC_MASTER": RocketMQ takes the quotes for a part of the value'),
        ("brokerRole=slave", ":6: brokerRole must be one of ASYNC_MASTER, SYNC_MASTER, SLAVE, not 'slave'; RocketMQ"),
        ("flushDiskType=SYNC_FLUSH ", ":6: flushDiskType ends with a blank, which changes the value"),
        ("slaveReadEnable=true\t", ":6: slaveReadEnable ends with a blank"),
        ("maxMessageSize=4194304 # four MB", ":6: maxMessageSize must be a whole number, not '4194304 # four MB'"),
        ("listenPort=1_0", ":6: listenPort must be a whole number, not '1_0'"),
        ("autoCreateTopicEnable=yes", ":6: autoCreateTopicEnable must be true or false, not 'yes'"),
        ("slaveTimeout=" + "9" * 5_000, ":6: slaveTimeout must be a whole number, not '999"),
        ("enableDLegerCommitLog=true", ":6: enableDLegerCommitLog=true: DLedger replicates by a quorum"),
        ("enableControllerMode=true", ":6: enableControllerMode=true: controller mode elects its masters"),
        ("storePathCommitLog=/d1,/d2", ":6: storePathCommitLog=/d1,/d2: pairproof keeps a log in one folder"),
        ("readOnlyCommitLogStorePaths=/d3", ":6: readOnlyCommitLogStorePaths=/d3: pairproof keeps a log in one folder"),
    ],
)  # fmt: skip
def test_what_rocketmq_reads_as_something_else_is_refused_with_its_line(path: Path, line: str, says: str) -> None:
    assert says in refusal(path, f"{GOOD}{line}\n".encode())


@pytest.mark.parametrize(
    "line",
    ["brokerName=broker-a ", "enableDLegerCommitLog=false", "enableControllerMode=FALSE", "storePathCommitLog=/d1",
     "readOnlyCommitLogStorePaths=", "sendMessageThreadPoolNums=16", "clusterTopicEnabel=true",
     "diskMaxUsedSpaceRatio=88", "haSlavFallbehindMax=5", "storePathConsumeQueue=/d1/consumequeue", "replicas=2"],
)  # fmt: skip
def test_what_rocketmq_reads_as_meant_or_what_decides_nothing_about_loss_is_read(path: Path, line: str) -> None:
    path.write_text(f"{GOOD}{line}\n")
    assert line.partition("=")[0] in broker_file.read(path)


TEXT = strategies.text(max_size=80) | strategies.sampled_from([GOOD, COMPOSE, '{"a": [1, {"b": "\\u0000"}]}'])
CODECS = strategies.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gbk", "latin-1"])


@sized(max_examples=150, derandomize=True, deadline=None, database=None)
@given(data=strategies.data())
def test_any_bytes_are_read_or_refused_in_one_printable_line(
    data: strategies.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.conf"
    raw = data.draw(
        strategies.binary(max_size=200) | TEXT.map(lambda text: GOOD.encode() + text.encode("utf-8", "replace"))
    )
    if data.draw(strategies.booleans()):
        raw = data.draw(TEXT).encode(data.draw(CODECS), "replace")
    path.write_bytes(raw[: data.draw(strategies.integers(0, 300))])
    try:
        found = broker_file.read(path)
    except ConfigError as why:
        assert str(why).isprintable()
    else:
        assert all(each.line >= 1 for each in found.values())


def test_a_text_that_is_printed_has_no_control_characters() -> None:
    assert properties.plain("a\x00\x1b[1m\x85\ud800b") == r"a\x00\x1b[1m\x85\ud800b"
    assert properties.plain("中文".encode().decode("latin-1")) == "中文"
    assert properties.plain("x" * 99, 5) == "xxxxx..."


def test_releases_have_keys_of_their_own() -> None:
    lines = {release: set(catalogue.of(release)) for release in catalogue.RELEASES}
    assert [len(lines[each]) for each in catalogue.RELEASES] == [157, 169, 184, 392, 492]
    assert lines["5.5.0"] - lines["5.3.1"] and "mapedFileSizeCommitLog" in lines["4.4.0"] - lines["4.9.2"]
    assert catalogue.of("4.9.8") == catalogue.of("4.9.7") and catalogue.of("4.2") == catalogue.of("4.4.0")
    assert not catalogue.names() & set(catalogue.settings())


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("totalReplicas", "RocketMQ 4.9.7 has no key totalReplicas and ignores it, 5.3.1 to 5.5.0 have it"),
        ("mapedFileSizeCommitLog", "4.4.0 has it; did you mean mappedFileSizeCommitLog?"),
        (
            "clusterTopicEnabel",
            "RocketMQ 4.9.7 has no key clusterTopicEnabel and ignores it; did you mean clusterTopicEnable?",
        ),
        ("storePathComsumeQueue", "did you mean storePathConsumeQueue? (RocketMQ ignores that key, too)"),
        ("storePathConsumeQueue", "though many files name it: the path follows from storePathRootDir"),
        ("own\x1b" + "x" * 200, r"has no key own\x1bxxx"),
    ],
)
def test_what_a_release_lacks_is_said_with_what_was_meant(key: str, says: str) -> None:
    assert says in catalogue.lacks("4.9.7", key)


def test_no_key_of_another_release_is_taken_for_a_mistyped_one_that_decides_about_loss() -> None:
    # As a key of a release that is not in the catalogue would be: each left out in turn.
    known = set(catalogue.settings())
    harmless = [key for key in known if not catalogue.DECIDES_LOSS.fullmatch(key)]
    for key in harmless:
        assert not catalogue.DECIDES_LOSS.fullmatch(catalogue.like(key, known - {key}, catalogue.QUITE_CLOSE))
