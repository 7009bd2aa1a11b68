"""The content of a message, in a producer's send and in a record: one short JSON text of the same form.

Clients write it into the ``detail`` of a send's ``invoke``, store readers into that of a ``record``; equal texts mean
that body, tags and flag are equal. Both may add ``compressed`` for the body. A send may add its delay ``level``,
``half`` for a half message, ``more`` if messages of its batch follow, or ``illegal``. A record may add the ``real``
queue of a waiting message; after send-backs their number ``times``, the ``origin`` message, and the topic ``from``; in
a transaction its ``type`` (prepared, commit, rollback) and the position ``prepared`` of its half message. Only large
messages have a ``size``.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ..history import Event, digest

Data = bytes | bytearray | memoryview

LARGE = 1_000
"""Bytes of a body, or of a batch's bodies, above which ``size`` is added."""


def content(body: Data, tags: str, flag: int, **more: object) -> str:
    """The text. ``body``: as sent or stored, perhaps compressed; ``tags``: empty without any."""
    if len(body) > LARGE:
        more.setdefault("size", len(body))
    if more or tags:
        # Sorted like the short form below.
        return json.dumps({"body": digest(bytes(body)), "flag": flag, **({"tags": tags} if tags else {}), **more})
    return f'{{"body": {digest(bytes(body))}, "flag": {flag}}}'


@lru_cache(maxsize=4_096)
def payload(detail: str | None) -> dict[str, Any]:
    """The parsed text; empty for other texts, from clients or readers without details."""
    try:
        found = json.loads(detail) if detail else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def is_followed(invoke: Event) -> bool:
    """Whether more messages of its batch follow; the answer comes after the last one."""
    return "more" in (invoke.detail or "") and bool(payload(invoke.detail).get("more"))


def waits_first(invoke: Event) -> bool:
    """Whether a send's message first waits in a queue of the broker: a delayed one, or a half message. Its answer names
    that position.
    """
    sent = payload(invoke.detail)
    return bool(sent.get("level") or sent.get("half"))


def level_of(invoke: Event) -> int:
    """The requested delay level of a send; 0 for none."""
    level = payload(invoke.detail).get("level", 0)
    return level if isinstance(level, int) else 0
