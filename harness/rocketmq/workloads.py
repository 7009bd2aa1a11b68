"""Workload templates: beginnings of cluster trials. Each shows one promise of a pair besides its log, and alone.

They use RocketMQ's own times: routes are requested every 30 s, tables every 10 s, progress is committed and saved every
5 s. A template is a schedule's beginning, so anything may follow it.
"""

from __future__ import annotations

from ..trials.schedule import Op
from .operations.join import BROADCASTING, ORDERLY
from .operations.scope import FALTERING
from .storage_workloads import STORES
from .template import (
    ALONE,
    AWAY,
    BACK,
    CONSUMING,
    IN_ORDER,
    Template,
    advance,
    astray,
    delayed,
    fault,
    group,
    heal,
    join,
    leave,
    pull,
    send,
    topic,
)  # fmt: skip

RETRIED = Op("group", {"group": FALTERING, "slowly": 1, "broker": 0, "node": "master", "retry_queues": 4})
TEMPLATES = (
    Template("a group shares a topic's queues, and shares them again", {}, (*CONSUMING, leave(0, 0), advance(2_000))),
    Template("the master dies under a group, and is back", {}, (*CONSUMING, advance(6_000), *AWAY, *BACK)),
    Template(
        "so it does where slaves are for reading",
        {"slaveReadEnable": True},
        (*CONSUMING, advance(6_000), *AWAY, *BACK),
    ),
    Template(
        "a group goes on at a slave, and is gone when the master is back",
        {},
        (
            *CONSUMING, send(0), advance(300), fault("kill", node="master"), advance(38_000), leave(0, 0),
            leave(0, 1), advance(1_000), heal("kill"), advance(38_000),
        ),
    ),
    Template(
        "readers lag behind what is in the master's memory",
        {"slaveReadEnable": True, "accessMessageInMemoryMaxRatio": 0},
        (send(0), send(0), send(0), *CONSUMING, send(0), advance(2_000)),
    ),
    Template(
        "a group is sent to the slave",
        {"slaveReadEnable": True},
        (topic(2, "master"), group(0, 1, "master"), advance(12_000), *CONSUMING),
    ),
    Template(
        "users fix the slave to read from, whatever brokers suggest",
        {"lab.connectBrokerByUser": 1, "lab.defaultBrokerId": 1},
        CONSUMING,
    ),
    Template(
        "tables change while a slave cannot ask for them",
        {},
        (fault("down", link="meta"), topic(2, "master"), group(0, 1, "master"), advance(12_000), heal("down"),
         advance(11_000)),
    ),
    Template(
        "an administrator tries a slave", {}, (*CONSUMING, topic(2, "slave"), group(1, 0, "slave"), advance(11_000))
    ),
    Template(
        "the name server is away",
        {},
        (*CONSUMING, fault("kill", node="names"), advance(31_000), send(0), heal("kill"), advance(62_000)),
    ),
    Template(
        "the master is without power for longer than a name server waits",
        {},
        (*CONSUMING, fault("power_loss", node="master", keep="all"), advance(141_000)),
    ),
    Template(
        "of two slaves the one that a group reads from dies",
        {"slaveReadEnable": True, "lab.slaves": 2},
        (group(0, 1, "master"), *CONSUMING, fault("kill", node="slave"), advance(38_000)),
    ),
    Template(
        "a slave is restarted with the tables that it has",
        {},
        (
            *CONSUMING, topic(2, "master"), advance(11_000), fault("restart", node="slave"), advance(1_000),
            pull("slave"),
        ),
    ),
    Template(
        # It has had the topics before. Its second message is then its next question, right after it has written the
        # topics.
        "a slave loses power while it saves a table",
        {},
        (
            advance(17_900), topic(2, "master"),
            Op("arm", {"node": "slave", "point": "send", "nth": 2, "name": "power_loss", "keep": "none"}),
            advance(500), heal("power_loss"), advance(500), pull("slave"), advance(2_000),
        ),
    ),
    Template("a slave's store is wiped", {}, (*CONSUMING, fault("wipe", node="slave"), advance(12_000), pull("slave"))),
    *STORES,
    Template(
        "a master begins again with an empty store",
        {},
        (group(0, 1, "master"), advance(12_000), fault("wipe", node="master"), advance(100), heal("wipe"), send(0)),
    ),
    Template(
        "consumers and their master die before progress is saved",
        {},
        (
            *CONSUMING, send(0), advance(12_000), send(0), send(1), advance(500), leave(0, 0, lost=True),
            leave(0, 1, lost=True), fault("kill", node="master"), advance(100), heal("kill"), advance(1_000),
            send(0), join(0, 2), advance(6_000),
        ),
    ),
    Template(
        "consumers die, and another goes on for them",
        {},
        (
            *CONSUMING, send(0), advance(100), send(0), advance(100), leave(0, 0, lost=True), leave(0, 1, lost=True),
            join(0, 2), advance(2_000),
        ),
    ),
    Template(
        "a group's last consumer says goodbye, and another comes",
        {},
        (*CONSUMING, leave(0, 0), leave(0, 1), advance(1_000), join(0, 2), advance(2_000)),
    ),
    Template(
        "a group outlives its master beside a slave that is behind",
        {},
        (
            *CONSUMING, fault("stall", link="ha", direction="down"), send(0), send(1), advance(1_000),
            fault("kill", node="master"), advance(4_000), heal("kill"), send(0), advance(31_000), heal("stall"),
        ),
    ),
    Template(
        "delayed messages come, and a slave hears how many",
        {},
        (join(0, 0), delayed(0, 1), advance(500), delayed(0, 1), advance(22_000)),
    ),
    Template(
        "delayed messages wait while their master is away",
        {},
        (
            join(0, 0), delayed(0, 1), delayed(1, 2), advance(3_000), fault("kill", node="master"),
            advance(100), heal("kill"), advance(6_000),
        ),
    ),
    Template(
        # The log then needs one more file, for which the disk has no space.
        "the disk is full when delayed messages are due",
        {"mappedFileSizeCommitLog": 1_024},
        (
            delayed(0, 1), delayed(0, 1), send(1, size=420), advance(100), fault("disk_full", node="master"),
            advance(3_000), heal("disk_full"), advance(16_000),
        ),
    ),
    Template(
        # It asks for the progress of deliveries every 10 s.
        "a slave takes over that has heard of more delayed messages than it has",
        {"brokerRole": "ASYNC_MASTER"},
        (
            delayed(0, 1), advance(4_000), fault("stall", link="ha", direction="down"), delayed(0, 1), delayed(0, 1),
            advance(25_000), fault("promotion", node="slave", rejoin="wiped"), advance(1_000), delayed(0, 1),
            delayed(0, 1), advance(8_000),
        ),
    ),
    Template(
        # Each complete check writes the checkpoint, which may be on the disk before the queues are.
        "power fails where the queues have just been noted as durable",
        {
            "mappedFileSizeCommitLog": 1_024, "flushDiskType": "SYNC_FLUSH", "messageIndexEnable": False,
            "flushConsumeQueueThoroughInterval": 1_000,
        },
        (
            *(send(number % 2) for number in range(6)), advance(2_100), *4 * (
                *(send(number % 2) for number in range(6)), advance(300),
                fault("power_loss", node="master", keep="some"), advance(100), heal("power_loss"), advance(1_000),
            ),
        ),
    ),
    Template(
        "a master loses with its power what a group has had",
        {},
        (
            *CONSUMING, send(0), advance(20), fault("power_loss", node="master", keep="none"), advance(1_000),
            heal("power_loss"), advance(20_000),
        ),
    ),
    Template(
        "a queue changes hands while only the slave is there",
        {},
        (*CONSUMING, fault("kill", node="master"), advance(38_000), leave(0, 0), advance(6_000), heal("kill")),
    ),
    Template(
        "a group comes late to more than an answer holds",
        {"accessMessageInMemoryMaxRatio": 0, "mappedFileSizeCommitLog": 65_536, "haTransferBatchSize": 32_768},
        (*(send(0, size=30_000) for _ in range(3)), advance(1_000), join(0, 0), advance(2_000)),
    ),
    Template(
        "another broker name goes on without this one",
        {"lab.others": 1},
        (
            *ALONE, astray("other", 0), advance(6_000), fault("kill", node="master"), astray("other", 0),
            advance(2_000), astray("other", 0), advance(14_000), heal("kill"), advance(1_000),
        ),
    ),
    Template(
        "this broker name goes on without another one",
        {"lab.others": 1},
        (
            *ALONE, astray("other", 0), advance(6_000), fault("kill", node="other"), send(0), advance(2_000),
            send(0), advance(14_000), heal("kill"), advance(1_000),
        ),
    ),
    Template(
        "a group comes back while another broker name is away",
        {"lab.others": 1},
        (
            *ALONE, astray("other", 0), advance(6_000), leave(0, 0), advance(1_000), astray("other", 0),
            advance(100), fault("kill", node="other"), join(0, 0), advance(3_000), heal("kill"), advance(1_000),
        ),
    ),
    Template(
        "a broadcasting group",
        {},
        (join(BROADCASTING, 0), join(BROADCASTING, 1), advance(1_000), send(0), send(1), advance(6_000)),
    ),
    Template(
        "an orderly group's queues change hands",
        {},
        (
            *IN_ORDER, join(ORDERLY, 1), advance(6_000), send(0), send(1), advance(1_000), leave(ORDERLY, 0), send(0),
            advance(31_000), send(1), advance(6_000),
        ),
    ),
    Template(
        "a group whose messages fail gets more retry queues",
        {"brokerRole": "ASYNC_MASTER"},
        (
            send(1), Op("fail_consume", {"consumer": 0, "every": 1, "times": 1, "level": 1, "most": 4}),
            advance(12_000), RETRIED, advance(3_000), *(send(1),) * 6, advance(140_000),
        ),
    ),
    Template(
        "an orderly consumer dies with its locks",
        {},
        (
            *IN_ORDER, join(ORDERLY, 1), advance(6_000), leave(ORDERLY, 0, lost=True), send(0), send(1),
            advance(62_000), send(0), advance(6_000),
        ),
    ),
    Template(
        "a master forgets the locks of an orderly group",
        {},
        (*IN_ORDER, fault("restart", node="master"), advance(1_000), join(ORDERLY, 1), send(0), advance(31_000)),
    ),
)  # fmt: skip
