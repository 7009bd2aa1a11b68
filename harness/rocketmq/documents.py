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

The law `contract` reads this table (`harness/rocketmq/contract.py`): the master's role, its in-sync replicas (itself
included; 4.x: 2), its flush mode, whether a send waited, its answer, and what happened to the stores afterwards. The
first row that matches decides. Reports distinguish *violated*, *permitted loss* and *stronger than promised* (it might
have vanished and did not).
"""

CONSUMERS = """\
## Consumers

Delivery is *at least once*, to each group; in a broadcasting group to each consumer. The laws `deliver-*` and
`progress-*` check it in trials with a name server; the table above says which messages there are to deliver.

**A group that has taken the queue loses nothing that must survive on the master** (`deliver-no-loss`), whichever
brokers and consumers come and go. Exceptions:
"""

LACKS = (
    ("messages that the table lets vanish", "no broker has it"),
    (
        "messages stored after the master lost the end of its log, at queue offsets that the group had passed",
        "the lost offsets are assigned again, and a group's progress is an offset",
    ),
    (
        "messages before the offset at which the group's first consumer began",
        "no broker had the group; the consumer chose",
    ),
    (
        "any message, if slaves have offsetCheckInSlave",
        "such a slave moves consumers past what it lacks, or back; nothing is promised",
    ),
)

REPEATS_HEAD = """\
**Duplicates** lie above the progress known to the broker from which the consumer resumed (`deliver-at-least-once`):
"""

REPEATS = (
    ("a consumer says goodbye", "its last commit, which goes with the goodbye", "messages in flight"),
    ("a consumer dies", "its last commit, one every 5 s", "what it received since"),
    (
        "the master is killed, and is back",
        "its last save, one every flushConsumerOffsetInterval, first 10 s after its start (`progress-persisted`)",
        "what was committed since, or at a slave only: slaves report nothing back (`progress-recovers`)",
    ),
    (
        "the master is away, and a slave answers",
        "its last sync, one every 10 s, and commits there since",
        "what was committed at the master after that sync",
    ),
    ("the master's machine loses power, or its store is replaced", "the rest of its table", "all"),
    (
        "a consumer keeps its queue through all of that",
        "not asked",
        "nothing, unless the master lost messages (`progress-live-consumer`)",
    ),
)

CONSUMERS_END = """\
A slave's answer to a pull never moves a consumer back, since the slave may still receive what it lacks. A commit on a
pull counts at a master, not at a slave (`progress-on-pull`). A delayed message never comes before its time; a master
that went down may deliver it twice (`deliver-delayed`).
"""


def contract_page() -> str:
    """``docs/contract.md``."""
    parts = (
        MADE,
        CONTRACT,
        contract.to_markdown(),
        CONSUMERS,
        table(("a group may lack", "because"), LACKS),
        REPEATS_HEAD,
        table(("what happens", "progress that the broker has at least", "what may come again"), REPEATS),
        CONSUMERS_END,
    )
    return "\n".join(parts)


if __name__ == "__main__":
    page = Path(sys.argv[1] if len(sys.argv) > 1 else "docs") / "contract.md"
    page.write_text(contract_page(), encoding="utf-8")
