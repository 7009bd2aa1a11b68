"""Pairs to test: a name server, a master and its slave of one kind, or programs of both kinds together.

The reference is tested. ``PAIRPROOF_PAIRS=java`` runs the tests on RocketMQ alone instead, ``java,reference`` on each:
what fails on RocketMQ alone is wrong with the test.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from clients import Clients, messages
from processes import JAVA, REFERENCE, Broker, Kind, NameServer, until

from pairproof.reference.errors import CodecError
from pairproof.reference.wire import fastjson

PAIRS = os.environ.get("PAIRPROOF_PAIRS", "reference").split(",")
SLAVE_ID = 1


class Pair:
    """SYNC_MASTER and slave: a send that ends with SEND_OK is on both."""

    def __init__(self, folder: Path, kind: Kind, namesrv: NameServer | None = None) -> None:
        """With a name server that is already there the slave learns from it where to copy from; else it is told."""
        self.namesrv = namesrv or NameServer(folder / "namesrv", kind)
        named: dict[str, Any] = {"namesrvAddr": self.namesrv.address}
        self.master = Broker(folder / "master", kind, brokerRole="SYNC_MASTER", brokerId=0, **named)
        told: dict[str, Any] = {} if namesrv else {"haMasterAddress": self.master.ha_address}
        self.slave = Broker(folder / "slave", kind, brokerRole="SLAVE", brokerId=SLAVE_ID, **named, **told)

    def start(self) -> Pair:
        """Start all three; the slave may not have found its master yet."""
        for each in (self.namesrv, self.master, self.slave):
            each.start()
        return self

    def kill(self) -> None:
        """kill -9 all three."""
        for each in (self.slave, self.master, self.namesrv):
            each.kill()


def mixed(one: str, other: str) -> pytest.MarkDecorator:
    """Give a test two arguments of different kinds, both ways round."""
    kinds = [(REFERENCE, JAVA), (JAVA, REFERENCE)] if "reference" in PAIRS else []
    kinds += [(JAVA, JAVA)] if "java" in PAIRS else []
    return pytest.mark.parametrize((one, other), kinds, ids=[f"{a.name}-{one}-{b.name}-{other}" for a, b in kinds])


def until_replicated(clients: Clients) -> None:
    """Wait until a slave holds what is sent."""
    topic = clients.make_topic("is-there-a-slave")
    with clients.producer() as send:
        until(lambda: send("sync", topic, messages(1))[0].status == "SEND_OK")


def on_disk(broker: Broker, name: str, table: str) -> dict[str, Any]:
    """A table of one of a broker's config files; nothing while the file is not there or is being replaced."""
    try:
        return dict(fastjson.loads((broker.store / "config" / f"{name}.json").read_bytes())[table])
    except (FileNotFoundError, CodecError):
        return {}


def topics_on_disk(broker: Broker) -> dict[str, Any]:
    """Topics that a broker keeps: of a slave, those of its last metadata sync."""
    return on_disk(broker, "topics", "topicConfigTable")


def groups_on_disk(broker: Broker) -> dict[str, Any]:
    """Subscription groups that a broker keeps."""
    return on_disk(broker, "subscriptionGroup", "subscriptionGroupTable")


def committed_on_disk(broker: Broker, topic: str, group: str) -> list[int]:
    """A group's offsets in the order of the queues."""
    offsets = on_disk(broker, "consumerOffset", "offsetTable").get(f"{topic}@{group}", {})
    return [offsets[queue] for queue in sorted(offsets)]
