"""What a producer said of a message, and what a record holds of it: one short JSON text that both sides are given as.

The clients write it into the ``detail`` of a send's ``invoke``, the store readers into that of a ``record``; equal
texts mean that body, tags and flag are equal. Both may add that the body is ``compressed``; a send its delay ``level``,
``half`` for a half message, that ``more`` messages of its batch follow, or that it is ``illegal``; a record the
``real`` queue that its properties name, where it waits for something; where consumers have sent it back, how many
``times``, which message was its ``origin``, and ``from`` which topic it is; and, where it is part of a transaction, its
``type`` (prepared, commit, rollback) and where its half message was ``prepared``. The ``size`` is said of large ones
only.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ..history import Event, digest

Data = bytes | bytearray | memoryview

LARGE = 1_000
"""Bytes of a body, or of a batch's bodies, above which its ``size`` is said."""


def content(body: Data, tags: str, flag: int, **more: object) -> str:
    """The text. ``body`` as it was sent or stored, which may be compressed; ``tags``: empty without any."""
    if len(body) > LARGE:
        more.setdefault("size", len(body))
    if more or tags:
        # Sorted as the short form below is.
        return json.dumps({"body": digest(bytes(body)), "flag": flag, **({"tags": tags} if tags else {}), **more})
    return f'{{"body": {digest(bytes(body))}, "flag": {flag}}}'


@lru_cache(maxsize=4_096)
def payload(detail: str | None) -> dict[str, Any]:
    """What such a text says; nothing if it is none, as in histories whose clients or readers could not say."""
    try:
        found = json.loads(detail) if detail else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def is_followed(invoke: Event) -> bool:
    """Whether more messages of its batch follow: the answer, which is one, waits for the last of them."""
    return "more" in (invoke.detail or "") and bool(payload(invoke.detail).get("more"))


def waits_first(invoke: Event) -> bool:
    """Whether a send's message lies in a queue of its broker's own before it may come into its queue: one with a delay,
    or a half message. Its answer names that place.
    """
    said = payload(invoke.detail)
    return bool(said.get("level") or said.get("half"))


def level_of(invoke: Event) -> int:
    """The delay level that a send asked for; 0 for none."""
    level = payload(invoke.detail).get("level", 0)
    return level if isinstance(level, int) else 0
