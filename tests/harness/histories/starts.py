"""Histories of a master that starts again, and of what is read in its store before and after."""

import json

from histories import H, pair


def found(
    f: str = "crash",
    hi: int = 300,
    used: int = 300,
    ends: tuple[int, ...] = (),
    lied: bool = False,
    records: int = 300,
    queued: int | None = None,
) -> H:
    """A master whose store is read before it starts again; whole records reach to ``hi``, something to ``used``.

    ``lied``: its disk had called durable what a power loss took before.
    """
    history = pair().sent("m0")
    if lied:
        history.add("crash", node="master", f="machine", status="lied", value=0).start("master")
    history = history.crash("master") if f == "crash" else history.add("stop", node="master", incarnation=1)
    status = "whole" if used <= hi else "broken"
    known = {"ends": [*ends, hi], "records": records, "why": "CRC mismatch"}
    detail = json.dumps(known if queued is None else {**known, "queued": queued})
    return history.add(
        "found", node="master", incarnation=2, f=f, status=status, lo=0, hi=hi, value=used, detail=detail
    )


def back(history: H, hi: int = 300, f: str = "abnormal", incarnation: int = 2) -> H:
    return history.add("start", node="master", incarnation=incarnation, f=f, lo=0, hi=hi)


def left(history: H, f: str = "kept", status: str = "same", hi: int = 300, used: int = 300, **said: object) -> H:
    told = {"differs": None, "dirty": 0, **said}
    return history.add(
        "left", node="master", incarnation=2, f=f, status=status, lo=0, hi=hi, value=used, detail=json.dumps(told)
    )


def refused(history: H) -> H:
    return history.add("abort", node="master", incarnation=2, f="refused", detail="not whole")
