"""A store that one kind of broker wrote, taken over by the other: the same queues, messages, keys and progress."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from clients import Clients, Driver, Queue, all_keys, keys, messages
from pairs import mixed
from processes import JAVA, REFERENCE, Broker, Kind, NameServer, Program, until

pytestmark = pytest.mark.slow
TOPICS = ("large", "small", "delayed")
WAITING = "SCHEDULE_TOPIC_XXXX"
GROUP = "readers-of-small"


# One without its queues was stopped as well, and more of it has to be right.
@pytest.mark.parametrize("ended", [pytest.param("stopped", marks=pytest.mark.nightly), "killed", "without its queues"])
@mixed("writer", "taker")
def test_a_store_is_taken_over_whole(
    writer: Kind, taker: Kind, ended: str, driver: Driver, tmp_path: Path, running: Callable[[Program], Program]
) -> None:
    namesrv = NameServer(tmp_path / "namesrv", JAVA if REFERENCE not in (writer, taker) else REFERENCE)
    running(namesrv)
    clients = Clients(driver, namesrv.address)
    store = tmp_path / "store"
    first = Broker(tmp_path / "first", writer, store, brokerRole="ASYNC_MASTER", namesrvAddr=namesrv.address)
    running(first)
    fill(clients)
    before = everything(clients)
    assert len(list((store / "commitlog").iterdir())) >= 3, "the log must not be in one file only"
    if ended == "killed":
        first.kill()
    else:
        assert first.stop() in (0, 143)
    queue_files = derived(store)
    if ended == "without its queues":
        shutil.rmtree(store / "consumequeue")
        shutil.rmtree(store / "index")
    second = Broker(
        tmp_path / "second", taker, store, brokerRole="ASYNC_MASTER", namesrvAddr=namesrv.address, listenPort=first.port
    )
    # A broker says that it runs before it has registered. What the first one had registered goes with its connection.
    until(lambda: not any(map(clients.addresses, TOPICS)))
    running(second)
    until(lambda: all(map(clients.addresses, TOPICS)))
    after = everything(clients)
    if ended == "killed":
        # Progress is written every few seconds only, a group's and that of delayed messages, which then come again.
        before, after = without_progress(before), without_progress(after)
        again = after.pop("delayed")
        for old, new in zip(before.pop("delayed"), again, strict=True):
            assert new.messages[: old.max] == old.messages
            assert set(keys(new.messages)) == set(keys(old.messages))
    assert after == before
    queue_files_after = derived(store)
    for each in (*before, WAITING):
        assert queue_files_after[each] == queue_files[each] != {}
    found_by_key(clients)
    goes_on(clients, before, ended == "killed")


def fill(clients: Clients) -> None:
    """Write several files of log, in every way that leaves another record, and consume one topic by half."""
    for topic in TOPICS:
        clients.make_topic(topic)
    with clients.producer() as send, clients.push("delayed", "delayed-group") as delayed:
        late = messages(3, "late-", delay=1)
        send("sync", "delayed", late)
        send("batch", "small", messages(10, "batch-", tag="batch"))
        send("async", "small", messages(10, "early-", tag="single"))
        with clients.push("small", GROUP) as consumer:
            clients.driver.wait([consumer], lambda got: len(got) == 20)
            clients.commit(consumer, "small", GROUP)
        send("sync", "large", [{"key": f"large-{n}", "body": incompressible(n)} for n in range(30)])
        send("sync", "small", messages(10, "unread-"))
        clients.driver.wait([delayed], all_keys(late))


def incompressible(n: int) -> str:
    """About 8 kB of text that compresses badly: an own one for each number."""
    return "".join(f"{(n + 2) ** 5 * k**3:x}" for k in range(1, 700))


def everything(clients: Clients) -> dict[str, list[Queue]]:
    """Queues, messages and a group's progress."""
    return {topic: clients.read(topic, GROUP) for topic in TOPICS}


def without_progress(read: dict[str, list[Queue]]) -> dict[str, list[Queue]]:
    return {topic: [each._replace(committed=0) for each in queues] for topic, queues in read.items()}


def derived(store: Path) -> dict[str, dict[str, bytes]]:
    """Each topic's consume queue files by name."""
    return {
        topic: {str(path.relative_to(store)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for topic in (*TOPICS, WAITING)
        for folder in (store / "consumequeue" / topic,)
    }


def found_by_key(clients: Clients) -> None:
    for topic, key in (("large", "large-7"), ("small", "batch-3"), ("small", "unread-9"), ("delayed", "late-1")):
        message = next(each for queue in clients.read(topic) for each in queue.messages if each.key == key)
        printed = clients.admin("queryMsgByKey", "-t", topic, "-k", key)
        assert [message.msgId, str(message.queue), str(message.offset)] in map(str.split, printed.splitlines())


def goes_on(clients: Clients, before: dict[str, list[Queue]], from_anywhere: bool) -> None:
    """New messages get the next offsets, and the group gets what it had not."""
    ends = {each.queue: each.max for each in before["small"]}
    more = [{**each, "shard": n} for n, each in enumerate(messages(4, "more-"))]
    with clients.producer() as send:
        sent = send("ordered", "small", more)
    assert {each.queue: each.offset for each in sent} == ends
    wanted = [*messages(10, "unread-"), *more]
    with clients.push("small", GROUP) as consumer:
        got = clients.driver.wait([consumer], all_keys(wanted))
    if not from_anywhere:
        assert sorted(keys(got)) == sorted(each["key"] for each in wanted)
