"""What a broker process cannot start with: one line and exit code 2, 5 for its store; what disturbs it: nothing."""

from __future__ import annotations

import asyncio
import resource
import select
import socket
import struct
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from real_brokers import TOPIC, BrokerProcess, caller, connected

from pairproof.reference.commands.broker import command
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.command_peers import MAX_PEERS
from pairproof.reference.errors import StoreError
from pairproof.reference.shell import serve
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import CommandReader

Make = Callable[..., BrokerProcess]


def test_two_brokers_cannot_have_one_store(broker: Make) -> None:
    first = broker().start()
    other = broker("other", storePathRootDir=first.store)
    code, said = other.refusal()
    assert (code, said.count("\n")) == (2, 1)
    assert f"another broker runs on the store {first.store}" in said
    first.kill()
    other.start()


def test_a_broker_starts_again_on_the_ports_that_it_has_just_left_clients_on(broker: Make) -> None:
    first = broker().start()
    with connected(first.address) as client:
        client.sendall(request(1))
        assert answers(client, 1) == [1]
        assert first.stop() == 0
        assert closes(client)
    broker().start()


@pytest.mark.parametrize("distance", [-2, 0, 1])
def test_a_taken_port_is_named(broker: Make, distance: int) -> None:
    master = broker()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", master.port + distance))
        taken.listen()
        code, said = master.refusal()
    assert (code, said.count("\n")) == (2, 1)
    assert f"cannot listen on 127.0.0.1:{master.port + distance}" in said
    assert not (master.store / "abort").exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"brokerRole": "MASTER"}, "brokerRole must be one of"),
        ({"listenPort": 2}, "listenPort must be from 3 to 65534"),
        ({"bindAddress": "everywhere"}, "bindAddress must be an IPv4 address"),
        ({"haMasterAddress": "10.0.0.1"}, "haMasterAddress must be host:port"),
        ({"namesrvAddr": "10.0.0.1:9876,10.0.0.2:9876"}, "namesrvAddr must be host:port, several with ; in between"),
        ({"deleteWhen": "4 am"}, "deleteWhen must be hours from 00 to 23"),
        ({"slaveReadEnable": "yes"}, "slaveReadEnable must be true or false"),
        ({"serverChannelMaxIdleTimeSeconds": "0"}, "serverChannelMaxIdleTimeSeconds must be a positive"),
        ({"slaveTimeout": "3s"}, "slaveTimeout must be a whole number"),
        ({"storePathRootDir": "/dev/null/store"}, "cannot use the store /dev/null/store"),
        ({"storePathRootDir": r"a\u0000b"}, "storePathRootDir must be a folder's path, without NUL"),
        ({"storePathCommitLog": r"\ud800"}, "storePathCommitLog must be a folder's path, without NUL"),
        ({"brokerName": r"\ud800"}, "brokerName must be text without NUL characters and surrogates"),
        ({"mappedFileSizeCommitLog": "9" * 20}, "mappedFileSizeCommitLog must be at most 2147483647, not 99999"),
        ({"mappedFileSizeConsumeQueue": "9" * 15}, "mappedFileSizeConsumeQueue must be at most 2147483647"),
        ({"slaveTimeout": "9" * 4_000}, "slaveTimeout must be at most 2147483647, not a much larger number"),
        ({"slaveTimeout": "9" * 5_000}, "slaveTimeout must be a whole number, not '9999"),
    ],
)
def test_a_value_that_cannot_be_is_one_line_and_exit_2(broker: Make, settings: dict[str, Any], words: str) -> None:
    code, said = broker(**settings).refusal()
    assert (code, said.count("\n")) == (2, 1)
    assert words in said


def test_a_config_that_is_not_there_is_one_line_and_exit_2(broker: Make) -> None:
    master = broker()
    master.config.unlink()
    code, said = master.refusal()
    assert (code, said) == (2, f"pairproof broker: cannot read {master.config}: No such file or directory\n")


def test_a_store_of_another_file_size_is_one_line_and_exit_5(broker: Make) -> None:
    first = broker().start()
    asyncio.run(send_one(first.address))
    first.kill()
    code, said = broker(mappedFileSizeCommitLog=131_072).refusal()
    assert (code, said.count("\n")) == (5, 1)
    assert "has 65536 bytes, not the configured 131072: set mappedFileSizeCommitLog as" in said


def test_a_damaged_store_that_was_stopped_cleanly_is_refused_and_stays_as_it_was(broker: Make) -> None:
    first = broker(messageIndexEnable="false").start()
    asyncio.run(send_one(first.address))
    asyncio.run(send_one(first.address))
    first.stop()
    (log,) = (first.store / "commitlog").iterdir()
    with log.open("r+b") as file:
        file.seek(90)
        file.write(b"?")
    for lock in (True, False):
        if not lock:
            (first.store / "lock").unlink()
        before = contents(first.store)
        code, said = broker().refusal()
        assert (code, said.count("\n")) == (5, 1)
        assert "a cut at 0 would lose" in said and "with 1 whole record in them; nothing was changed" in said
        assert contents(first.store) == before
    (first.store / "abort").touch()
    assert ", with 1 whole record in them: record at 0 has a body that" in broker().start().said.decode()


def test_an_abort_file_that_holds_a_process_id_is_an_unclean_stop(broker: Make) -> None:
    first = broker().start()
    first.stop()
    # As RocketMQ 5 leaves it.
    (first.store / "abort").write_text("12345")
    again = broker().start()
    assert again.stop() == 0 and not (again.store / "abort").exists()


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's bytes and when it was last written."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and (path.name != "lock" or path.stat().st_size)
    }


def test_keys_that_nothing_acts_on_are_named_in_one_line(broker: Make) -> None:
    master = broker(warmMapedFileEnable="false", slaveTimeOut=3_000).start()
    said = "settings: warmMapedFileEnable; RocketMQ has no such settings: slaveTimeOut (did you mean slaveTimeout?)"
    assert said in master.said.decode()


async def send_one(address: str) -> None:
    async with caller() as call:
        assert (await call.send(address, b"hello")).status == "PUT_OK"


def test_a_broker_that_cannot_go_on_ends_with_4_and_keeps_its_abort_file(
    broker: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(Broker):
        def on_start(self) -> None:
            super().on_start()
            self.io.timer(("boom", None), 0)

        def on_timer(self, key: Hashable) -> None:
            raise StoreError("the disk is broken")

    master = broker()
    monkeypatch.setattr(serve, "serve", partial(serve.serve, classes=serve.Classes(broker=Failing)))
    done = CliRunner().invoke(command, ["-c", str(master.config)])
    assert (done.exit_code, done.stderr) == (4, "pairproof broker: the disk is broken\n")
    assert (master.store / "abort").exists()


def request(opaque: int, body: bytes = b"hello", queue: int = 0) -> bytes:
    return remoting.send_request(
        opaque, producer_group="g", topic=TOPIC, queue_id=queue, born_ms=0, body=body, properties=""
    )


def answers(sock: socket.socket, count: int) -> list[int]:
    """The opaques of this many answers."""
    reader, found = CommandReader(), []
    while len(found) < count:
        data = sock.recv(65_536)
        assert data, f"closed after {len(found)} answers"
        found += [each.opaque for each in reader.feed(data)]
    return found


def closes(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_garbage_frame_closes_only_its_connection(broker: Make) -> None:
    master = broker().start()
    with connected(master.address) as good, connected(master.address) as bad:
        good.sendall(request(1))
        assert answers(good, 1) == [1]
        bad.sendall(struct.pack(">i", -1) + b"garbage")
        assert closes(bad)
        good.sendall(request(2))
        assert answers(good, 1) == [2]


def test_a_half_sent_frame_is_answered_once_it_is_whole_and_harms_nobody_before(broker: Make) -> None:
    master = broker().start()
    frame = request(1)
    with connected(master.address) as slow, connected(master.address) as gone:
        slow.sendall(frame[:20])
        gone.sendall(frame[:20])
        gone.close()
        asyncio.run(send_one(master.address))
        slow.sendall(frame[20:])
        assert answers(slow, 1) == [1]


def test_a_thousand_idle_connections_are_held_and_the_oldest_makes_room_for_one_more(broker: Make) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4_096, hard)), hard))
    master = broker().start()
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(master.address)) for _ in range(MAX_PEERS)]
        for number in (0, MAX_PEERS // 2, MAX_PEERS - 1):
            idle[number].sendall(request(number))
            assert answers(idle[number], 1) == [number]
        late = stack.enter_context(connected(master.address))
        late.sendall(request(7))
        assert answers(late, 1) == [7]
        assert closes(idle[1]), "the oldest that has never asked anything"
        del idle[1]
        # Not select(), which takes no descriptor above 1,023.
        heard = select.poll()
        for each in idle:
            heard.register(each, select.POLLIN)
        assert not heard.poll(0), "another connection was closed"
    master.hear("the main port is full (logged once): accepted 127.0.0.1 in place of a connection")


def test_a_client_that_does_not_read_is_not_read_from_and_gets_every_answer_when_it_reads(broker: Make) -> None:
    # Of one length each, and ten kilobytes to answer each.
    opaques = range(10_000, 16_000)
    master = broker().start()
    with connected(master.address, buffers=65_536) as sock:
        for number in range(16):
            sock.sendall(request(number, b"x" * 500))
        answers(sock, 16)
        before = master.anonymous_memory()
        frames = b"".join(
            remoting.pull_request(each, consumer_group="g", topic=TOPIC, queue_id=0, offset=0, max_messages=16)
            for each in opaques
        )
        sock.setblocking(False)
        sent = 0
        while sent < len(frames) and select.select([], [sock], [], 0.5)[1]:
            sent += sock.send(frames[sent : sent + 65_536])
        assert sent < len(frames), "the broker read on although nobody took its answers"
        asyncio.run(send_one(master.address))
        assert master.anonymous_memory() - before < 16 * 1024 * 1024
        sock.settimeout(5)
        whole = sent // (len(frames) // len(opaques))
        assert answers(sock, whole) == list(opaques[:whole])


def test_a_full_disk_refuses_sends_and_room_lets_them_in_again(broker: Make) -> None:
    async def play() -> None:
        async with caller() as call:
            while (last := await call.send(master.address, b"x" * 5_000)).status == "PUT_OK":
                pass
            assert last.status == "SERVICE_NOT_AVAILABLE"
            assert (await call.pull(master.address, 0)).status == "PUT_OK"
            # No file may grow beyond nothing: to whoever makes one, the disk is full.
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
            assert (await call.send(master.address, b"x" * 5_000)).status == "PUT_OK"

    master = broker().start()
    assert master.process is not None
    pid = master.process.pid
    asyncio.run(send_one(master.address))
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))
    asyncio.run(play())
    assert master.stop() == 0
