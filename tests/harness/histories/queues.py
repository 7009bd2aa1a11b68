"""Histories of records that are stored, dispatched and acknowledged, as the laws of queues judge them."""

from __future__ import annotations

from pairproof.harness.rocketmq.testing import SIZE, H

THREE = (("m0", "t/0", 0), ("m1", "t/1", 0), ("m2", "t/0", 1))
"""Message, queue, queue offset."""


def listed(history: H, node: str, *records: tuple[str, str, int], lo: int = 0, status: str = "whole") -> H:
    """An audit lists ``node``'s records, which lie at ``lo`` and behind it."""
    history.audits += 1
    at = lo
    for message, queue, offset in records:
        history.add(
            "record", node=node, op=history.audits, message=message, queue=queue, queue_offset=offset, lo=at,
            hi=at + SIZE,
        )  # fmt: skip
        at += SIZE
    return history.add("audit", node=node, op=history.audits, f="final", lo=lo, hi=at, status=status, value=at)


def put(history: H, upto: int, node: str = "master", f: str = "put") -> H:
    return history.append(node, history.end[node], upto, f)


def dispatch(history: H, hi: int, node: str = "master") -> H:
    return history.add("dispatch", node=node, hi=hi)


def entries(
    history: H, node: str, lo: int, hi: int, queue: str = "t/0", digest: int = 7, start: int | None = None
) -> H:
    return history.add(
        "entries", node=node, op=history.audits, queue=queue, lo=lo, hi=hi, digest=digest,
        queue_offset=lo if start is None else start, value=100 * hi,
    )  # fmt: skip


def begin(history: H, message: str, detail: str | None = None) -> H:
    history.ops += 1
    history.began[message] = (history.ops, 1)
    return history.add("invoke", node="master", op=history.ops, f="send", message=message, queue="t/0", detail=detail)


def finish(history: H, message: str, lo: int, queue_offset: int, phase: str = "ok") -> H:
    return history.add(
        phase, node="master", op=history.began[message][0], f="send", status="PUT_OK", message=message, queue="t/0",
        queue_offset=queue_offset, lo=lo, hi=lo + SIZE,
    )  # fmt: skip


def answered(history: H, message: str, lo: int, queue_offset: int, detail: str | None = None) -> H:
    return finish(begin(history, message, detail), message, lo, queue_offset)
