"""``pairproof capture``: what passes is unchanged, what is recorded is what passed, and ``judge`` reads it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from real_brokers import BrokerProcess, Caller, caller, die_with_parent, free_port

from pairproof.chaos.capture_judging import JudgedCapture, judge_capture
from pairproof.chaos.capturing import session
from pairproof.chaos.capturing.bypass import Bypass
from pairproof.chaos.capturing.names import Answers
from pairproof.chaos.capturing.recording import Recording
from pairproof.chaos.capturing.session import Change, Session, Way
from pairproof.chaos.observers.capture_folder import open_capture
from pairproof.chaos.plan import Address
from pairproof.harness.commands.main import main
from pairproof.harness.judging.judge import all_laws

HOST = "127.0.0.1"
FRAME = (7).to_bytes(8, "big") + (3).to_bytes(4, "big") + b"abc"
REPORT = (7).to_bytes(8, "big")
ENDED_S = 20


@pytest.fixture
def confs(tmp_path: Path) -> dict[str, Path]:
    made = {"master": tmp_path / "master.conf", "slave": tmp_path / "slave.conf"}
    made["master"].write_text("brokerId = 0\n")
    made["slave"].write_text("brokerRole=SLAVE\n")
    return made


class Peer(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Play:
    """A session between a slave and a master of the test's own."""

    def __init__(self, folder: Path, confs: dict[str, Path], limit: int) -> None:
        self.recording = Recording(folder, confs, None, limit)
        self.master, self.listen, self.client = (Address(HOST, free_port()) for _ in range(3))
        self.said: list[str] = []
        ways = Way(self.listen, self.master), [Way(self.client, self.master)]
        self.session = Session(self.recording, *ways, self.said.append, Change("haMasterAddress=x", "remove it"))
        self.masters: asyncio.Queue[Peer] = asyncio.Queue()
        self.writers: list[asyncio.StreamWriter] = []
        self.server: asyncio.Server | None = None

    async def serve(self) -> None:
        async def came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.writers.append(writer)
            await self.masters.put(Peer(reader, writer))

        self.server = await asyncio.start_server(came, *self.master)

    async def pair(self, at: Address) -> tuple[Peer, Peer]:
        slave = await self.slave(at)
        async with asyncio.timeout(ENDED_S):
            return slave, await self.masters.get()

    async def slave(self, at: Address) -> Peer:
        made = Peer(*await asyncio.open_connection(*at))
        self.writers.append(made.writer)
        return made


def play(scene: Callable[[Play], Any], folder: Path, confs: dict[str, Path], limit: int = 1 << 20) -> Play:
    """Let this happen while a session runs, which then ends."""

    async def whole() -> Play:
        made = Play(folder, confs, limit)
        ready = asyncio.Event()
        running = asyncio.create_task(made.session.run(ready.set, None))
        try:
            await ready.wait()
            await scene(made)
        finally:
            signal.raise_signal(signal.SIGINT)
            assert await running == "interrupted"
            for each in made.writers:
                each.close()
            if made.server is not None:
                made.server.close()
        return made

    return asyncio.run(whole())


async def heard(peer: Peer, data: bytes) -> None:
    async with asyncio.timeout(ENDED_S):
        assert await peer.reader.readexactly(len(data)) == data


def test_bytes_pass_unchanged_and_are_recorded_as_they_came(tmp_path: Path, confs: dict[str, Path]) -> None:
    async def scene(made: Play) -> None:
        await made.serve()
        slave, master = await made.pair(made.listen)
        slave.writer.write(REPORT)
        await heard(master, REPORT)
        master.writer.write(FRAME * 1_000)
        await heard(slave, FRAME * 1_000)
        slave.writer.close()
        assert await master.reader.read() == b""
        slave, master = await made.pair(made.listen)
        master.writer.write(FRAME)
        await heard(slave, FRAME)

    play(scene, tmp_path / "captured", confs)
    capture = open_capture(tmp_path / "captured")
    first, second = capture.connections
    assert (first.stream("s2m"), first.stream("m2s")) == (REPORT, FRAME * 1_000)
    assert (first.closed_by, second.closed, second.stream("m2s")) == ("slave", None, FRAME)
    assert capture.is_complete and capture.ended is not None and capture.stalls is not None
    assert capture.configs["master"]["brokerRole"] == "ASYNC_MASTER"


GOES_ROUND = "import socket, sys; held = socket.create_connection((sys.argv[1], int(sys.argv[2]))); sys.stdin.read()"


@pytest.mark.parametrize("goes_round", [True, False])
def test_a_slave_that_goes_round_the_tap_is_noticed(
    tmp_path: Path, confs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, goes_round: bool
) -> None:
    monkeypatch.setattr(session, "SAVED_S", 0.05)

    async def scene(made: Play) -> None:
        await made.serve()
        await made.pair(made.listen)
        to = made.master if goes_round else made.listen
        command = [sys.executable, "-c", GOES_ROUND, to.host, str(to.port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, preexec_fn=die_with_parent) as slave:
            async with asyncio.timeout(ENDED_S):
                await made.masters.get()
                while goes_round and not made.said:
                    await asyncio.sleep(0.01)
            # Time in which it would be noticed.
            await asyncio.sleep(0.5)
            slave.communicate()

    made = play(scene, tmp_path / "captured", confs)
    assert open_capture(tmp_path / "captured").unseen == made.recording.gone_round == goes_round
    assert [f"{made.master} and not through the tap" in each for each in made.said] == [True] * goes_round


def test_sockets_of_java_are_seen_too(tmp_path: Path) -> None:
    (tmp_path / "self" / "fd").mkdir(parents=True)
    (tmp_path / "self" / "net").mkdir()
    (tmp_path / "self" / "fd" / "5").symlink_to("socket:[77]")
    mapped = "0000000000000000FFFF00000100007F"
    rows = [
        f"0: {mapped}:2AA0 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 1",
        f"1: {mapped}:2AA0 {mapped}:9001 01 0:0 0:0 0 0 0 11",
        f"2: {mapped}:2AA0 {mapped}:9002 01 0:0 0:0 0 0 0 12",
        f"3: {mapped}:2AA0 {mapped}:9003 08 0:0 0:0 0 0 0 13",
        f"4: {mapped}:2AA1 {mapped}:9004 01 0:0 0:0 0 0 0 14",
    ]
    (tmp_path / "self" / "net" / "tcp6").write_text("\n".join(["head", *rows]))
    (tmp_path / "self" / "net" / "tcp").write_text("head\n0: 0100007F:9001 0100007F:2AA0 01 0:0 0:0 0 0 0 77\n")
    bypass = Bypass(Address(HOST, 0x2AA0), tmp_path)
    assert [bypass.check(), bypass.check(), bypass.check()] == [0, 1, 0]


def test_a_full_recording_ends_and_bytes_go_on(tmp_path: Path, confs: dict[str, Path]) -> None:
    async def scene(made: Play) -> None:
        await made.serve()
        slave, master = await made.pair(made.listen)
        slave.writer.write(REPORT)
        await heard(master, REPORT)
        for _ in range(3):
            master.writer.write(bytes(2_000))
            await heard(slave, bytes(2_000))

    made = play(scene, tmp_path / "captured", confs, limit=3_000)
    assert "3,000 bytes are recorded" in str(made.recording.ended)
    (connection,) = open_capture(tmp_path / "captured").connections
    assert connection.stream("s2m") == REPORT
    assert len(connection.stream("m2s")) < 3_000


def test_a_full_disk_ends_the_recording_and_is_an_error_at_the_end(tmp_path: Path, confs: dict[str, Path]) -> None:
    recording = Recording(tmp_path / "captured", confs, None)
    stream = recording.begin()
    assert stream is not None
    with FileIO("/dev/full", "wb") as full:
        assert not recording.put(((full, b"x"),))
    stream.took("m2s", FRAME)
    stream.close("slave")
    recording.end("interrupted")
    assert "No space left on device" in str(recording.ended)
    assert not recording.is_complete
    assert not open_capture(tmp_path / "captured").is_complete


def test_a_side_that_takes_nothing_holds_the_other_back(tmp_path: Path, confs: dict[str, Path]) -> None:
    async def scene(made: Play) -> None:
        await made.serve()
        _, master = await made.pair(made.listen)
        sent, total = 0, 128 * 1024 * 1024
        with contextlib.suppress(TimeoutError):
            while sent < total:
                master.writer.write(bytes(65_536))
                sent += 65_536
                async with asyncio.timeout(0.5):
                    await master.writer.drain()
        assert sent < total

    play(scene, tmp_path / "captured", confs)


def test_what_is_not_frames_passes_and_is_not_recorded(tmp_path: Path, confs: dict[str, Path]) -> None:
    hello, frame = b"\x16\x03\x01\x02\x00 TLS", (8).to_bytes(4, "big") + bytes(8)

    async def scene(made: Play) -> None:
        await made.serve()
        client, master = await made.pair(made.client)
        client.writer.write(frame[:5])
        await heard(master, frame[:5])
        client.writer.write(frame[5:] + frame + frame[:2])
        await heard(master, frame[5:] + frame + frame[:2])
        other, master = await made.pair(made.client)
        other.writer.write(hello)
        await heard(master, hello)

    made = play(scene, tmp_path / "captured", confs)
    assert (tmp_path / "captured" / "remoting" / "producer-1--master.bin").read_bytes() == frame * 2
    assert [each["event"] for each in made.recording.events] == [
        "note: client connection 2 is not recorded from here on: it does not carry RocketMQ's frames"
    ]


def test_a_master_that_is_not_there_is_said_and_its_start_is_a_line(tmp_path: Path, confs: dict[str, Path]) -> None:
    async def scene(made: Play) -> None:
        for _ in range(2):
            slave = await made.slave(made.listen)
            with contextlib.suppress(ConnectionResetError):
                assert await slave.reader.read() == b""
        await made.serve()
        slave, master = await made.pair(made.listen)
        slave.writer.write(REPORT)
        await heard(master, REPORT)

    made = play(scene, tmp_path / "captured", confs)
    assert [each.partition(" (")[0] for each in made.said] == [f"nothing answers at {made.master}"]
    assert "Connection refused" in made.said[0]
    lines = [each["event"] for each in made.recording.events]
    assert lines[1:] == ["master started: its HA port answers, after 2 refused connections"]
    starts = judge_capture(tmp_path / "captured", []).history.lines.happenings
    assert ("master", "start", True) in [(each.node, each.what, each.known) for each in starts]


def test_a_slave_that_does_not_wait_leaves_no_connection_behind(tmp_path: Path, confs: dict[str, Path]) -> None:
    async def scene(made: Play) -> None:
        await made.serve()
        for _ in range(20):
            sock = socket.create_connection(made.listen)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
            sock.close()
            await asyncio.sleep(0)
        _, master = await made.pair(made.listen)
        while not made.masters.empty():
            left, master = master, made.masters.get_nowait()
            with contextlib.suppress(ConnectionResetError):
                assert await left.reader.read() == b""

    play(scene, tmp_path / "captured", confs)


# The command.


def arguments(folder: Path, confs: dict[str, Path], **changed: str) -> list[str]:
    given = {
        "listen": f"{HOST}:{free_port()}", "to": f"{HOST}:{free_port()}", "output": str(folder),
        "master-conf": str(confs["master"]), "slave-conf": str(confs["slave"]), **changed,
    }  # fmt: skip
    return ["capture", *(f"--{name}={value}" for name, value in given.items())]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"listen": "20912"}, "--listen needs host:port, such as 127.0.0.1:20912, not '20912'"),
        ({"to": "127.0.0.1:0"}, "--to needs host:port"),
        ({"to": "192.0.2.1:10912"}, "192.0.2.1:10912 is not on this machine: give --connect-anywhere to allow it"),
        ({"listen": "0.0.0.0:10912"}, "0.0.0.0:10912 is not on this machine"),
        ({"client": "127.0.0.1:10911"}, "--client needs LISTEN=TO"),
        ({"time": "soon"}, "--time wants a number above 0 with s, m or h"),
        ({"max-size": "2G"}, "--max-size needs at most 1G"),
        ({"rocketmq": "latest"}, "--rocketmq: rocketmq must be a version"),
        ({"slave-conf": "nowhere.conf"}, "cannot read nowhere.conf: No such file or directory"),
    ],
)
def test_wrong_usage_is_one_line_and_makes_no_folder(
    tmp_path: Path, confs: dict[str, Path], changed: dict[str, str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path / "captured", confs, **changed)) == 2
    said = capsys.readouterr().err
    assert complaint in said and said.count("\n") == 1
    assert not (tmp_path / "captured").exists()


def test_a_folder_that_exists_and_a_port_that_is_taken_are_named(
    tmp_path: Path, confs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, confs)) == 2
    assert f"{tmp_path} exists already; name a new folder with --output" in capsys.readouterr().err
    with socket.create_server((HOST, 0)) as taken:
        address = f"{HOST}:{taken.getsockname()[1]}"
        assert main(arguments(tmp_path / "captured", confs, listen=address)) == 2
    said = capsys.readouterr().err
    assert f"cannot listen at {address}: Address already in use" in said and said.count("\n") == 1


def test_a_capture_to_which_no_slave_came_says_what_to_do(
    tmp_path: Path, confs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path / "captured", confs, time="0.1s")) == 4
    out, err = capsys.readouterr()
    assert "set in the slave's configuration, and restart the slave: haMasterAddress=127.0.0.1:" in out
    assert "was the slave restarted with haMasterAddress=127.0.0.1:" in err and err.count("\n") == 1


REGISTERED = {"code": 0, "flag": 1, "opaque": 7, "extFields": {"haServerAddr": "10.0.0.5:10912", "masterAddr": "m:1"}}


def answer(header: dict[str, Any], body: bytes = b"body", form: int = 0) -> bytes:
    head = json.dumps(header).encode()
    return (4 + len(head) + len(body)).to_bytes(4, "big") + (form << 24 | len(head)).to_bytes(4, "big") + head + body


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_name_servers_answer_names_the_tap_and_all_else_passes_unchanged(size: int) -> None:
    told: list[str | None] = []
    answers = Answers("127.0.0.1:20912", told.append)
    other = answer({**REGISTERED, "extFields": {"haServerAddr": "", "brokerName": "haServerAddr"}})
    plain, binary = answer({"code": 0, "flag": 1, "opaque": 8}), answer(REGISTERED, form=1)
    stream = plain + answer(REGISTERED) + other + binary + b"\xff\xff\xff\xff TLS" + plain
    heard = b"".join(answers.feed(stream[at : at + size]) for at in range(0, len(stream), size))
    header = {**REGISTERED, "extFields": {"haServerAddr": "127.0.0.1:20912", "masterAddr": "m:1"}}
    assert heard.startswith(plain) and heard.endswith(other + binary + b"\xff\xff\xff\xff TLS" + plain)
    changed = heard[len(plain) : len(heard) - len(other + binary + b"\xff\xff\xff\xff TLS" + plain)]
    size, length = int.from_bytes(changed[:4], "big"), int.from_bytes(changed[4:8], "big")
    assert size == len(changed) - 4 and changed[8 + length :] == b"body"
    assert json.loads(changed[8 : 8 + length]) == header
    assert told == ["10.0.0.5:10912", None]


def test_a_slave_that_is_still_connected_directly_is_no_stranger_until_it_has_come_through_the_tap(
    tmp_path: Path, confs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SAVED_S", 0.05)
    monkeypatch.setattr(session, "ABSENT_S", 0.4)
    command = [sys.executable, "-c", GOES_ROUND]

    async def scene(made: Play) -> None:
        await made.serve()
        to = made.master
        with subprocess.Popen(
            [*command, to.host, str(to.port)], stdin=subprocess.PIPE, preexec_fn=die_with_parent
        ) as own:
            async with asyncio.timeout(ENDED_S):
                await made.masters.get()
                # Time in which it would be taken for a stranger, and for one that is lost.
                await asyncio.sleep(1)
                assert made.session._bypass.standing == 1 and not made.said
                own.communicate()
                while not made.said:
                    await asyncio.sleep(0.01)
        slave, master = await made.pair(made.listen)
        slave.writer.write(REPORT)
        await heard(master, REPORT)
        await asyncio.sleep(0.5)

    made = play(scene, tmp_path / "captured", confs)
    assert (
        len(made.said) == 1
        and "has lost its master" in made.said[0]
        and "To undo the change remove it." in made.said[0]
    )
    run = json.loads((tmp_path / "captured" / "run.json").read_bytes())
    assert run["unseen"] == 0 and run["unseen_until_ms"] == run["ha"]["slave-0001"]["opened_at_ms"] > 1_000


def test_a_slave_of_5_x_needs_its_name_server_tapped(
    tmp_path: Path, confs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path / "captured", confs, rocketmq="5.5.0")) == 2
    said = capsys.readouterr().err
    assert "RocketMQ 5 ignores haMasterAddress: it needs --namesrv" in said and said.count("\n") == 1
    assert not (tmp_path / "captured").exists()
    tap = f"{HOST}:{free_port()}"
    ways = arguments(tmp_path / "captured", confs, rocketmq="5.5.0", time="0.1s", namesrv=f"{tap}={HOST}:{free_port()}")
    assert main(ways) == 4
    out, err = capsys.readouterr()
    assert f"restart the slave: namesrvAddr={tap}" in out and "set its namesrvAddr to what it was" in err


# A pair of processes.


class Captured:
    """A pair of the reference whose slave, and whose producers, come through a capture."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "captured"
        port, listen, client, slave = (free_port() for _ in range(4))
        self.tapped = f"{HOST}:{client}"
        self.master = BrokerProcess(folder / "m", {"listenPort": port, "brokerRole": "SYNC_MASTER", "brokerId": 0})
        told = {"listenPort": slave, "brokerRole": "SLAVE", "brokerId": 1, "haMasterAddress": f"{HOST}:{listen}"}
        self.slave = BrokerProcess(folder / "s", told)
        confs = {"master": self.master.config, "slave": self.slave.config}
        ways = {"listen": f"{HOST}:{listen}", "to": f"{HOST}:{port + 1}", "client": f"{self.tapped}={HOST}:{port}"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pairproof", *arguments(self.folder, confs, **ways)],
            stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent,
        )  # fmt: skip
        assert self.process.stdout is not None
        assert "haMasterAddress" in self.process.stdout.readline()

    def run(self, load: Callable[[Caller], Any]) -> None:
        async def whole() -> None:
            async with caller() as call:
                await call.replicated(self.master.address)
                await load(call)

        asyncio.run(whole())

    def link_stores(self) -> None:
        """As the guide says: once both have stopped."""
        for each in (self.master, self.slave):
            assert each.stop() == 0
        (self.folder / "store").mkdir()
        (self.folder / "store" / "master").symlink_to(self.master.store)
        (self.folder / "store" / "slave").symlink_to(self.slave.store)

    async def sends(self, call: Caller) -> None:
        for number in range(30):
            outcome = await call.send(self.tapped, b"%d" % number * 50, number % 4)
            assert outcome.status == "PUT_OK"


@pytest.fixture
def captured(tmp_path: Path) -> Iterator[Captured]:
    made = Captured(tmp_path)
    yield made
    for each in (made.master, made.slave):
        each.kill()
    made.process.kill()
    made.process.wait()


def verdicts(found: JudgedCapture) -> dict[str, str]:
    told = {each.law: str(each.verdict) for each in found.laws}
    return told | {each.id: str(each.verdict) for each in found.checks}


def test_a_pair_whose_master_is_killed_meanwhile_is_captured_and_judged(captured: Captured) -> None:
    captured.master.start()
    captured.slave.start()
    captured.run(captured.sends)
    captured.master.kill()
    captured.master.start()
    captured.run(captured.sends)
    captured.process.send_signal(signal.SIGINT)
    said, _ = captured.process.communicate(timeout=ENDED_S)
    assert captured.process.returncode == 0
    last = said.splitlines()[-1]
    assert last.startswith("recorded 2 connections of the slave, ")
    assert last.endswith(f"pairproof judge --ha-capture {captured.folder}")
    found = verdicts(judge_capture(captured.folder, all_laws()))
    assert "violated" not in found.values()
    assert found["ha-contiguous"] == found["ha-report-monotone"] == found["ack-readable"] == "holds"
    captured.link_stores()
    found = verdicts(judge_capture(captured.folder, all_laws()))
    assert "violated" not in found.values()
    assert found["ack-replicated"] == found["ha-start-offset"] == found["reference-slave"] == "holds"
    doctored(captured.folder)
    found = verdicts(judge_capture(captured.folder, all_laws()))
    assert {law for law, each in found.items() if each == "violated"} >= {"reference-slave", "ha-contiguous"}


def doctored(folder: Path) -> None:
    """One byte of a pushed body is another one."""
    path = folder / "ha" / "slave-0001.m2s.bin"
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])


def test_a_capture_that_is_killed_is_judged_up_to_then(captured: Captured) -> None:
    captured.master.start()
    captured.slave.start()
    captured.run(captured.sends)
    captured.process.kill()
    captured.process.wait()
    facts = json.loads((captured.folder / "run.json").read_bytes())
    assert not facts["complete"]
    with (captured.folder / "ha" / "slave-0001.m2s.bin").open("ab") as file:
        file.write(b"written, and not in the timeline yet")
    for name in ("ha/slave-0001.timeline.jsonl", "remoting/producer-1--master.jsonl"):
        with (captured.folder / name).open("ab") as file:
            file.write(b'{"at_ms":1')
    found = judge_capture(captured.folder, all_laws())
    assert "violated" not in verdicts(found).values()
    assert sum(each.kind == "ok" for each in found.history.events) == 30


@pytest.fixture(autouse=True)
def _no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
