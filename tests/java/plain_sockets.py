"""Plain sockets that talk to one broker of RocketMQ 4.9.7, of 5.5.0 or of ours: what the tests of claims share."""

from __future__ import annotations

import socket
from collections.abc import Callable
from struct import Struct

from processes import BROKER_SETTINGS, HOST, READY_S, Broker

from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command, CommandReader

OURS = "reference"
EVERYBODY = ("4.9.7", "5.5.0", OURS)
HEADER, REPORT = Struct(">qi"), Struct(">q")
FILE = int(str(BROKER_SETTINGS["mappedFileSizeCommitLog"]))
TOPIC = "BenchmarkTest"
"""Every broker has it."""
SERVED, BUSY, ALONE, LATE = 19, 2, 11, 12
"""Answers: nothing new, SYSTEM_BUSY, SLAVE_NOT_AVAILABLE, FLUSH_SLAVE_TIMEOUT."""

Make = Callable[..., Broker]


class Client:
    """A client's connection: questions, and their answers when they are wanted."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.sock = socket.create_connection((host, int(port)), READY_S)
        self.reader = CommandReader()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.sock.close()

    def ask(self, frame: bytes) -> None:
        """Send a request."""
        self.sock.sendall(frame)

    def answer(self) -> Command:
        """The next answer."""
        while True:
            data = self.sock.recv(65_536)
            assert data, "the broker closed the connection"
            for command in self.reader.feed(data):
                return command


def ask(address: str, frame: bytes) -> Command:
    """The answer to a request."""
    with Client(address) as client:
        client.ask(frame)
        return client.answer()


def message(body: bytes = b"x" * 100) -> bytes:
    """A send that waits for a slave."""
    given = {"producer_group": "claims", "topic": TOPIC, "queue_id": 0, "born_ms": 0}
    return remoting.send_request(1, **given, body=body, properties="WAIT\x01true")  # type: ignore[arg-type]


def send(address: str, body: bytes = b"x" * 100) -> int:
    """Send a message that waits for a slave; the answer's code."""
    return ask(address, message(body)).code


def pull(address: str, commits: int | None = None) -> Command:
    """Pull one message from the beginning; with ``commits`` the pull carries that progress of its group."""
    values = {
        "consumerGroup": "claims", "topic": TOPIC, "queueId": 0, "queueOffset": 0, "maxMsgNums": 1,
        "sysFlag": 4 | int(commits is not None), "commitOffset": commits or 0, "suspendTimeoutMillis": 0,
        "subVersion": 0, "subscription": "*", "expressionType": "TAG",
    }  # fmt: skip
    fields = headers.encode_request(RequestCode.PULL_MESSAGE, values)
    return ask(address, remoting.encode(Command(RequestCode.PULL_MESSAGE, 1, 0, fields)))


def progress(address: str) -> str:
    """How far the group is, as the broker says."""
    code, values = RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": "claims", "topic": TOPIC, "queueId": 0}
    return ask(address, remoting.encode(Command(code, 1, 0, headers.encode_request(code, values)))).fields["offset"]


def is_open(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((host, port), READY_S).close()
    except ConnectionRefusedError:
        return False
    return True


def slave_of(master: Broker, *reports: int) -> socket.socket:
    """A connection to a master's HA port, on which these reports have been made, all in one piece."""
    sock = socket.create_connection((HOST, master.port + 1), READY_S)
    sock.sendall(b"".join(map(REPORT.pack, reports)))
    return sock


def read(sock: socket.socket, size: int) -> bytes:
    """So many bytes; fewer at the stream's end."""
    return sock.recv(size, socket.MSG_WAITALL)


def frame(slave: socket.socket) -> tuple[int, int]:
    """Where the next frame's body begins and ends; a heartbeat's are the same."""
    offset, size = HEADER.unpack(read(slave, HEADER.size))
    assert len(read(slave, size)) == size
    return offset, offset + size


def reported(slave: socket.socket, behind: int | None = None) -> int:
    """The slave's next report, or its first one above ``behind``: between them its heartbeats repeat the last."""
    slave.settimeout(READY_S)
    value = behind
    while value == behind:
        (value,) = REPORT.unpack(read(slave, REPORT.size))
    return int(value or 0)
