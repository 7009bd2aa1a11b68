"""Histories of a log of four messages, and of answers to questions about it."""

import json

from histories import SIZE, H

TIMES = (1_000, 1_010, 1_010, 1_040)
"""When the messages m0, m1, ... of queue t/1 were stored, ms; their digests are 50, 51, ..."""
END = len(TIMES) * SIZE


def read(history: H, node: str = "master", derived: int = len(TIMES), whole: bool = True) -> H:
    """An audit lists the four messages, of which the queue has the first ``derived``."""
    for number, time in enumerate(TIMES):
        history.add(
            "record", node=node, op=7, message=f"m{number}", queue="t/1", queue_offset=number, lo=number * SIZE,
            hi=(number + 1) * SIZE, digest=50 + number, value=time,
        )  # fmt: skip
    history.add("audit", node=node, op=7, f="final", lo=0, hi=END, value=END, status="whole" if whole else "broken")
    return history.add("entries", node=node, op=7, queue="t/1", lo=0, hi=derived, queue_offset=0, digest=1)


def answer(history: H, f: str, status: str = "PUT_OK", node: str = "master", **columns: object) -> H:
    """``detail`` as JSON stands."""
    if "detail" in columns and not isinstance(columns["detail"], str):
        columns["detail"] = json.dumps(columns["detail"])
    return history.add("answer", node=node, op=7, f=f, status=status, **columns)
