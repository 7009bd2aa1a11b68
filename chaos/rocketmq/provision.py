"""An operator's initial files for a broker's store: the topic and the readers' group.

So a pair without a name server, whose slave never gets its master's tables, serves pulls at both brokers, and no table
changes during a trial. The files are plain JSON.
"""

from __future__ import annotations

import json

TOPIC = "pairproof"
QUEUES = 4
USUAL_PERM = 6
GROUP = "pairproof"
"""Group of readers and producers."""
WRITTEN_MS = 1_690_000_000_000

_VERSION = {"counter": 1, "timestamp": WRITTEN_MS}
FILES = {
    "config/topics.json": json.dumps({
        "dataVersion": _VERSION,
        "topicConfigTable": {
            TOPIC: {
                "order": False, "perm": 6, "readQueueNums": QUEUES, "topicFilterType": "SINGLE_TAG",
                "topicName": TOPIC, "topicSysFlag": 0, "writeQueueNums": QUEUES,
            },
        },
    }).encode(),
    "config/subscriptionGroup.json": json.dumps({
        "dataVersion": _VERSION,
        "subscriptionGroupTable": {
            GROUP: {
                "brokerId": 0, "consumeBroadcastEnable": True, "consumeEnable": True, "consumeFromMinEnable": True,
                "groupName": GROUP, "notifyConsumerIdsChangedEnable": True, "retryMaxTimes": 16, "retryQueueNums": 1,
                "whichBrokerWhenConsumeSlowly": 1,
            },
        },
    }).encode(),
}  # fmt: skip
