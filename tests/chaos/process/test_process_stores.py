"""Stores: what a power loss takes and what it leaves, and what a store holds."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from lab_nodes import LabNode
from store_uses import FIRST, LOG, SECOND, killer, nobody, place, sends, writer

from pairproof.chaos.labs.real import disks
from pairproof.chaos.labs.real.stores import Store, Stores
from pairproof.chaos.labs.real.supervisor import Supervisor
from pairproof.harness.errors import LabError

MakeNode = Callable[..., LabNode]


# Power.


def test_a_power_loss_takes_what_was_not_flushed_also_of_mapped_files(supervisor: Supervisor, device: Store) -> None:
    done = device.lose_power("none", 0, killer(supervisor, writer(supervisor, device)))
    assert done == {"file_systems_shut_down": 1}
    assert device.copy_files() == {"known": b"flushed".ljust(16_384, b"\0")}


def test_kill_9_takes_nothing(supervisor: Supervisor, device: Store) -> None:
    killer(supervisor, writer(supervisor, device))()
    found = device.copy_files()
    assert found["known"] == b"flushed".ljust(8_192, b"\0") + b"written".ljust(8_192, b"\0")
    assert found["new"] == b"new".ljust(16_384, b"\0")


def test_a_power_loss_may_also_take_nothing(supervisor: Supervisor, device: Store) -> None:
    device.lose_power("all", 0, killer(supervisor, writer(supervisor, device)))
    assert device.copy_files()["known"][8_192:8_199] == b"written" and "new" in device.copy_files()


def test_a_process_that_outlives_the_power_loss_is_noticed(
    supervisor: Supervisor, device: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disks, "TRIES", 2)
    writer(supervisor, device)
    with pytest.raises(LabError, match="target is busy"):
        device.lose_power("none", 0, nobody)


@pytest.mark.parametrize(
    "flush, lies, loses", [("SYNC_FLUSH", 0, False), ("ASYNC_FLUSH", 0, True), ("SYNC_FLUSH", 1, True)]
)
def test_a_broker_loses_what_it_had_not_flushed(
    node: MakeNode, device: Store, flush: str, lies: int, loses: bool
) -> None:
    broker = node(storePathRootDir=device.path, flushDiskType=flush, flushIntervalCommitLog=60_000).start()
    broker.control.set("lies", lies)
    sends(broker.address)
    end = broker.traced("append")[-1][3]
    assert (broker.traced("flush")[-1:] or [[0, 0, 0]])[-1][2] == (0 if flush == "ASYNC_FLUSH" else end)
    broker.supervisor.stop_and_wait(broker.pid)
    device.lose_power("none", 0, lambda: broker.end(signal.SIGKILL) and None)
    broker.control.clear()
    broker.start()
    assert broker.traced("start")[0][3:] == [0, 0 if loses else end]


ENDS_AT = 5_096


@pytest.mark.parametrize("keep", ["none", "all", "half", "hole"])
@pytest.mark.parametrize("flushed", [0, 2_000, 4_096, 4_500])
def test_what_is_lost_of_a_log_is_what_was_asked_for(store: Store, keep: str, flushed: int) -> None:
    place(store, LOG)
    # Really durable: what was flushed, as the broker has said.
    durable = {
        name: data[: max(0, flushed - start)] for (name, data), start in zip(LOG.items(), (0, 4_096), strict=True)
    }
    if store.kind == "device":
        for name, data in durable.items():
            (store.path / name).write_bytes(data.ljust(4_096, b"\0")) if data else (store.path / name).unlink()
        os.sync()
        place(store, LOG)
    store.lose_power(keep, flushed, nobody)
    middle = flushed + (ENDS_AT - flushed) // 2
    lost = {
        "all": range(0),
        "none": range(flushed, 8_192),
        "half": range(middle, 8_192),
        "hole": range(max(flushed, middle - middle % 512), middle - middle % 512 + 512),
    }[keep]
    whole = bytearray(b"".join(LOG.values()))
    for at in lost:
        whole[at] = 0
    found = store.copy_files(["commitlog/"])
    assert b"".join(data for _, data in sorted(found.items())).ljust(8_192, b"\0") == whole
    assert (SECOND in found) == (any(whole[4_096:]) or flushed > 4_096), "a file that holds nothing was never there"


@pytest.mark.parametrize("store", ["tmpfs", "folder"], indirect=True)
def test_without_a_device_only_the_log_is_lost(store: Store) -> None:
    place(store, {**LOG, "config/topics.json": b"{}"})
    assert store.lose_power("none", 4_096, nobody) == {"log_tails_cut": 1}
    assert store.copy_files() == {FIRST: LOG[FIRST], "config/topics.json": b"{}"}


# What a store holds.


def test_files_are_found_by_the_beginnings_of_their_names(store: Store) -> None:
    place(store, {FIRST: b"1", "config/a.json": b"2", "config/.a.json": b"3", "abort": b""})
    assert store.copy_files() == {FIRST: b"1", "config/a.json": b"2", "abort": b""}
    assert store.copy_files(("commitlog/", "abort")) == {FIRST: b"1", "abort": b""}
    assert store.copy_files(("none",)) == {}


def test_an_emptied_store_is_empty_for_ever(store: Store) -> None:
    place(store, LOG)
    os.sync()
    store.empty()
    assert store.copy_files() == {} and store.path.is_dir()
    store.lose_power("none", 0, nobody)
    assert store.copy_files() == {} and store.path.is_dir()


def test_a_new_store_survives_a_power_loss(store: Store) -> None:
    store.lose_power("none", 0, nobody)
    assert store.path.is_dir()


def test_an_image_comes_back_as_it_was_and_stays(store: Store) -> None:
    place(store, LOG)
    image = store.image()
    place(store, {FIRST: b"later", "new": b"later"})
    store.restore(image)
    assert store.copy_files() == LOG
    store.lose_power("none", 8_192, nobody)
    assert store.copy_files() == LOG


@pytest.mark.parametrize("kinds", [("device",) * 2, ("tmpfs",) * 2, ("folder",) * 2, ("device", "folder")])
def test_two_stores_exchange_what_they_hold(supervisor: Supervisor, kinds: tuple[str, str]) -> None:
    found = []
    for number, kind in enumerate(kinds):
        (supervisor.folder / str(number)).mkdir()
        stores = Stores(supervisor.folder / str(number), devices=kind != "folder")
        stores.why_not = "no loop devices" if kind == "tmpfs" else stores.why_not
        found.append(stores.create("node"))
        if found[-1].kind != kind:
            pytest.skip(f"no disks of our own here: {found[-1].why_not}")
    one, other = found
    place(one, {"mine": b"1"})
    place(other, {"its": b"2"})
    paths = one.path, other.path
    one.swap(other)
    assert (one.copy_files(), other.copy_files()) == ({"its": b"2"}, {"mine": b"1"})
    assert (one.path, other.path) == paths
