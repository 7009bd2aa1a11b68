"""Real Java clients in one JVM, driven from Python: see ``driver/Driver.java`` for what goes over the pipe.

Messages that consumers get are kept per client, in the order in which they came. Every wait has a limit; a request that
failed in Java is a :class:`JavaError` with the exception's text.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from processes import CLUSTER, java, until
from real_brokers import die_with_parent

from pairproof.reference.wire import fastjson

ANSWER_S = 40
ARRIVE_S = 30
MAX_KEPT = 100_000


class JavaError(Exception):
    """A client refused or failed."""


class Message(NamedTuple):
    """A message as a Java client sees it. Times are ms since the epoch."""

    topic: str
    queue: int
    offset: int
    body: str
    msgId: str
    offsetMsgId: str
    storeHost: str
    bornMs: int
    storeMs: int
    reconsumed: int
    physicalOffset: int
    broker: str = ""
    key: str = ""
    tag: str = ""
    pulledFrom: str = ""


class Sent(NamedTuple):
    """A SendResult. The ids of a batch are joined by commas, its offset is the first message's."""

    status: str
    msgId: str
    offsetMsgId: str
    broker: str
    queue: int
    offset: int


class Queue(NamedTuple):
    """A whole queue: its offsets, what a group has committed there (negative: nothing), its messages."""

    queue: int
    min: int
    max: int
    committed: int
    messages: list[Message]


class Driver:
    """The JVM. Clients are known by a name, as their instance and in what they say."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._errors = (folder / "errors.txt").open("wb")
        self.process = subprocess.Popen(
            java(folder, "Driver"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            preexec_fn=die_with_parent,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._requests: IO[bytes] = self.process.stdin
        self._lines: IO[bytes] = self.process.stdout
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._ended = False
        self._answers: dict[int, dict[str, Any]] = {}
        self._got: defaultdict[str, list[Message]] = defaultdict(list)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def close(self) -> None:
        """End the JVM and all its clients at once."""
        self.process.kill()
        self.process.wait()
        self._listener.join()
        for each in (self._requests, self._lines, self._errors):
            each.close()

    def ask(self, do: str, **fields: Any) -> Any:
        """Have the driver do something, and wait for its answer."""
        number = next(self._numbers)
        self._requests.write(json.dumps({"id": number, "do": do, **fields}).encode() + b"\n")
        self._requests.flush()
        with self._changed:
            self._wait(lambda: number in self._answers, ANSWER_S, f"an answer to {do}")
            answer = self._answers.pop(number)
        if "error" in answer:
            raise JavaError(answer["error"])
        return answer.get("answer")

    def got(self, client: str) -> list[Message]:
        """What this consumer has got so far."""
        with self._changed:
            return list(self._got[client])

    def wait(
        self, clients: Sequence[str], holds: Callable[[list[Message]], bool], limit_s: float = ARRIVE_S
    ) -> list[Message]:
        """Wait until what these consumers have got together is as wanted; all of it."""

        def together() -> list[Message]:
            return [message for each in clients for message in self._got[each]]

        with self._changed:
            try:
                self._wait(lambda: holds(together()), limit_s, "the messages")
            except AssertionError as why:
                came = sorted(f"{each.key}x{each.reconsumed}" for each in together())
                raise AssertionError(f"{why}; {', '.join(clients)} got {len(came)}: {came[:50]}") from None
            return together()

    def _wait(self, holds: Callable[[], bool], limit_s: float, what: str) -> None:
        self._changed.wait_for(lambda: self._ended or holds(), limit_s)
        assert holds(), f"{'the driver ended before' if self._ended else f'no more than {limit_s} s for'} {what}"

    def _listen(self) -> None:
        for line in self._lines:
            said = json.loads(line)
            with self._changed:
                if "id" in said:
                    self._answers[said["id"]] = said
                elif "client" in said and len(self._got[said["client"]]) < MAX_KEPT:
                    self._got[said["client"]].append(Message(**said["message"]))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Clients:
    """Clients of one name server, all in the driver's JVM. What is started here ends with its ``with``."""

    _numbers = itertools.count(1)

    def __init__(self, driver: Driver, namesrv: str) -> None:
        self.driver = driver
        self.namesrv = namesrv

    @contextmanager
    def producer(self) -> Iterator[Callable[..., list[Sent]]]:
        """``send(way, topic, messages)`` of a producer; ``way`` and messages are as in ``driver/Producer.java``."""
        with self._client("producer", group="producers") as name:

            def send(way: str, topic: str, messages: Sequence[dict[str, Any]]) -> list[Sent]:
                results = self.driver.ask("send", client=name, way=way, topic=topic, messages=messages)
                return [Sent(**each) for each in results]

            yield send

    @contextmanager
    def push(
        self,
        topic: str,
        group: str,
        *,
        model: str = "CLUSTERING",
        orderly: bool = False,
        tags: str = "*",
        fail_once: Sequence[str] = (),
    ) -> Iterator[str]:
        """A push consumer's name."""
        settings = {"group": group, "model": model, "orderly": orderly, "failOnce": fail_once}
        with self._client("push", topic=topic, tags=tags, **settings) as name:
            yield name

    @contextmanager
    def lite(self, topic: str, group: str) -> Iterator[str]:
        """A lite pull consumer's name; it commits by :meth:`commit` only."""
        with self._client("lite", topic=topic, tags="*", group=group) as name:
            yield name

    def read(self, topic: str, group: str = "reader") -> list[Queue]:
        """All of a topic, and what a group has committed there."""
        queues = self.driver.ask("read", client=self._name("reader"), namesrv=self.namesrv, topic=topic, group=group)
        return [Queue(**{**each, "messages": [Message(**one) for one in each["messages"]]}) for each in queues]

    def commit(self, consumer: str, topic: str, group: str) -> None:
        """Have a consumer commit until its group's offsets are the ends of all queues.

        Clients commit one-way, so that what they send right before they close their connection may get lost.
        """

        def all_committed() -> bool:
            self.driver.ask("commit", client=consumer)
            return all(each.committed == each.max for each in self.read(topic, group))

        until(all_committed)

    def admin(self, command: str, *arguments: str) -> str:
        """What mqadmin prints; JavaError if that is an exception."""
        printed = str(self.driver.ask("admin", args=[command, *arguments, "-n", self.namesrv]))
        if re.search(r"^[\w.]+(Exception|Error)\b", printed, re.MULTILINE):
            raise JavaError(printed)
        return printed

    def make_topic(self, topic: str, queues: int = 4) -> str:
        """Make a topic on the pair, and wait until the name server knows of it; its name.

        The reference answers first and registers then; RocketMQ the other way round. So the name server may not know of
        the cluster yet.
        """
        counts = ("-r", str(queues), "-w", str(queues))
        until(lambda: "success" in self.admin("updateTopic", "-c", CLUSTER, "-t", topic, *counts))
        until(lambda: self.addresses(topic) != {})
        return topic

    def route(self, topic: str) -> dict[str, Any]:
        """A topic's route as the name server has it; one without brokers and queues if it has none."""
        try:
            return dict(fastjson.loads(self.admin("topicRoute", "-t", topic)))
        except JavaError as error:
            if "CODE: 17" not in str(error):
                raise
            return {"brokerDatas": [], "queueDatas": []}

    def addresses(self, topic: str) -> dict[int, str]:
        """Of the brokers that have a topic, by broker id; nothing while it has no route."""
        return {number: at for each in self.route(topic)["brokerDatas"] for number, at in each["brokerAddrs"].items()}

    @contextmanager
    def _client(self, kind: str, **settings: Any) -> Iterator[str]:
        name = self._name(kind)
        self.driver.ask("start", client=name, kind=kind, namesrv=self.namesrv, **settings)
        try:
            yield name
        finally:
            self.driver.ask("stop", client=name)

    def _name(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers)}"


def messages(count: int, prefix: str = "", **fields: Any) -> list[dict[str, Any]]:
    """Messages with keys ``prefix0``, ``prefix1``, … and a body each that has its key in it."""
    return [{"key": f"{prefix}{n}", "body": f"body of {prefix}{n}", **fields} for n in range(count)]


def keys(of: Sequence[Message]) -> list[str]:
    """Keys in the order of the messages."""
    return [each.key for each in of]


def all_keys(wanted: Sequence[dict[str, Any]]) -> Callable[[list[Message]], bool]:
    """Whether every one of these messages has come, each at least once."""
    names = {each["key"] for each in wanted}
    return lambda got: names <= set(keys(got))
