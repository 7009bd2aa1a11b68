"""Every captured remoting frame of RocketMQ 4.9.7, through the typed headers and bodies and back to the same bytes.

What does not come back byte by byte is counted in ``EXCEPTIONS``, with the reason; a new one fails the test.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from registrations import encode_registration

from pairproof.reference.wire import beans, bodies, bodies_client, bodies_route, fastjson, headers, record, remoting
from pairproof.reference.wire.bodies_route import TopicRouteData
from pairproof.reference.wire.record import Record
from pairproof.reference.wire.remoting import Command

FOLDER = Path(__file__).parent.parent / "golden" / "rocketmq-4.9.7" / "remoting"
CAPTURES = sorted(file.stem for file in FOLDER.glob("*.bin"))

EXCEPTIONS = {
    # Java's answers and requests without a header class have no extFields at all; we always write an object.
    "no extFields": 383,
    # Java writes UTF-8 where we escape.
    "header beyond ASCII": 1,
}
"""Frames whose header has the same content in other bytes. Bodies: none."""

IGNORED = {"bname": 192, "n": 83, "ReqT": 45}
"""Fields that the table leaves out: the broker's name, for proxies, and the kind of a request, for access control."""


class Frame(NamedTuple):
    request_code: int
    command: Command
    raw: bytes


def frames(name: str) -> Iterator[Frame]:
    raw = (FOLDER / f"{name}.bin").read_bytes()
    rows = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]
    for row, command in zip(rows, remoting.CommandReader().feed(raw), strict=True):
        code = row["request_code"] if command.is_response else command.code
        yield Frame(code, command, raw[row["offset"] : row["offset"] + row["length"]])


def bean(kind: type) -> Callable[[Command, dict[str, Any]], tuple[Any, bytes]]:
    def through(command: Command, header: dict[str, Any]) -> tuple[Any, bytes]:
        found = beans.decode(kind, command.body)
        return found, beans.encode(found)

    return through


def route(command: Command, header: dict[str, Any]) -> tuple[Any, bytes]:
    found = beans.decode(TopicRouteData, command.body)
    # All captured clients say version 407.
    return found, bodies_route.encode_route(found, 407)


def registration(command: Command, header: dict[str, Any]) -> tuple[Any, bytes]:
    found = bodies_route.decode_registration(command.body, header)
    assert header["bodyCrc32"] == bodies_route.body_crc(command.body)
    return found, encode_registration(found, header["compressed"])


def batch(command: Command, header: dict[str, Any]) -> tuple[Any, bytes]:
    found = bodies_client.decode_batch(command.body)
    return found, bodies_client.encode_batch(found)


def records(command: Command, header: dict[str, Any]) -> tuple[Any, bytes]:
    found, at = [], 0
    while at < len(command.body):
        each = record.decode(command.body, at)
        assert isinstance(each, Record)
        found.append(each)
        at += each.size
    return found, b"".join(
        record.encode(each.message, each.queue_offset, each.physical_offset, each.store_ms) for each in found
    )


def application(command: Command, header: dict[str, Any]) -> tuple[Any, bytes]:
    """The body of a message: the application's own bytes."""
    return command.body, command.body


Through = Callable[[Command, dict[str, Any]], tuple[Any, bytes]]
# By code and whether it is a response: the codec of the body, and how many captured frames have one.
BODIES: dict[tuple[int, bool], tuple[Through, int]] = {
    (10, False): (application, 2),
    (310, False): (application, 80),
    (320, False): (batch, 3),
    (34, False): (bean(bodies_client.HeartbeatData), 59),
    (41, False): (bean(bodies_client.LockBatchRequest), 5),
    (42, False): (bean(bodies_client.LockBatchRequest), 1),
    (103, False): (registration, 17),
    (200, False): (bean(bodies.SubscriptionGroupConfig), 3),
    (322, False): (bean(bodies.DataVersion), 36),
    (11, True): (records, 19),
    (12, True): (records, 3),
    (21, True): (bean(bodies.TopicConfigs), 24),
    (28, True): (bean(bodies.KVTable), 2),
    (33, True): (records, 1),
    (38, True): (bean(bodies_client.ConsumerList), 23),
    (41, True): (bean(bodies_client.LockBatchResponse), 5),
    (43, True): (bean(bodies.ConsumerOffsets), 22),
    (45, True): (bean(bodies.DelayOffsets), 22),
    (105, True): (route, 43),
    (106, True): (bean(bodies_route.ClusterInfo), 1),
    (201, True): (bean(bodies.SubscriptionGroups), 24),
    (202, True): (bean(bodies_client.TopicStatsTable), 3),
    (203, True): (bean(bodies_client.ConsumerConnection), 2),
    (204, True): (bean(bodies_client.ProducerConnection), 1),
    (206, True): (bean(bodies.TopicList), 1),
    (208, True): (bean(bodies_client.ConsumeStats), 2),
    (322, True): (bean(bodies.DataVersion), 36),
}


def typed(frame: Frame) -> tuple[dict[str, Any], dict[str, str]]:
    """The header by its types, and the fields written from it."""
    code, command, _ = frame
    if command.is_response:
        values = headers.decode_response(code, command)
        return values, headers.encode_response(code, values, command.code)
    values = headers.decode_request(command)
    return values, headers.encode_request(code, values)


@pytest.fixture(scope="module")
def everything() -> dict[str, list[Frame]]:
    return {name: list(frames(name)) for name in CAPTURES}


def test_every_header_is_typed_and_comes_back(everything: dict[str, list[Frame]]) -> None:
    exceptions: Counter[str] = Counter()
    ignored: Counter[str] = Counter()
    for name, found in everything.items():
        for frame in found:
            _, written = typed(frame)
            fields = frame.command.fields
            ignored.update(fields.keys() - written.keys())
            assert written == {key: value for key, value in fields.items() if key in written}, (name, frame.command)
            # The order of the fields is that of a Java hash map: it says nothing, so it is taken from the capture.
            again = remoting.encode(
                frame.command._replace(fields={key: written.get(key, fields[key]) for key in fields})
            )
            if again == frame.raw:
                continue
            why = "header beyond ASCII" if b'"extFields"' in frame.raw else "no extFields"
            assert read_again(again) == frame.command and (why != "no extFields" or not fields), (name, frame.command)
            exceptions[why] += 1
    assert sum(map(len, everything.values())) == 1192
    assert exceptions == EXCEPTIONS
    assert ignored == IGNORED


def read_again(raw: bytes) -> Command:
    (command,) = remoting.CommandReader().feed(raw)
    return command


def test_every_body_is_decoded_and_comes_back_byte_by_byte(everything: dict[str, list[Frame]]) -> None:
    counts: Counter[tuple[int, bool]] = Counter()
    for name, found in everything.items():
        for frame in found:
            code, command, _ = frame
            if not command.body:
                continue
            kind = (code, command.is_response)
            assert kind in BODIES, f"{name}: a body without a codec: {kind}"
            counts[kind] += 1
            value, again = BODIES[kind][0](command, typed(frame)[0])
            assert again == command.body, (name, code, value)
    assert counts == {kind: count for kind, (_, count) in BODIES.items()}


@pytest.mark.parametrize("code", sorted({code for code, response in BODIES if response} - {11, 12, 33}))
def test_a_captured_body_that_is_cut_or_followed_by_more_is_refused(
    code: int, everything: dict[str, list[Frame]]
) -> None:
    command = next(
        frame.command
        for found in everything.values()
        for frame in found
        if frame.request_code == code and frame.command.is_response and frame.command.body
    )
    through = partial(BODIES[code, True][0], header={})
    for broken in (command.body[:-1], command.body + b"}", command.body + command.body):
        with pytest.raises(remoting.CodecError):
            through(command._replace(body=broken))


CONFIG_FILES = {
    "topics.json": bodies.TopicConfigs,
    "subscriptionGroup.json": bodies.SubscriptionGroups,
    "consumerOffset.json": bodies.ConsumerOffsets,
    "delayOffset.json": bodies.DelayOffsets,
}


def test_every_captured_config_file_comes_back_byte_by_byte(golden: Path) -> None:
    files = sorted((golden / "store").glob("*/config/*.json*"))
    for file in files:
        kind = CONFIG_FILES.get(file.name.removesuffix(".bak"))
        raw = file.read_bytes()
        # A slave stores the delay offsets as the master's answer brings them, and there is no filter to type.
        pretty = not (file.name.startswith("delayOffset") and "slave" in file.parts[-3])
        if kind:
            assert beans.encode(beans.decode(kind, raw), pretty=pretty) == raw, file
        else:
            assert fastjson.dumps(fastjson.loads(raw), pretty=pretty) == raw, file
    assert len(files) == 29
