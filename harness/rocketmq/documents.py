"""Make ``docs/contract.md`` from the durability contract's table.

``python -m pairproof.harness.rocketmq.documents [DOCS]`` writes it; a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..runs.documents import table
from . import contract

MADE = "<!-- Made by python -m pairproof.harness.rocketmq.documents; change the code, not this page. -->"

CONTRACT = """\
# The durability contract: what may be lost, and what may not

The law `contract` judges by this table, which is data in `harness/rocketmq/contract.py`: for the master's role, its
in-sync replicas (including itself; 4.x: 2) and its flush mode, whether a send waited, its answer, and the later events
of the stores. The first row that fits decides. A report then says *violated*, *permitted loss*, or
*stronger than promised* (it might have vanished and did not), never just "lost".
"""

CONSUMERS = """\
## Promises to consumers

Delivery is *at least once*, to each group; in a broadcasting group to each consumer. The laws `deliver-*` and
`progress-*` judge it in trials with a name server; the table above says which messages there are to deliver.

**No message that must survive on the master is lost to a group** that has taken the queue (`deliver-no-loss`), for any
starts and ends of brokers and consumers, with these exceptions:
"""

LACKS = (
    ("messages that the table above lets vanish", "no broker has them"),
    (
        "messages stored after the master lost the end of its log, at queue offsets that the group had passed",
        "the offsets of lost messages are assigned again, and a group's progress is an offset",
    ),
    (
        "messages before the offset at which the group's first consumer began",
        "no broker knew the group: the consumer chose",
    ),
    (
        "any message, if slaves have offsetCheckInSlave",
        "such a slave sends consumers past its missing messages, or back; nothing is promised with it",
    ),
)

REPEATS_HEAD = """\
**Messages that a group receives again** are above the progress of the broker that gave a consumer its offset
(`deliver-at-least-once`):
"""

REPEATS = (
    ("a consumer leaves", "its last commit, which it sends before", "messages in flight"),
    ("a consumer dies", "its last commit, one every 5 s", "messages that it had received since"),
    (
        "the master is killed, and started again",
        "its last save: every flushConsumerOffsetInterval, first 10 s after its start (`progress-persisted`)",
        "later commits, and commits at a slave only, since no slave reports to its master (`progress-recovers`)",
    ),
    (
        "the master is down, and a slave answers",
        "its last sync, one every 10 s, and later commits there",
        "commits at the master after that sync",
    ),
    ("the master's machine loses power, or its store is replaced", "the rest of its table", "all"),
    (
        "a consumer keeps its queue through all of that",
        "not asked",
        "nothing, unless the master lost messages (`progress-live-consumer`)",
    ),
)

CONSUMERS_END = """\
A slave's answer to a pull never sends a consumer back: the slave may still receive missing messages. A commit that a
pull carries counts at a master, not at a slave (`progress-on-pull`). A delayed message is not delivered before its
time; a restarted master may deliver it again (`deliver-delayed`).
"""


def contract_page() -> str:
    """``docs/contract.md``."""
    parts = (
        MADE,
        CONTRACT,
        contract.to_markdown(),
        CONSUMERS,
        table(("a group may lack", "since"), LACKS),
        REPEATS_HEAD,
        table(("event", "that broker has at least", "may be delivered again"), REPEATS),
        CONSUMERS_END,
    )
    return "\n".join(parts)


if __name__ == "__main__":
    page = Path(sys.argv[1] if len(sys.argv) > 1 else "docs") / "contract.md"
    page.write_text(contract_page(), encoding="utf-8")
