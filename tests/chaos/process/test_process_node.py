"""Nodes in processes of their own: what their traces hold, how they end, what a control file does to them."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab_nodes import LabNode
from real_brokers import DEADLINE_S, caller, connected
from real_labs import until

from pairproof.chaos.labs.real.control import Control
from pairproof.chaos.mutants import catalogue
from pairproof.chaos.observers import store_folder, store_reader
from pairproof.chaos.rocketmq.controlled_disk import ControlledDisk
from pairproof.chaos.rocketmq.node import target_of
from pairproof.chaos.rocketmq.programs import EXIT_BUG, EXIT_LAB
from pairproof.chaos.targets.reference import TARGET
from pairproof.harness.errors import UsageError
from pairproof.reference.client.client import Outcome

MakeNode = Callable[..., LabNode]


def send(address: str, count: int = 1) -> list[Outcome]:
    """Sends to a broker, one after the other."""

    async def run() -> list[Outcome]:
        async with caller() as client:
            return [await client.send(address, b"body", properties=f"KEYS\x01m{n}\x02") for n in range(count)]

    return asyncio.run(run())


def test_a_trace_tells_a_broker_s_life_from_start_to_stop(node: MakeNode) -> None:
    broker = node(flushDiskType="SYNC_FLUSH").start()
    sent = send(broker.address, 3)
    assert [each.status for each in sent] == ["PUT_OK"] * 3
    assert broker.end() == ("exited", 0)
    kinds = [row[1] for row in broker.traced("ready") and broker.rows]
    assert kinds[:2] == ["start", "ready"] and kinds[-2:] == ["stopping", "stopped"]
    start = broker.traced("start")[0][2:]
    assert start == ["empty", 0, 0]
    appends = broker.traced("append")
    assert [(row[5], row[6]) for row in appends] == [("put", f"m{n}") for n in range(3)]
    assert [row[0] for row in broker.rows] == sorted(row[0] for row in broker.rows)
    end = appends[-1][3]
    assert broker.traced("flush")[-1][2] == broker.traced("dispatch")[-1][2] == end
    assert broker.traced("persist")[0][2] == "topics"
    broker.start()
    assert broker.traced("start")[0][2:] == ["normal", 0, end]


def test_kill_9_loses_nothing_of_a_trace(node: MakeNode) -> None:
    broker = node().start()
    send(broker.address, 20)
    assert broker.end(signal.SIGKILL) == ("killed", signal.SIGKILL)
    ends = [row[3] for row in broker.traced("append")]
    assert len(ends) == 20 and broker.traced("stopping") == []
    reading = store_reader.read_log(store_folder.open_log(broker.store), ends[-1])
    assert [record.hi for record in reading.records] == ends
    assert [record.digest for record in reading.records] == [row[4] for row in broker.traced("append")]
    broker.start()
    assert broker.traced("start")[0][2:] == ["abnormal", 0, ends[-1]]


def test_a_slave_traces_what_it_copies_and_a_master_whom_it_refuses(node: MakeNode) -> None:
    master = node(brokerRole="SYNC_MASTER").start()
    slave = node("slave", brokerRole="SLAVE", brokerId=1, haMasterAddress=f"127.0.0.1:{master.port + 1}").start()

    async def replicated() -> None:
        async with caller() as client:
            await client.replicated(master.address)

    asyncio.run(replicated())
    copied = slave.hear("append")
    assert copied[5:] == ["replicate", None]
    with connected(f"127.0.0.1:{master.port + 1}") as stranger:
        stranger.sendall((1 << 40).to_bytes(8, "big"))
        peer = "{}:{}".format(*stranger.getsockname())
        refused = master.hear("refused")
    assert refused[2:4] == [peer, 1 << 40]
    assert f"refused {peer}" in master.said(), "the broker's own log says it, too"


def test_a_broker_with_settings_that_cannot_be_used_says_why_and_that_is_no_failure_of_its_own(node: MakeNode) -> None:
    broker = node(haSendHeartbeatInterval="soon").launch()
    assert broker.wait() == ("exited", EXIT_LAB)
    (failed,) = broker.traced("failed")
    assert "haSendHeartbeatInterval" in failed[2]
    assert f"pairproof broker: {failed[2]}\n" in broker.said()
    assert broker.traced("ready") == []


def test_a_broker_that_cannot_go_on_says_why(node: MakeNode) -> None:
    broker = node().start()
    (broker.store / "commitlog").write_text("a folder in a healthy store")
    send(broker.address)
    found = broker.wait()
    assert found == ("exited", 4), broker.said()
    assert broker.traced("failed")


def test_a_broker_whose_own_code_raises_says_what_and_where_and_so_does_its_exit_code(node: MakeNode) -> None:
    broker = node(target="reference+trips_over_fillers", brokerRole="ASYNC_MASTER", mappedFileSizeCommitLog=2_048)
    broker.start()
    send(broker.address, 20)
    assert broker.wait() == ("exited", EXIT_BUG)
    (failed,) = broker.traced("failed")
    assert failed[2].startswith("KeyError: ") and "(pairproof.chaos.mutants.incarnations:" in failed[2]
    assert broker.said().splitlines()[-1] == failed[2]


def test_a_trace_that_cannot_be_written_ends_the_node(node: MakeNode) -> None:
    broker = node()
    broker.spec["trace"] = "/dev/full"
    broker.fork()
    assert broker.wait() == ("exited", EXIT_LAB)
    assert "No space left" in broker.said()


def test_a_spec_that_is_none_is_told_in_the_output(node: MakeNode) -> None:
    broker = node()
    del broker.spec["conf"]  # type: ignore[misc]
    assert broker.launch().wait() == ("exited", EXIT_LAB)
    assert "KeyError: 'conf'" in broker.said()
    del broker.spec["program"]  # type: ignore[misc]
    assert broker.launch().wait().number == EXIT_LAB
    broker.spec["trace"] = 7  # type: ignore[typeddict-item]
    broker.fork()
    assert broker.wait().number == 70 and "TypeError" in broker.said()


def test_a_mutant_takes_its_node_s_place(node: MakeNode) -> None:
    name = next(each.name for each in catalogue().values() if each.node == "master")
    target = target_of(f"reference+{name}")
    assert target == TARGET.mutant(name)
    assert target.broker_class("master") is not target.broker_class("slave") is TARGET.broker_class("slave")
    with pytest.raises(UsageError, match="unknown mutant"):
        target_of("reference+nonsense")
    assert node(target=f"reference+{name}").start().end() == ("exited", 0)
    wrong = node(target="reference+nonsense").launch()
    assert wrong.wait() == ("exited", EXIT_LAB)
    assert "unknown mutant" in wrong.hear("failed")[2]


def test_a_name_server_listens_on_the_port_of_its_file(node: MakeNode) -> None:
    names = node("names", "names")
    names.start()
    assert names.traced("start")[0][2:] == ["empty", None, None]
    connected(f"127.0.0.1:{names.port}").__enter__().close()
    assert names.end() == ("exited", 0)


# A disk and a clock that obey.


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    made = Control(tmp_path / "control")
    yield made
    made.close()


@pytest.fixture
def disk(control: Control, tmp_path: Path) -> ControlledDisk:
    found = ControlledDisk(control, tmp_path / "store")
    found.write_whole("config/topics.json", b"{}")
    return found


def counts(control: Control) -> dict[str, int]:
    return {name: value for name in ("held", "slowed", "lied", "skewed") if (value := control.get(name))}


def flush(disk: ControlledDisk) -> threading.Thread:
    thread = threading.Thread(target=disk.sync, args=("config/topics.json",), daemon=True)
    thread.start()
    return thread


def test_a_healthy_disk_flushes_and_counts_nothing(disk: ControlledDisk, control: Control) -> None:
    disk.sync("config/topics.json")
    assert counts(control) == {} and disk._unnamed == set()


def test_a_stalled_disk_holds_flushes_until_it_goes_on(disk: ControlledDisk, control: Control) -> None:
    control.set("stalled", 1)
    thread = flush(disk)
    thread.join(0.1)
    assert thread.is_alive() and counts(control) == {"held": 1}
    control.set("stalled", 0)
    thread.join(DEADLINE_S)
    assert not thread.is_alive() and disk._unnamed == set()


def test_a_slow_disk_takes_longer(disk: ControlledDisk, control: Control) -> None:
    control.set("slow_ms", 50)
    began = time.monotonic()
    disk.sync("config/topics.json")
    assert time.monotonic() - began >= 0.05 and counts(control) == {"slowed": 1}


def test_a_lying_disk_flushes_nothing(disk: ControlledDisk, control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fdatasync", synced.append)
    control.set("lies", 1)
    disk.sync("config/topics.json")
    assert synced == [] and counts(control) == {"lied": 1}
    control.set("lies", 0)
    disk.sync("config/topics.json")
    assert len(synced) == 1


def test_both_sides_of_a_control_see_the_same_numbers(control: Control, tmp_path: Path) -> None:
    other = Control(tmp_path / "control")
    control.set("skew_ms", -90_000)
    other.count("skewed")
    assert other.get("skew_ms") == -90_000 and control.get("skewed") == 1
    control.clear()
    assert other.get("skew_ms") == other.get("skewed") == 0


def test_a_running_broker_obeys_its_control(node: MakeNode) -> None:
    broker = node(flushDiskType="SYNC_FLUSH", syncFlushTimeout=300, flushIntervalCommitLog=20).start()
    assert send(broker.address)[0].status == "PUT_OK"
    broker.control.set("stalled", 1)
    assert send(broker.address)[0].status == "FLUSH_DISK_TIMEOUT"
    # An earlier flush may still have been on its way.
    until(lambda: broker.control.get("held") >= 1)
    broker.control.set("stalled", 0)
    until(lambda: send(broker.address)[0].status == "PUT_OK")
    broker.control.set("skew_ms", 3_600_000)
    before = time.time_ns() // 1_000_000
    send(broker.address)
    assert broker.control.get("skewed") >= 1
    end = broker.traced("append")[-1][3]
    *_, last = store_reader.read_log(store_folder.open_log(broker.store), end).records
    assert 3_600_000 <= last.store_ms - before < 3_700_000


def test_a_stalled_broker_can_be_killed(node: MakeNode) -> None:
    broker = node().start()
    send(broker.address)
    broker.control.set("stalled", 1)
    broker.supervisor.signal(broker.pid, signal.SIGTERM)
    broker.hear("stopping")
    assert broker.supervisor.wait(broker.pid, 0.2).state == "running"
    assert broker.end(signal.SIGKILL) == ("killed", signal.SIGKILL)


def test_nothing_listens_before_a_node_is_ready(node: MakeNode) -> None:
    broker = node()
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", broker.port)):
        pass
    broker.start()
    for port in (broker.port, broker.port - 2, broker.port + 1):
        socket.create_connection(("127.0.0.1", port)).close()
