"""Histories of calls of which each part is given."""

from histories import H


def call(
    history: H, f: str, node: str, phase: str = "ok", status: str = "SUCCESS", ms: float = 1, **columns: object
) -> H:
    """A whole call: it begins, and ``ms`` later it ends."""
    return end(begin(history, f, node, **columns), f, node, phase, status, ms, **columns)


def begin(history: H, f: str, node: str, **columns: object) -> H:
    history.ops += 1
    asked = {key: value for key, value in columns.items() if key in ("message", "queue", "value", "group", "detail")}
    return history.add("invoke", node=node, process=5, op=history.ops + 500, f=f, **asked)


def end(history: H, f: str, node: str, phase: str, status: str = "", ms: float = 1, **columns: object) -> H:
    return history.after(ms).add(phase, node=node, process=5, op=history.ops + 500, f=f, status=status, **columns)
