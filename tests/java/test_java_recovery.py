"""Stores of real brokers, started on and stopped by the reference: nothing changes, or what RocketMQ cuts is cut.

One broker of each version writes what a store may hold (NUL and non-ASCII properties, the longest topics, bodies that
clients compressed, batches, several files), is killed, loses its last sectors, is started again, writes on and is
stopped. Compared are the files of log, queues and index: their names and bytes. The checkpoint and the tables of the
config folder are rewritten at every stop, by either kind of broker.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import BROKER_SETTINGS, REFERENCE, Broker, Program, until
from real_brokers import connected, free_port

from pairproof.chaos.observers.store_folder import open_log
from pairproof.chaos.observers.store_reader import read_log
from pairproof.chaos.observers.stored_record import LogRecord
from pairproof.chaos.rocketmq import install, jvm
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command, CommandReader

pytestmark = pytest.mark.slow

ANSWER_S = 60
JAVA_SETTINGS = {"diskMaxUsedSpaceRatio": 98, "timerWheelEnable": "false", "enableControllerMode": "false"}
"""4.9.7 passes over the last two."""
BATCH = 320
COMPRESSED, LZ4, ZSTD = 0x1, 0x100, 0x200
LZ4_FRAME = bytes.fromhex("04224d186040820500008068656c6c6f00000000")
ZSTD_FRAME = bytes.fromhex("28b52ffd200529000068656c6c6f")
NUL = "nul\1a\0b\2zero\1\0\2"
WORDS = "stra\xdfe\1\u65e5\u672c\u8a9e \U0001f600\2"
LONGEST = "t" * 127
GROUP = "g" * 200
WIDE = f"%RETRY%{GROUP}"
"""Over 127 bytes, as retry topics of 5.5.0's POP consumers may be: in V2 records."""


class Java:
    """A broker of one version; it keeps its settings over its lives."""

    def __init__(self, version: str, folder: Path, store: Path) -> None:
        self.store = store
        self.port = free_port()
        folder.mkdir()
        values = {
            **BROKER_SETTINGS, **JAVA_SETTINGS, "storePathRootDir": store, "storePathCommitLog": store / "commitlog",
            "brokerRole": "ASYNC_MASTER", "listenPort": self.port, "mappedFileSizeConsumeQueue": 400,
        }  # fmt: skip
        (folder / "conf").write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        # No request makes a group of this length, but one that is there may have its retry topic sent to.
        (store / "config").mkdir(parents=True)
        groups = {GROUP: {"groupName": GROUP, "consumeEnable": True, "retryQueueNums": 1, "retryMaxTimes": 16}}
        (store / "config" / "subscriptionGroup.json").write_text(json.dumps({"subscriptionGroupTable": groups}))
        jars = install.JARS[version].install()
        self.program = Program(folder, jvm.command(jvm.BROKER, jars, folder / "home", folder / "conf"), jvm.READY)


class Sender:
    """One connection to a broker; every send is answered with PUT_OK before the next one."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.opaque = 0
        sock.settimeout(ANSWER_S)

    def send(self, topic: str, body: bytes, properties: str, sys_flag: int = 0) -> int:
        """Where the message lies in the log."""
        self.opaque += 1
        request = remoting.send_request(
            self.opaque, producer_group="g", topic=topic, queue_id=0, born_ms=1, body=body,
            properties=f"{properties}UNIQ_KEY\1u{self.opaque}", sys_flag=sys_flag,
        )  # fmt: skip
        return int(self.ask(request).fields["msgId"].split(",")[0][-16:], 16)

    def batch(self, topic: str, bodies: list[bytes]) -> None:
        """Several messages in one request."""
        self.opaque += 1
        properties = NUL.encode()
        body = b"".join(
            struct.pack(">iiiii", 22 + len(each) + len(properties), 0, 0, 0, len(each))
            + each + struct.pack(">h", len(properties)) + properties
            for each in bodies
        )  # fmt: skip
        fields = {
            "a": "g", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "", "j": "0",
            "k": "false", "m": "true",
        }  # fmt: skip
        self.ask(remoting.encode(Command(BATCH, self.opaque, 0, fields, body)))

    def ask(self, data: bytes) -> Command:
        """The answer, which is that of success."""
        self.sock.sendall(data)
        reader = CommandReader()
        while more := self.sock.recv(65_536):
            for found in reader.feed(more):
                assert found.code == 0, found
                return found
        raise AssertionError("closed instead of an answer")


def load(sender: Sender, rounds: int, wide: bool) -> None:
    """Write every kind of record, again and again."""
    for number in range(rounds):
        sender.send("plain", b"hello" * 20, "")
        # 5.5.0 cannot answer a message without a body.
        sender.send("plain", b"\0" if wide else b"", NUL)
        sender.send("plain", bytes(1_200), f"{WORDS}KEYS\1k{number} \0 all\2TAGS\1T\0\2")
        sender.send("plain", b"x", "n\1" + "\0" * 300 + "y" * 300 + "\0" * 100 + "\2")
        sender.send(LONGEST, b"long" * 300, NUL + WORDS)
        sender.send("packed", LZ4_FRAME, NUL, COMPRESSED | LZ4)
        sender.send("packed", ZSTD_FRAME, WORDS, COMPRESSED | ZSTD)
        sender.send("late", b"later", f"{NUL}DELAY\1" + "18\2")
        sender.batch("batches", [b"one", bytes(700), b"three" * 100])
        if wide:
            sender.send(WIDE, b"wide" * 50, NUL)


class Stores(NamedTuple):
    """What one version left."""

    version: str
    killed: Path
    torn: Path
    """The killed one without its last sectors."""
    stopped: Path
    """The torn one, after Java had recovered it, had written on and was stopped."""
    java_cut: int
    """Where Java put the next message in the torn one."""


@pytest.fixture(scope="module", params=["4.9.7", pytest.param("5.5.0", marks=pytest.mark.nightly)])
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """Two lives of one broker."""
    version, folder = request.param, tmp_path_factory.mktemp("stores")
    store = folder / "store"
    java = Java(version, folder / "broker", store)
    wide = version != "4.9.7"
    try:
        java.program.start()
        with connected(f"127.0.0.1:{java.port}") as sock:
            sender = Sender(sock)
            load(sender, 40, wide)
            last = struct.pack(">q", sender.send("plain", b"last", ""))
        # The index comes last of all that a message is dispatched to.
        until(lambda: any(last in data for data in indexes(files(store))))
        java.program.kill()
        killed = copied(store, folder / "killed")
        tear(store)
        torn = copied(store, folder / "torn")
        java.program.start()
        with connected(f"127.0.0.1:{java.port}") as sock:
            sender = Sender(sock)
            cut = sender.send("plain", b"the first one", "")
            load(sender, 12, wide)
        assert java.program.stop() in (0, jvm.SIGTERM_EXIT)
        assert not (store / "abort").exists()
    finally:
        java.program.kill()
    yield Stores(version, killed, torn, store, cut)


def copied(store: Path, to: Path) -> Path:
    """A copy, with its holes."""
    shutil.copytree(store, to)
    return to


def records(store: Path) -> list[LogRecord]:
    """What the judge's own reader finds; the log is whole."""
    reading = read_log([(start, bytes(data)) for start, data in open_log(store)])
    assert reading.whole, reading.why
    return reading.records


def tear(store: Path) -> None:
    """A power loss: of the last records' bytes the disk has nothing from a sector in the middle of one of them on."""
    torn = next(each for each in records(store)[-20:] if each.body == bytes(1_200))
    size = (store / "commitlog" / f"{0:020d}").stat().st_size
    at = torn.lo + 600 - (torn.lo + 600) % 512
    for start in range(at - at % size, torn.hi + 10 * size, size):
        path = store / "commitlog" / f"{start:020d}"
        if path.exists():
            keep = max(0, at - start)
            with path.open("r+b") as file:
                file.truncate(keep)
                file.truncate(size)


def files(store: Path) -> dict[str, bytes]:
    """Names and bytes of the files of log, queues and index."""
    return {
        path.relative_to(store).as_posix(): path.read_bytes()
        for folder in ("commitlog", "consumequeue", "index")
        for path in sorted((store / folder).rglob("*"))
        if path.is_file()
    }


def indexes(found: dict[str, bytes]) -> list[bytes]:
    """What the index files hold, the oldest first."""
    return [found[name] for name in sorted(found) if name.startswith("index")]


def lived(store: Path, tmp_path: Path, running: Callable[[Program], Program]) -> str:
    """What the reference says that starts on this store and is stopped."""
    broker = Broker(tmp_path / "reference", REFERENCE, store, brokerRole="ASYNC_MASTER", mappedFileSizeConsumeQueue=400)
    running(broker)
    assert broker.stop() == 0, broker.said()
    return broker.said()


def log_end(said: str) -> int:
    found = re.search(r"log \[0, (\d+)\)", said)
    assert found, said
    return int(found[1])


Running = Callable[[Program], Program]


def test_the_judge_s_reader_finds_every_record_whole(stores: Stores) -> None:
    found = records(stores.stopped)
    assert len(open_log(stores.stopped)) >= 4
    assert {each.topic for each in found} >= {"plain", LONGEST, "packed", "batches", "SCHEDULE_TOPIC_XXXX"}
    assert any(b"\0" in each.properties for each in found) and any("\U0001f600".encode() in each.raw for each in found)
    assert {each.body for each in found} >= {LZ4_FRAME, ZSTD_FRAME, b"three" * 100}
    length_sizes = {each.topic_at - each.body_at - len(each.body) for each in found if each.topic == WIDE}
    assert (stores.version == "4.9.7") is not (2 in length_sizes)


def test_a_store_that_was_stopped_cleanly_keeps_every_byte(stores: Stores, tmp_path: Path, running: Running) -> None:
    store = copied(stores.stopped, tmp_path / "store")
    before = files(store)
    said = lived(store, tmp_path, running)
    assert "normal recovery" in said and " cut " not in said
    assert log_end(said) == records(stores.stopped)[-1].hi
    assert files(store) == before


def test_a_store_whose_broker_was_killed_keeps_every_record(stores: Stores, tmp_path: Path, running: Running) -> None:
    store = copied(stores.killed, tmp_path / "store")
    before = files(store)
    said = lived(store, tmp_path, running)
    assert "abnormal recovery" in said and " cut " not in said
    assert log_end(said) == records(stores.killed)[-1].hi
    after = files(store)
    # As in RocketMQ, the log file that was made ahead goes, and the index is made anew, under another name.
    assert (indexes(after) == indexes(before) != []) or stores.version != "4.9.7"
    kept = {name: data for name, data in before.items() if any(data) and not name.startswith("index")}
    assert {name: data for name, data in after.items() if not name.startswith("index")} == kept


def test_a_store_that_lost_sectors_is_cut_where_java_cuts_it(stores: Stores, tmp_path: Path, running: Running) -> None:
    store = copied(stores.torn, tmp_path / "store")
    before = files(store)
    said = lived(store, tmp_path, running)
    assert log_end(said) == stores.java_cut
    assert f"bytes at {stores.java_cut}, with 0 whole records in them: record at {stores.java_cut} has" in said
    log = b"".join(data for name, data in files(store).items() if name.startswith("commitlog"))
    kept = b"".join(data for name, data in before.items() if name.startswith("commitlog"))[: stores.java_cut]
    assert log == kept + bytes(len(log) - len(kept))


def test_a_store_that_was_damaged_after_a_clean_stop_is_left_alone(stores: Stores, tmp_path: Path) -> None:
    store = copied(stores.stopped, tmp_path / "store")
    found = records(store)
    damaged = next(each for each in found[-20:] if len(each.body) > 100)
    path = store / "commitlog" / f"{damaged.lo - damaged.lo % 65_536:020d}"
    with path.open("r+b") as file:
        file.seek(damaged.lo % 65_536 + 100)
        file.write(b"\xff")
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    broker = Broker(tmp_path / "reference", REFERENCE, store, mappedFileSizeConsumeQueue=400)
    with pytest.raises(AssertionError, match="ended without saying"):
        broker.start()
    assert broker.process is not None and broker.process.wait() == 5
    lost = len(found) - found.index(damaged) - 1
    assert f"a cut at {damaged.lo} would lose {found[-1].hi - damaged.lo} bytes, with {lost} whole" in broker.said()
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before
