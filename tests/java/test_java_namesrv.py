"""Brokers of one kind at the name server of the other: the slave finds its master, clients find both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from clients import Clients, Driver, all_keys, messages
from pairs import Pair, mixed, until_replicated
from processes import Kind, NameServer, Program, until

pytestmark = pytest.mark.slow


@mixed("brokers", "names")
def test_a_pair_is_found_and_forgotten(
    brokers: Kind, names: Kind, driver: Driver, tmp_path: Path, running: Callable[[Program], Program]
) -> None:
    namesrv = NameServer(tmp_path / "namesrv", names)
    pair = Pair(tmp_path, brokers, namesrv)
    clients = Clients(driver, namesrv.address)
    for each in (namesrv, pair.master, pair.slave):
        running(each)
    topic = clients.make_topic("found")
    # What a broker's readiness does not say: that it has registered.
    until(lambda: clients.addresses(topic) == {0: pair.master.address, 1: pair.slave.address})
    # The slave was told by the name server only where to copy from.
    until_replicated(clients)
    with clients.producer() as send, clients.push(topic, "finders") as consumer:
        wanted = messages(8, "found-")
        assert {each.status for each in send("sync", topic, wanted)} == {"SEND_OK"}
        driver.wait([consumer], all_keys(wanted))
    pair.slave.kill()
    until(lambda: clients.addresses(topic) == {0: pair.master.address})
    assert pair.master.stop() in (0, 143)
    assert clients.addresses(topic) == {}
