"""A name server process over a real socket: the frames that real brokers and clients sent, and how it stops."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_brokers import NameServerProcess

from pairproof.reference.wire.fastjson import loads
from pairproof.reference.wire.remoting import Command, CommandReader

GOLDEN = Path(__file__).parents[2] / "golden" / "rocketmq-4.9.7" / "remoting"


def captured(name: str, code: int) -> bytes:
    """The last captured request with this code, and not for the topic that nobody had, as its sender wrote it."""
    frames = (GOLDEN / f"{name}.bin").read_bytes()
    # The last registration knows the topics that were made after the first one.
    for line in reversed((GOLDEN / f"{name}.jsonl").read_text().splitlines()):
        row = json.loads(line)
        data = frames[row["offset"] : row["offset"] + row["length"]]
        (command,) = CommandReader().feed(data)
        if (
            not (command.is_response or command.is_oneway)
            and command.code == code
            and command.fields.get("topic") != "TBW102"
        ):
            return data
    raise AssertionError(f"{name} has no request {code}")


def ask(sock: socket.socket, data: bytes) -> Command:
    reader = CommandReader()
    sock.settimeout(5)
    sock.sendall(data)
    while data := sock.recv(65_536):
        for answer in reader.feed(data):
            return answer
    raise AssertionError("the name server closed the connection without an answer")


def test_a_captured_broker_registers_and_a_captured_client_finds_it(name_server: NameServerProcess) -> None:
    name_server.start()
    with (
        socket.create_connection(("127.0.0.1", name_server.port)) as broker,
        socket.create_connection(("127.0.0.1", name_server.port)) as client,
    ):
        asked = captured("producer--namesrv", 105)
        assert ask(client, asked).code == 17, "a route before anybody has registered"
        assert ask(broker, captured("master--namesrv", 103)).code == 0
        answer = ask(client, asked)
        assert answer.code == 0
        assert "broker-a" in json.dumps(loads(answer.body), default=str)
        broker.close()
        # The broker is lost the moment its connection ends; the two connections have no order.
        ends = time.monotonic() + 1
        while ask(client, asked).code != 17:
            assert time.monotonic() < ends


def test_sigterm_ends_it_and_its_port_is_free_again(name_server: NameServerProcess) -> None:
    name_server.start()
    assert name_server.stop(signal.SIGTERM) == 0
    name_server.start()


@pytest.mark.parametrize(
    ("settings", "saying"),
    [({"listenPort": "http"}, "listenPort must be from 1 to 65535"), ({"bindAddress": "home"}, "an IPv4 address")],
)
def test_what_cannot_work_is_one_line_and_exit_2(tmp_path: Path, settings: dict[str, str], saying: str) -> None:
    config = tmp_path / "namesrv.conf"
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    command = [sys.executable, "-m", NameServerProcess.module, "-c", str(config)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=8, check=False)
    assert ended.returncode == 2 and saying in ended.stderr and ended.stderr.count("\n") == 1, ended.stderr
