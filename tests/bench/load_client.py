"""A client that costs next to nothing beside the brokers it measures: frames made once, one blocking connection.

Sends and pulls as a real client does (SEND_MESSAGE_V2 with a UNIQ_KEY of its own each, PULL_MESSAGE by 32), always so
many in flight. Of an answer only code, opaque and, for pulls, the next offset are looked at. Its own processor time is
part of every figure, so that whoever reads them sees that it was not what bounded them.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import quantiles
from struct import Struct
from typing import NamedTuple

from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command

TOPIC = "BenchmarkTest"
"""Every broker has it, with 1,024 queues."""
BATCH = 32
RECEIVE = 256 * 1024
WAIT_S = 30
# Ten digits that occur nowhere else in a frame: in their place comes each message's own number.
MARK = 1_999_999_999
_CODE = re.compile(rb'"code":(\d+)')
_OPAQUE = re.compile(rb'"opaque":(\d+)')
_OFFSET = re.compile(rb'"offset":"(\d+)"')
_NEXT = re.compile(rb'"nextBeginOffset":"(\d+)"')
_PREFIX = Struct(">ii")


class Turn(NamedTuple):
    """What one turn was like. Latencies are those of sends or of whole pulls; times are seconds."""

    messages: int
    elapsed_s: float
    client_cpu_s: float
    p50_s: float
    p99_s: float


class Refused(Exception):
    """A broker answered with a code that no figure should hide."""


class LoadClient:
    """One connection to one broker."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._rest = b""
        self._number = 1_000_000_000

    def send(self, body: int, queues: list[int], in_flight: int, seconds: float, limit: int = 1 << 40) -> Turn:
        """Send messages of ``body`` bytes to these queues in turn, for some seconds or until ``limit`` are sent."""
        frames = [_send_frame(queue, body) for queue in queues]
        began, cpu = time.perf_counter(), time.process_time()
        ends = began + seconds
        sent_at: dict[int, float] = {}
        latencies: list[float] = []
        sent = 0

        def more(count: int) -> None:
            nonlocal sent
            now = time.perf_counter()
            count = min(count, limit - sent) if now < ends else 0
            out = []
            for _ in range(count):
                self._number += 1
                sent_at[self._number] = now
                out.append(frames[sent % len(frames)].replace(b"%d" % MARK, b"%d" % self._number))
                sent += 1
            if out:
                self.sock.sendall(b"".join(out))

        more(in_flight)
        while sent_at:
            answers = self._answers()
            now = time.perf_counter()
            latencies += [now - sent_at.pop(_checked(header)) for header in answers]
            more(len(answers))
        elapsed, spent = time.perf_counter() - began, time.process_time() - cpu
        return Turn(sent, elapsed, spent, *percentiles(latencies))

    def pull(self, begins: dict[int, int], count: int) -> Turn:
        """Pull ``count`` messages from these queues, each from an offset on, one pull in flight for each queue."""
        began, cpu = time.perf_counter(), time.process_time()
        latencies: list[float] = []
        pulled = 0
        ends = {queue: begin + count // len(begins) for queue, begin in begins.items()}
        asked: dict[int, tuple[int, int, float]] = {}

        def ask(queue: int, offset: int) -> bytes:
            self._number += 1
            asked[self._number] = (queue, offset, time.perf_counter())
            return remoting.pull_request(
                self._number, consumer_group="bench", topic=TOPIC, queue_id=queue, offset=offset, max_messages=BATCH
            )

        self.sock.sendall(b"".join(ask(queue, offset) for queue, offset in begins.items()))
        while asked:
            answers = self._answers()
            now = time.perf_counter()
            out = []
            for header in answers:
                queue, offset, at = asked.pop(_checked(header))
                latencies.append(now - at)
                following = int(_found(_NEXT, header))
                pulled += following - offset
                if following < ends[queue]:
                    out.append(ask(queue, following))
            if out:
                self.sock.sendall(b"".join(out))
        elapsed, spent = time.perf_counter() - began, time.process_time() - cpu
        return Turn(pulled, elapsed, spent, *percentiles(latencies))

    def end_of(self, queue: int) -> int:
        """The offset behind a queue's last message."""
        values = {"topic": TOPIC, "queueId": queue}
        fields = headers.encode_request(RequestCode.GET_MAX_OFFSET, values)
        self._number += 1
        self.sock.sendall(remoting.encode(Command(RequestCode.GET_MAX_OFFSET, self._number, 0, fields)))
        (header,) = self._answers()
        _checked(header)
        return int(_found(_OFFSET, header))

    def status(self, queue: int) -> int:
        """Send one message; the code of the answer."""
        self._number += 1
        self.sock.sendall(_send_frame(queue, 100).replace(b"%d" % MARK, b"%d" % self._number))
        (header,) = self._answers()
        return int(_found(_CODE, header))

    def _answers(self) -> list[bytes]:
        """Headers of the answers that are complete, at least one."""
        found: list[bytes] = []
        data = self._rest
        while not found:
            more = self.sock.recv(RECEIVE)
            if not more:
                raise Refused("the broker closed the connection")
            data += more
            at = 0
            while len(data) - at >= _PREFIX.size:
                total, size = _PREFIX.unpack_from(data, at)
                if len(data) - at < 4 + total:
                    break
                found.append(data[at + _PREFIX.size : at + _PREFIX.size + size])
                at += 4 + total
            data = data[at:]
        self._rest = data
        return found


@contextmanager
def client(address: str) -> Iterator[LoadClient]:
    """A client that is connected."""
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), WAIT_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield LoadClient(sock)


def percentiles(latencies: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    cuts = quantiles(latencies, n=100)
    return cuts[49], cuts[98]


def _send_frame(queue: int, body: int) -> bytes:
    properties = f"UNIQ_KEY\x017F000001{MARK:024d}\x02WAIT\x01true\x02TAGS\x01TagA"
    return remoting.send_request(
        MARK, producer_group="bench", topic=TOPIC, queue_id=queue, born_ms=time.time_ns() // 1_000_000,
        body=b"x" * body, properties=properties,
    )  # fmt: skip


def _checked(header: bytes) -> int:
    """The opaque of an answer that says SUCCESS."""
    if _found(_CODE, header) != b"0":
        raise Refused(header.decode())
    return int(_found(_OPAQUE, header))


def _found(pattern: re.Pattern[bytes], header: bytes) -> bytes:
    match = pattern.search(header)
    if match is None:
        raise Refused(f"an answer without {pattern.pattern.decode()}: {header.decode()}")
    return match[1]
