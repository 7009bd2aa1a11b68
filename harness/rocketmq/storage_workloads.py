"""Workload templates for stores: expired files, losses by power failures in each file, and messages too large to
store.
"""

from __future__ import annotations

from ..trials.schedule import Op
from .template import (
    AGING,
    BOTH_EXPIRE,
    CONSUMING,
    EXPIRED,
    REBORN,
    advance,
    batch,
    change,
    cold,
    delayed,
    edge_case,
    fault,
    group,
    heal,
    pull,
    send,
    workload,
)  # fmt: skip

STORES = (
    workload(
        # The large message does not fit into the first file.
        "a queue goes on behind messages that have all expired",
        send(1), send(0, size=1_700), advance(100), fault("retention", node="master"), send(1), advance(100),
    ),
    workload(
        # The second file has messages of before the jump and of after it: its age is that of the younger ones.
        "files grow old when a clock is put ahead",
        *(send(0, size=700) for _ in range(3)), advance(50_000), fault("clock_skew", node="master", ms=3_600_000),
        *(send(1, size=700) for _ in range(3)), advance(11_000), send(1, size=700), advance(2_000),
        settings=AGING,
    ),
    workload(
        # Later sends have other sizes, so that no entry of a lost record fits its replacement.
        "queues and index know of more than the log after a power loss",
        *EXPIRED, send(0), send(1), advance(12_000), *(send(0) for _ in range(3)), send(1), advance(20),
        fault("power_loss", node="master", keep="derived"), advance(100), heal("power_loss"),
        *REBORN, send(0, size=420), send(0, size=200), send(1, size=420), advance(2_000), pull("master"),
    ),
    workload(
        # Nothing is left to lose at each power loss: the stop before it has made everything durable.
        "power fails after an orderly stop",
        group(0, 1, "master"), *CONSUMING, *(send(queue) for queue in (0, 1, 0)), advance(20),
        *cold("master"), *cold("slave"), *REBORN, send(0), advance(2_000), pull("master"), pull("slave"),
    ),
    workload(
        # Files of queues hold two messages, those of the index four keys; the last file of the log holds more.
        "files expire again and again, and with them those of queues and index",
        *(op for _ in range(4) for op in (batch(0), batch(1), batch(0), advance(1_000), *BOTH_EXPIRE)),
        fault("restart", node="master"), heal("restart"), pull("master"), advance(1_000), send(0), advance(1_000),
        settings={"mappedFileSizeConsumeQueue": 40, "maxIndexNum": 5},
    ),
    workload(
        # Messages share three keys, and name some twice. A file of the index holds nine keys.
        "messages that share keys expire, and are queried before and after",
        *(
            op for what in ("repeated-key", "keys", "repeated-key")
            for op in (*(edge_case(number % 2, what) for number in range(6)), batch(0), advance(1_500))
        ),
        *BOTH_EXPIRE, fault("kill", node="slave"), heal("kill"), fault("restart", node="master"), heal("restart"),
        *REBORN, *(edge_case(number % 2, "repeated-key") for number in range(6)), advance(2_000),
        *(edge_case(number % 2, "keys") for number in range(6)), advance(1_000),
        settings={"maxIndexNum": 10},
    ),
    workload(
        "topics and keys share a hash",
        *(edge_case(0, "same-hash") for _ in range(4)), advance(1_000), send(0), advance(1_000),
    ),
    workload(
        "files go while no queue has what they hold",
        send(0, size=1_700), advance(100), fault("dispatch_stall", node="master"),
        *(op for number in range(6) for op in (send(number % 2, size=1_000), advance(100))),
        *BOTH_EXPIRE, send(1), advance(100), *BOTH_EXPIRE, heal("dispatch_stall"), send(0), send(1), advance(100),
        *BOTH_EXPIRE, send(0), advance(2_000), pull("master"),
        settings={"mappedFileSizeConsumeQueue": 40},
    ),
    workload(
        # Equal sizes, so that the lost records would fit right after their replacement.
        "what lies behind a hole stays away",
        *EXPIRED, *(send(0) for _ in range(8)), advance(20), fault("power_loss", node="master", keep="hole"),
        advance(100), heal("power_loss"), send(1), advance(100), send(0), advance(600),
        fault("kill", node="master"), heal("kill"), send(1), advance(100), send(0), advance(600),
        fault("kill", node="master"), heal("kill"), advance(6_000), pull("master"),
        settings={"flushCommitLogLeastPages": 0},
    ),
    *(
        workload(
            # Its losses leave zeros that fit all lengths; a slave has parts of records.
            f"a {node} loses sectors of what no checksum covers",
            *(
                op for keep in ("hole", "some", "half")
                for op in (
                    send(1), *(edge_case(number % 2, "wordy") for number in range(3)), advance(40),
                    fault("power_loss", node=node, keep=keep), heal("power_loss"), advance(1_000),
                )
            ),
            settings={"flushCommitLogLeastPages": 0, "haTransferBatchSize": 100, "lab.flushMicros": 20_000},
        )
        for node in ("slave", "master")
    ),
    workload(
        # Each record is larger than one read of a recovery; a killed slave holds a part of one.
        "brokers come back to records of hundreds of kilobytes",
        send(0), edge_case(0, "large"), send(1), edge_case(1, "large"), advance(2), fault("kill", node="slave"),
        advance(100), heal("kill"), advance(6_000), fault("kill", node="master"), advance(100), heal("kill"),
        *REBORN, send(1), advance(600), pull("master"),
        settings={"mappedFileSizeCommitLog": 1_048_576, "haTransferBatchSize": 32_768},
    ),
    workload(
        # The first hole is in a file before the last one; whole records follow it there and in the next one.
        "power losses tear logs of several files",
        *(
            op for keep in ("hole", "some", "half")
            for op in (
                *(send(number % 2, size=(420, 300, 700)[number % 3]) for number in range(9)), advance(20),
                fault("power_loss", node="master", keep=keep), advance(100), heal("power_loss"), *REBORN, advance(600),
            )
        ),
        settings={"mappedFileSizeCommitLog": 2_048, "flushIntervalCommitLog": 3_000},
    ),
    *(
        workload(
            # A file of the index is full after a key or two, and flushed soon; the log is not, and is partly lost.
            f"files of the index are full, and power fails ({keep})",
            send(0), send(1), advance(12_000),
            *(op for number in range(6) for op in (send(number % 2), advance(250))),
            fault("power_loss", node="master", keep=keep), advance(100), heal("power_loss"), *REBORN,
            send(1), advance(2_000), fault("restart", node="master"), heal("restart"), *REBORN, pull("master"),
            settings={
                "mappedFileSizeCommitLog": 65_536, "maxIndexNum": entries, "flushIntervalConsumeQueue": 100,
                "flushConsumeQueueLeastPages": 0,
            },
        )
        for keep, entries in (("derived", 2), ("some", 3))
    ),
    *(
        workload(
            # The stop was orderly as far as the broker could detect: it may refuse to start, without changes.
            f"a disk has lied when its {node} stops, and then power fails ({keep})",
            send(0), send(1), advance(6_000), fault("lying_flush", node=node), *(send(0) for _ in range(6)),
            advance(100), fault("restart", node=node), fault("power_loss", node=node, keep=keep), advance(100),
            heal("power_loss"), heal("lying_flush"), heal("restart"), send(0), advance(6_000),
            alone=True,
        )
        for node in ("slave", "master") for keep in ("hole", "some")
    ),
    workload(
        # The broker is up again before its master sends the rest.
        "a slave is stopped in the middle of a record",
        send(0, size=700), advance(600),
        Op("arm", {"node": "slave", "point": "append", "nth": 3, "name": "restart"}),
        send(1, size=700), send(0), advance(100), heal("restart"), advance(6_000), send(1), advance(2_000),
        fault("restart", node="slave"), heal("restart"), advance(6_000), pull("slave"),
        settings={"haTransferBatchSize": 100, "flushCommitLogLeastPages": 0},
    ),
    workload(
        # The slave continues to copy inside a record, from a different log; its own queues stay.
        "a master has lost its store, and its slave stops and starts",
        send(0), send(1, size=700), advance(6_000), fault("wipe", node="master"), advance(100), heal("wipe"),
        *(send(number % 2, size=420) for number in range(7)), advance(21_000),
        fault("restart", node="slave"), advance(100), heal("restart"), advance(6_000), send(0), advance(2_000),
        alone=True,
    ),
    workload(
        "power fails when only a queue knows which offsets it has given",
        *EXPIRED, advance(5), fault("power_loss", node="master", keep="none"), advance(100), heal("power_loss"),
        *REBORN, send(0), send(1), advance(2_000), pull("master"),
        settings={"flushDiskType": "SYNC_FLUSH"},
    ),
    workload(
        "a broker takes no messages as large as these",
        *(send(0, size=size) for size in (1_700, 1_201, 1_190)), edge_case(1, "wordy"), batch(1), advance(1_000),
        settings={"maxMessageSize": 1_200},
    ),
    workload(
        "a message of each delay level",
        *(delayed(level % 2, level) for level in range(1, 20)), advance(2_000), pull("slave"),
    ),
    workload(
        "more delayed messages are due than one round delivers",
        *(delayed(number % 2, 1) for number in range(40)), advance(4_000), pull("slave"),
    ),
    *(
        workload(
            # Progress is saved every 10 s; two messages are due in one turn.
            f"a master {ends} between deliveries of delayed messages and their save",
            *3 * (
                delayed(0, 1), delayed(1, 1), delayed(1, 2), advance(1_300), fault(how, node="master"), advance(100),
                heal(how), advance(2_000),
            ),
            advance(8_000),
        )
        for ends, how in (("dies", "kill"), ("is stopped", "restart"))
    ),
    workload(
        "delayed messages wait across several starts of their master",
        delayed(0, 2), delayed(1, 3),
        *2 * (fault("restart", node="master"), advance(500), heal("restart"), advance(1_500)),
        fault("power_loss", node="master", keep="none"), advance(500), heal("power_loss"), advance(14_000),
    ),
    workload(
        "a slave loses power before it is promoted",
        send(0), send(1), advance(6_000), send(0), send(1), delayed(0, 1), advance(20),
        fault("power_loss", node="slave", keep="half"), send(0), advance(100), heal("power_loss"),
        fault("promotion", node="slave", rejoin="stale"), send(0), send(1), advance(6_000), heal("promotion"),
        send(0), advance(6_000),
        settings={"brokerRole": "ASYNC_MASTER"},
    ),
    workload(
        "a log is promoted twice",
        *2 * (
            send(0), send(1), advance(3_000), send(0), advance(20),
            fault("promotion", node="slave", rejoin="stale"), send(0), advance(6_000), heal("promotion"),
        ),
        send(1), advance(6_000),
        settings={"brokerRole": "ASYNC_MASTER"},
    ),
    workload(
        # The second change replaces a table that no flush has made durable yet.
        "power fails between two changes of a table",
        change("topic", number=0, queues=2), change("group", group=0, slowly=1, broker=0), advance(2_000),
        *(change("topic", number=number, queues=2) for number in (1, 2)), advance(10),
        fault("power_loss", node="master", keep="none"), advance(500), heal("power_loss"), advance(1_000),
        settings={"lab.flushMicros": 20_000},
    ),
    workload(
        # The log then needs one more file, for which the disk has no space.
        "a disk is full when a message is sent back",
        Op("fail_consume", {"consumer": 0, "every": 1, "times": 3, "level": 1, "most": 2}), advance(3_000),
        fault("disk_full", node="master"), send(0), send(0), send(0), advance(12_000), heal("disk_full"),
        advance(16_000),
        settings={"mappedFileSizeCommitLog": 1_024},
    ),
    workload(
        # The next record begins at the end of the window of 64 KiB in which recovery searches for one.
        "power fails in a record that is as long as a window",
        send(0), advance(11_000), send(0, size=65_404), send(1), advance(20),
        fault("power_loss", node="master", keep="hole"), advance(100), heal("power_loss"), advance(3_000), send(0),
        settings={"mappedFileSizeCommitLog": 262_144, "haTransferBatchSize": 32_768, "brokerRole": "ASYNC_MASTER"},
    ),
    workload(
        # Frames begin inside records, since the master sends what has just been flushed.
        "a slave has larger files than its master, and is sent pieces",
        send(0, size=900), advance(600), send(0, size=420), advance(6_000), send(1, size=1_700), send(0, size=900),
        advance(21_000), send(1, size=420), advance(6_000),
        settings={
            "haPushes": "flushed", "haTransferBatchSize": 100, "mappedFileSizeCommitLog": 4_096,
            "lab.slaveFileSize": 8_192, "flushCommitLogLeastPages": 0,
        },
        alone=True,
    ),
)  # fmt: skip
