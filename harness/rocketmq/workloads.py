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
    advance,
    astray,
    change,
    delayed,
    fault,
    group,
    heal,
    join,
    leave,
    pull,
    send,
    topic,
    workload,
)  # fmt: skip

RETRIED = Op("group", {"group": FALTERING, "slowly": 1, "broker": 0, "node": "master", "retry_queues": 4})
RESET = Op("reset", {"group": 0})
TEMPLATES = (
    workload("a group shares a topic's queues, and shares them again", *CONSUMING, leave(0, 0), advance(2_000)),
    workload("the master dies under a group, and is back", *CONSUMING, advance(6_000), *AWAY, *BACK),
    workload(
        "so it does where slaves are for reading",
        *CONSUMING, advance(6_000), *AWAY, *BACK,
        settings={"slaveReadEnable": True},
    ),
    workload(
        "a group goes on at a slave, and is gone when the master is back",
        *CONSUMING, send(0), advance(300), fault("kill", node="master"), advance(38_000), leave(0, 0),
        leave(0, 1), advance(1_000), heal("kill"), advance(38_000),
    ),
    workload(
        "readers lag behind what is in the master's memory",
        send(0), send(0), send(0), *CONSUMING, send(0), advance(2_000),
        settings={"slaveReadEnable": True, "accessMessageInMemoryMaxRatio": 0},
    ),
    workload(
        "a group is sent to the slave",
        topic(2, "master"), group(0, 1, "master"), advance(12_000), *CONSUMING,
        settings={"slaveReadEnable": True},
    ),
    workload(
        "users fix the slave to read from, whatever brokers suggest",
        *CONSUMING,
        settings={"lab.connectBrokerByUser": 1, "lab.defaultBrokerId": 1},
    ),
    workload(
        "tables change while a slave cannot ask for them",
        fault("down", link="meta"), topic(2, "master"), group(0, 1, "master"), advance(12_000), heal("down"),
        advance(11_000),
    ),
    workload("an administrator tries a slave", *CONSUMING, topic(2, "slave"), group(1, 0, "slave"), advance(11_000)),
    workload(
        "the name server is away",
        *CONSUMING, fault("kill", node="names"), advance(31_000), send(0), heal("kill"), advance(62_000),
    ),
    workload(
        "a topic is new while the name server knows none",
        *CONSUMING, fault("kill", node="names"), advance(100), heal("kill"), advance(1_000), topic(2, "master"),
        advance(31_000), send(0), topic(3, "master"), advance(2_000),
    ),
    *(
        workload(
            f"clients may only {what} a broker that has topics of other permissions",
            *(change("topic", number=number, queues=2, perm=perm) for number, perm in enumerate((2, 4))),
            advance(31_000),
            settings={"brokerPermission": permitted},
        )
        for what, permitted in (("read", 4), ("write to", 2))
    ),
    workload(
        "the master is without power for longer than a name server waits",
        *CONSUMING, fault("power_loss", node="master", keep="all"), advance(141_000),
    ),
    workload(
        "of two slaves the one that a group reads from dies",
        group(0, 1, "master"), *CONSUMING, fault("kill", node="slave"), advance(38_000),
        settings={"slaveReadEnable": True, "lab.slaves": 2},
    ),
    workload(
        "a slave is restarted with the tables that it has",
        *CONSUMING, topic(2, "master"), advance(11_000), fault("restart", node="slave"), advance(1_000),
        pull("slave"),
    ),
    workload(
        # It has had the topics before. Its second message is then its next question, right after it has written the
        # topics.
        "a slave loses power while it saves a table",
        advance(17_900), topic(2, "master"),
        Op("arm", {"node": "slave", "point": "send", "nth": 2, "name": "power_loss", "keep": "none"}),
        advance(500), heal("power_loss"), advance(500), pull("slave"), advance(2_000),
    ),
    workload("a slave's store is wiped", *CONSUMING, fault("wipe", node="slave"), advance(12_000), pull("slave")),
    *STORES,
    workload(
        "a master begins again with an empty store",
        group(0, 1, "master"), advance(12_000), fault("wipe", node="master"), advance(100), heal("wipe"), send(0),
    ),
    workload(
        "consumers and their master die before progress is saved",
        *CONSUMING, send(0), advance(12_000), send(0), send(1), advance(500), leave(0, 0, lost=True),
        leave(0, 1, lost=True), fault("kill", node="master"), advance(100), heal("kill"), advance(1_000),
        send(0), join(0, 2), advance(6_000),
    ),
    workload(
        "consumers die, and another goes on for them",
        *CONSUMING, send(0), advance(100), send(0), advance(100), leave(0, 0, lost=True), leave(0, 1, lost=True),
        join(0, 2), advance(2_000),
    ),
    workload(
        "a group's last consumer says goodbye, and another comes",
        *CONSUMING, leave(0, 0), leave(0, 1), advance(1_000), join(0, 2), advance(2_000),
    ),
    workload(
        "an administrator resets the offsets of a group that is away",
        *CONSUMING, leave(0, 0), leave(0, 1), advance(12_000), RESET, advance(12_000),
    ),
    workload(
        "a group comes back to the offsets that an administrator reset",
        *CONSUMING, leave(0, 0), leave(0, 1), advance(12_000), RESET, advance(12_000), fault("kill", node="master"),
        advance(100), heal("kill"), join(0, 2), advance(6_000),
    ),
    workload(
        # It beats every 30 s; a call ends after 3 s without an answer.
        "a consumer leaves while a broker does not answer its heartbeat",
        *CONSUMING, fault("pause", node="master"), advance(24_500), leave(0, 1), advance(12_000), heal("pause"),
        send(0), advance(6_000),
    ),
    workload(
        "a group outlives its master beside a slave that is behind",
        *CONSUMING, fault("stall", link="ha", direction="down"), send(0), send(1), advance(1_000),
        fault("kill", node="master"), advance(4_000), heal("kill"), send(0), advance(31_000), heal("stall"),
    ),
    workload(
        "delayed messages come, and a slave hears how many",
        join(0, 0), delayed(0, 1), advance(500), delayed(0, 1), advance(22_000),
    ),
    workload(
        "delayed messages wait while their master is away",
        join(0, 0), delayed(0, 1), delayed(1, 2), advance(3_000), fault("kill", node="master"),
        advance(100), heal("kill"), advance(6_000),
    ),
    workload(
        # The log then needs one more file, for which the disk has no space.
        "the disk is full when delayed messages are due",
        delayed(0, 1), delayed(0, 1), send(1, size=420), advance(100), fault("disk_full", node="master"),
        advance(3_000), heal("disk_full"), advance(16_000),
        settings={"mappedFileSizeCommitLog": 1_024},
    ),
    workload(
        # It asks for the progress of deliveries every 10 s.
        "a slave takes over that has heard of more delayed messages than it has",
        delayed(0, 1), advance(4_000), fault("stall", link="ha", direction="down"), delayed(0, 1), delayed(0, 1),
        advance(25_000), fault("promotion", node="slave", rejoin="wiped"), advance(1_000), delayed(0, 1),
        delayed(0, 1), advance(8_000),
        settings={"brokerRole": "ASYNC_MASTER"},
    ),
    workload(
        # Each complete check writes the checkpoint, which may be on the disk before the queues are.
        "power fails where the queues have just been noted as durable",
        *(send(number % 2) for number in range(6)), advance(2_100), *4 * (
            *(send(number % 2) for number in range(6)), advance(300),
            fault("power_loss", node="master", keep="some"), advance(100), heal("power_loss"), advance(1_000),
        ),
        settings={
            "mappedFileSizeCommitLog": 1_024, "flushDiskType": "SYNC_FLUSH", "messageIndexEnable": False,
            "flushConsumeQueueThoroughInterval": 1_000,
        },
    ),
    workload(
        "a master loses with its power what a group has had",
        *CONSUMING, send(0), advance(20), fault("power_loss", node="master", keep="none"), advance(1_000),
        heal("power_loss"), advance(20_000),
    ),
    workload(
        "a queue changes hands while only the slave is there",
        *CONSUMING, fault("kill", node="master"), advance(38_000), leave(0, 0), advance(6_000), heal("kill"),
    ),
    workload(
        "a group comes late to more than an answer holds",
        *(send(0, size=30_000) for _ in range(3)), advance(1_000), join(0, 0), advance(2_000),
        settings={"accessMessageInMemoryMaxRatio": 0, "mappedFileSizeCommitLog": 65_536, "haTransferBatchSize": 32_768},
    ),
    workload(
        "another broker name goes on without this one",
        *ALONE, astray("other", 0), advance(6_000), fault("kill", node="master"), astray("other", 0),
        advance(2_000), astray("other", 0), advance(14_000), heal("kill"), advance(1_000),
        settings={"lab.others": 1},
    ),
    workload(
        "this broker name goes on without another one",
        *ALONE, astray("other", 0), advance(6_000), fault("kill", node="other"), send(0), advance(2_000),
        send(0), advance(14_000), heal("kill"), advance(1_000),
        settings={"lab.others": 1},
    ),
    workload(
        "a group comes back while another broker name is away",
        *ALONE, astray("other", 0), advance(6_000), leave(0, 0), advance(1_000), astray("other", 0),
        advance(100), fault("kill", node="other"), join(0, 0), advance(3_000), heal("kill"), advance(1_000),
        settings={"lab.others": 1},
    ),
    workload(
        "a broadcasting group",
        join(BROADCASTING, 0), join(BROADCASTING, 1), advance(1_000), send(0), send(1), advance(6_000),
    ),
    workload(
        "an orderly group's queues change hands",
        *IN_ORDER, join(ORDERLY, 1), advance(6_000), send(0), send(1), advance(1_000), leave(ORDERLY, 0), send(0),
        advance(31_000), send(1), advance(6_000),
    ),
    workload(
        "a group whose messages fail gets more retry queues",
        send(1), Op("fail_consume", {"consumer": 0, "every": 1, "times": 1, "level": 1, "most": 4}),
        advance(12_000), RETRIED, advance(3_000), *(send(1),) * 6, advance(140_000),
        settings={"brokerRole": "ASYNC_MASTER"},
    ),
    workload(
        "an orderly consumer dies with its locks",
        *IN_ORDER, join(ORDERLY, 1), advance(6_000), leave(ORDERLY, 0, lost=True), send(0), send(1),
        advance(62_000), send(0), advance(6_000),
    ),
    workload(
        "a master forgets the locks of an orderly group",
        *IN_ORDER, fault("restart", node="master"), advance(1_000), join(ORDERLY, 1), send(0), advance(31_000),
    ),
)  # fmt: skip
