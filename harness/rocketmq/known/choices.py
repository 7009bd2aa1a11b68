"""Which broker id a group's readers are sent to: what each broker may hold of that setting.

The master holds what an administrator changed, a slave what its last sync brought; what a broker had not saved may go
with its process. Bounded by an administrator's calls, and by syncs of groups.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from ...kinds.client import Call
from ...kinds.node import Crash, Stop, Wipe
from ..kinds.metadata import Persist, Sync
from ..places import MASTER, OTHER, SLAVES
from .nodes import MACHINE


class Choice(NamedTuple):
    """Broker ids that a group wants."""

    usual: int = 0
    slow: int = 1


class Change(NamedTuple):
    """An administrator's: what, and between which events it happened; ``done`` None: nobody knows."""

    op: int | None
    choice: Choice
    began: int
    done: int | None


class Held(NamedTuple):
    """From an event on a slave holds what it asked for with another."""

    since: int
    asked: int


class Choices:
    def __init__(self) -> None:
        self.changes: dict[str | None, list[Change]] = {}
        self._synced: dict[str | None, list[Held]] = {}
        """By slave, the oldest first."""
        self._asked: dict[str | None, int] = {}
        self._saved: dict[str | None, int] = {}
        """By broker: the event with which it last saved its groups."""
        self._taken: dict[str | None, int] = {}
        """By slave: the event with which it asked for the table that it last took."""
        self._lost = False
        """Whether the master may hold an older table than it had."""

    # What laws ask.

    def possible(self, node: str, group: str | None, seq: int) -> set[Choice]:
        """What a broker may have held of a group since the event ``seq``."""
        known = self.changes.get(group)
        if known is None:
            return _DEFAULT
        since = self._as_of(node, seq)
        if self._lost or since == _NEVER:
            return {each.choice for each in known}
        return {
            each.choice
            for each in known
            if each.done is None
            or not any(later.began > each.done and later.done is not None and later.done <= since for later in known)
        }

    def _as_of(self, node: str | None, seq: int) -> int:
        """The event as of which ``node`` has the master's groups at the event ``seq``."""
        if node not in SLAVES:
            return seq
        return next((each.asked for each in reversed(self._synced.get(node, ())) if each.since < seq), _NEVER)

    # What the judge reports.

    def change(self, call: Call) -> None:
        """An administrator's call begins or ends; what a slave took on the next sync takes back."""
        if call.f != "group" or call.node == OTHER:
            return
        known = self.changes.setdefault(call.message, [Change(None, Choice(), -1, -1)])
        if call.kind == "invoke":
            known.append(Change(call.op, _choice(call.detail or "{}"), call.seq, None))
        elif call.kind == "ok" and call.node == MASTER:
            known[:] = [each._replace(done=call.seq) if each.op == call.op else each for each in known]
        elif call.kind == "fail":
            known[:] = [each for each in known if each.op != call.op]

    def sync(self, step: Sync) -> None:
        if step.f != "groups":
            return
        if step.status == "asked":
            self._asked[step.node] = step.seq
        elif step.status in ("same", "applied"):
            asked = self._asked.pop(step.node, None)
            if asked is not None:
                self._synced.setdefault(step.node, []).append(Held(step.seq, asked))
                if step.status == "applied":
                    self._taken[step.node] = asked

    def save(self, step: Persist) -> None:
        if step.f == "groups":
            self._saved[step.node] = step.seq

    def ended(self, event: Crash | Stop) -> None:
        """A file that was not durable may be lost, and what a full disk did not take."""
        node = event.node
        if event.kind == "crash" and event.f == MACHINE:
            self.lose(event)
            return
        if node in SLAVES:
            newest = self._taken.get(node, -1)
        else:
            newest = max((each.began for known in self.changes.values() for each in known), default=-1)
        if newest > self._saved.get(node, -1):
            self.lose(event)

    def lose(self, event: Crash | Stop | Wipe) -> None:
        if event.node in SLAVES:
            self._synced.setdefault(event.node, []).append(Held(event.seq, _NEVER))
        elif event.node == MASTER:
            self._lost = True


_DEFAULT = {Choice()}
_NEVER = -2


@lru_cache(maxsize=64)
def _choice(detail: str) -> Choice:
    said = json.loads(detail)
    return Choice(int(said.get("brokerId", 0)), int(said.get("whichBrokerWhenConsumeSlowly", 1)))
