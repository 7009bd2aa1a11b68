"""Histories of single pulls."""

import json

from histories import SIZE, H

Q = "t/1"


def world(java: bool = False, slave: dict[str, object] | None = None, **master: object) -> H:
    history = H().config("master", **master).config("slave", **(slave or {}))
    for node in ("master", "slave"):
        history.add("start", node=node, lo=0, hi=0, f="unknown" if java else "empty")
    return history


def pulled(
    history: H, status: str = "PUT_OK", asked: int = 0, to: int = 0, held: tuple[int, int] = (0, 4),
    got: tuple[int, ...] = (), node: str = "master", f: str = "pull", group: str | None = None, most: int = 0,
    size: int = SIZE, phase: str = "ok", tags: str = "", starts: str = "",
) -> H:  # fmt: skip
    """A pull from ``asked`` on that brings ``got`` and continues at ``to``; the queue's range is ``held``.

    ``starts``: the node that is started while the pull is under way.
    """
    call = {"node": node, "process": 1, "op": 9, "f": f, "queue": Q, "value": asked, "group": group}
    said = {**({"most": most} if most else {}), **({"tags": tags} if tags else {})}
    history.add("invoke", **call, detail=json.dumps(said) if said else None)
    if starts:
        history.add("start", node=starts, lo=0, hi=900, f="abnormal")
    for offset in got:
        history.add(
            "deliver", node=node, process=1, op=9, f=f, message=f"m{offset}", queue=Q, queue_offset=offset,
            lo=offset * size, hi=(offset + 1) * size, digest=5, group=group,
        )  # fmt: skip
    return history.add(phase, **call, status=status, queue_offset=to, lo=held[0], hi=held[1], broker=0)
