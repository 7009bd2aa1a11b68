"""What clients, slaves and tools asked the captured master of RocketMQ 4.9.7, asked of ours in the same order.

Ours has the captured store's messages from the start, and all delayed ones delivered, but no other tables: those come
from the requests themselves. Every answer must have the same code and be one that the asker can read, and the same
content as far as the state is the same: ``LIKE`` says what of an answer is compared, otherwise it is the header.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fake_port import MS
from processor_play import SECOND, Play
from store_play import golden_disk

from pairproof.reference.core.broker import Broker
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.processors.administration import Administration
from pairproof.reference.core.processors.members import Members
from pairproof.reference.core.processors.progress import Progress
from pairproof.reference.core.processors.queries import Queries
from pairproof.reference.core.requests import Request
from pairproof.reference.errors import CodecError
from pairproof.reference.wire import beans, bodies, bodies_client, config_text, headers, remoting
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Record, decode
from pairproof.reference.wire.remoting import Command, CommandReader

TOLD = {"consumer--master 0": 1, "consumer--master 1": 1}
OURS = {12, 14, 15, 17, 21, 28, 29, 30, 31, 32, 33, 34, 35, 38, 41, 42, 43, 45, 200, 201, 202, 203, 204, 208}


class Later(Play):
    """A broker whose clock is the capture's."""

    started_ms = 0

    def wall_ms(self) -> int:
        return self.started_ms + self.time // MS


class Captured(NamedTuple):
    at_ms: float
    conn: str
    request: Command
    answer: Command | None
    """None: it was one-way."""


def captured(golden: Path, server: str) -> list[Captured]:
    """Every request that reached the real broker, with its answer, in order."""
    found = []
    for name in [*golden.glob(f"remoting/*--{server}.bin"), *golden.glob(f"remoting/*--{server}-vip.bin")]:
        rows = [json.loads(line) for line in name.with_suffix(".jsonl").read_text().splitlines()]
        frames = list(zip(rows, CommandReader().feed(name.read_bytes()), strict=True))
        answers = {(row["connection"], frame.opaque): frame for row, frame in frames if frame.is_response}
        for row, frame in frames:
            if row["direction"] == "client-to-server":
                conn = f"{name.stem} {row['connection']}"
                found.append(Captured(row["at_ms"], conn, frame, answers.get((row["connection"], frame.opaque))))
    return sorted(found, key=lambda each: each.at_ms)


def settings(golden: Path, server: str) -> BrokerConfig:
    """The captured broker's, as far as they are ours."""
    known = {each.name for each in fields(BrokerConfig)} - {"namesrvAddr"}
    values = config_text.decode((golden / "conf" / f"{server}.properties").read_bytes())
    return BrokerConfig.from_properties({key: value for key, value in values.items() if key in known})


# What of an answer is compared.


def header(code: int, answer: Command) -> Any:
    return headers.decode_response(code, answer)


def bean(kind: type) -> Callable[[int, Command], Any]:
    return lambda code, answer: beans.decode(kind, answer.body)


def found_records(code: int, answer: Command) -> Any:
    """A message that has the key twice is answered twice by RocketMQ."""
    records, at = [], 0
    while at < len(answer.body):
        record = decode(answer.body, at)
        assert isinstance(record, Record)
        records.append(record)
        at += record.size
    return list(dict.fromkeys(records))


def topics(code: int, answer: Command) -> Any:
    """Their version has a time of its own, and RocketMQ's check of transactions makes its topic at the start."""
    table, _ = beans.decode(bodies.TopicConfigs, answer.body)
    return {name: topic for name, topic in table.items() if name != "RMQ_SYS_TRANS_HALF_TOPIC"}


def groups(code: int, answer: Command) -> Any:
    table, version = beans.decode(bodies.SubscriptionGroups, answer.body)
    return table, version.counter


def runtime_keys(code: int, answer: Command) -> Any:
    """The numbers are those of another process; what was delivered is another one's to test."""
    table = beans.decode(bodies.KVTable, answer.body).table
    return {key.replace("store/", "") for key in table if not key.startswith("scheduleMessageOffset_")}


def progress(code: int, answer: Command) -> Any:
    """Without the rate, which is not measured."""
    return beans.decode(bodies_client.ConsumeStats, answer.body).offset_table


def members(code: int, answer: Command) -> Any:
    """Without the port that a client's system chose."""
    kind = {203: bodies_client.ConsumerConnection, 204: bodies_client.ProducerConnection}[code]
    found: Any = beans.decode(kind, answer.body)
    connections = [each._replace(client_addr=each.client_addr.split(":")[0]) for each in found.connection_set]
    return found._replace(connection_set=tuple(connections))


def readable_delays(code: int, answer: Command) -> Any:
    """How far deliveries have come is not replayed."""
    beans.decode(bodies.DelayOffsets, answer.body)


LIKE: dict[int, Callable[[int, Command], Any]] = {
    12: found_records,
    21: topics,
    28: runtime_keys,
    33: lambda code, answer: answer.body,
    38: bean(bodies_client.ConsumerList),
    41: bean(bodies_client.LockBatchResponse),
    43: bean(bodies.ConsumerOffsets),
    45: readable_delays,
    201: groups,
    202: bean(bodies_client.TopicStatsTable),
    203: members,
    204: members,
    208: progress,
}


def content(code: int, answer: Command) -> Any:
    values = header(code, answer)
    return LIKE.get(code, header)(code, answer) if answer.code == remoting.SUCCESS and values is not None else None


def replay(
    golden: Path, kind: type[Broker] = Broker, server: str = "master"
) -> tuple[list[str], Counter[int], Counter[str]]:
    """What the answers differ in, how many requests of each code there were, and how often each client was told."""
    disk = golden_disk(server, "commitlog", "consumequeue", "index", "checkpoint")
    delivered = "config/delayOffset.json"
    disk.write_whole(delivered, (golden / "store" / server / delivered).read_bytes())
    Later.started_ms = int(json.loads((golden / "run.json").read_text())["t0_epoch_ms"])
    play = Later(disk, kind, **asdict(settings(golden, server)))
    differences, asked, told = [], Counter[int](), Counter[str]()
    for at_ms, conn, request, expected in captured(golden, server):
        play.wait(max(0.0, at_ms / 1_000 - play.time / SECOND))
        # Pulls are asked, too: some bring commits along.
        if request.code not in OURS and request.code != RequestCode.PULL_MESSAGE:
            continue
        answer = play.feed(conn, request)
        if request.code in OURS:
            asked[request.code] += 1
            differences += compared(f"{at_ms} {conn}", request.code, answer, expected)
        for client, commands in play.told().items():
            told[client] += len(commands)
    return differences, asked, told


# What a slave lists depends on what its master has told it.
SYNCHRONISED = {21, 201}


@pytest.mark.parametrize("server", ["slave", "late-slave"])
def test_the_captured_slaves_clients_and_tools_are_served_alike(golden: Path, server: str) -> None:
    differences, asked, told = replay(golden, server=server)
    assert [each for each in differences if int(each.partition(":")[0].split()[-1]) not in SYNCHRONISED] == []
    assert asked[34] == 13 and asked[35] >= 10 and set(asked) <= OURS
    assert told == {f"consumer--{server} {number}": 1 for number in (0, 1)}


def compared(where: str, code: int, answer: Command | None, expected: Command | None) -> list[str]:
    if answer is None or expected is None:
        return [] if answer is expected else [f"{where} {code}: {answer} is not {expected}"]
    ours, real = (answer.code, content(code, answer)), (expected.code, content(code, expected))
    return [] if ours == real else [f"{where} {code}: {ours} is not {real}"]


def test_the_captured_master_s_clients_slaves_and_tools_are_served_alike(golden: Path) -> None:
    differences, asked, told = replay(golden)
    assert differences == []
    assert set(asked) == OURS and sum(asked.values()) > 300
    assert told == TOLD


class Forgets(Progress):
    def on_update(self, request: Request) -> None:
        request.answer()


class FindsNothing(Queries):
    def on_query(self, request: Request) -> None:
        request.answer(remoting.QUERY_NOT_FOUND, {"indexLastUpdateTimestamp": 0, "indexLastUpdatePhyoffset": 0})


class TellsNobody(Members):
    def notifies(self, group: str) -> bool:
        return False


class MakesNothing(Members):
    def makes_groups(self) -> bool:
        return False


class Refuses(Administration):
    def check_role(self) -> None:
        raise CodecError("no")


@pytest.mark.parametrize(
    "parts",
    [
        {"progress_class": Forgets}, {"queries_class": FindsNothing}, {"members_class": TellsNobody},
        {"members_class": MakesNothing}, {"administration_class": Refuses},
    ],
    ids=lambda parts: next(iter(parts.values())).__name__,
)  # fmt: skip
def test_replay_sees_a_broker_that_does_something_else(golden: Path, parts: dict[str, type]) -> None:
    differences, _, told = replay(golden, type("Wrong", (Broker,), parts))
    assert differences or told != TOLD
