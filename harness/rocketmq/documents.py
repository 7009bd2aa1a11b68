"""Make the table of ``docs/contract.md`` from the durability contract.

``python -m pairproof.harness.rocketmq.documents [DOCS]`` writes it, between the page's marks; a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..runs.documents import table, write
from .contract import ANY, FAULTS, ROWS

HEAD = ("role", "in-sync replicas", "flush", "send", "answer", "event", "must", "why")


def of_contract() -> dict[str, str]:
    """The parts of ``docs/contract.md``: a table of the contract, and a list of its fault classes."""
    conditions = ([each.replace("|", ", ").replace(ANY, "any") for each in row[:6]] for row in ROWS)
    rows = ((*shown, f"**{row.must}**", row.why) for shown, row in zip(conditions, ROWS, strict=True))
    faults = "\n".join(f"- `{name}`: {what}" for name, what in FAULTS.items())
    return {"contract": f"{table(HEAD, rows)}\n{faults}"}


PAGES = {"contract.md": of_contract}

if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"), PAGES)
