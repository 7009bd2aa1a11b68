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
in-sync replicas (itself counted; 4.x: 2) and its flush mode, whether a send waited, what it was answered, and what
happened to the stores afterwards. The first row that fits decides. A report then says *violated*, *permitted loss*, or
*stronger than promised* (it might have vanished and did not), never just "lost".
"""

CONSUMERS = """\
## What consumers are promised

Delivery is *at least once*, to each group; in a broadcasting group to each consumer. The laws `deliver-*` and
`progress-*` judge it in trials with a name server; the table above says which messages there are to deliver.

**Nothing that must survive on the master is lost to a group** that has taken the queue (`deliver-no-loss`), whichever
brokers and consumers came and went meanwhile. All the same:
"""

LACKS = (
    ("what the table above lets vanish", "no broker has it"),
    (
        "what was stored after the master lost the end of its log, at queue offsets that the group had passed",
        "the offsets of what was lost are given a second time, and a group's progress is an offset",
    ),
    (
        "what lies before the offset at which the group's first consumer began",
        "no broker knew the group: the consumer chose",
    ),
    (
        "anything, where slaves have offsetCheckInSlave",
        "such a slave sends consumers past what it lacks, or back; nothing is promised with it",
    ),
)

REPEATS_HEAD = """\
**What a group receives a second time** lies above the progress that the broker knew which told a consumer where to go
on (`deliver-at-least-once`):
"""

REPEATS = (
    ("a consumer says goodbye", "its last commit, which goes with the goodbye", "what was under way"),
    ("a consumer dies", "its last commit, one every 5 s", "what it had received since"),
    (
        "the master is killed, and is back",
        "what it had written last: every flushConsumerOffsetInterval, first 10 s after its start "
        "(`progress-persisted`)",
        "what was committed since, or at a slave only, since no slave tells its master (`progress-recovers`)",
    ),
    (
        "the master is away, and a slave tells",
        "what its last sync brought, one every 10 s, and what was committed there since",
        "what was committed at the master after that sync",
    ),
    ("the master's machine loses power, or its store is replaced", "what is left of its table", "all"),
    (
        "a consumer lives through all of that with its queue",
        "not asked",
        "nothing, unless the master lost messages (`progress-live-consumer`)",
    ),
)

CONSUMERS_END = """\
A slave's answer to a pull never sends a consumer back: what the slave lacks it may still get. A commit that rides on a
pull counts at a master, not at a slave (`progress-on-pull`). A delayed message comes not before its time; a master that
went down may deliver it again (`deliver-delayed`).
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
        table(("what happens", "that broker knows at least", "so this may come again"), REPEATS),
        CONSUMERS_END,
    )
    return "\n".join(parts)


if __name__ == "__main__":
    page = Path(sys.argv[1] if len(sys.argv) > 1 else "docs") / "contract.md"
    page.write_text(contract_page(), encoding="utf-8")
