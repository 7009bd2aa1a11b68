"""Laws about RocketMQ: they use RocketMQ's model, and normally concern one broker name."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from ..errors import UsageError
from ..history import Event
from ..judging import law
from ..judging.law import EventFilter
from .known.model import Known
from .settings import Settings
from .topology import MASTER, OTHER

MASTER_ENDS = dict.fromkeys(("crash", "stop"), EventFilter(nodes=frozenset((MASTER,))))
"""What laws about the master's return await."""
STATED = re.compile(r"``([a-z-]+)``: (.+?)\n\n.+\nSource: (.+)", re.DOTALL)
"""A law's module docstring: its id, its promise, and at the end its source."""


class Law(law.Law):
    """Base of the laws about RocketMQ. By default they receive no events of the other broker name's master.

    A law has the id, promise and source that its module's docstring states, unless its class has others.
    """

    system = "rocketmq"
    known_type = Known
    ignored_nodes = frozenset((OTHER,))
    known: Known

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if sys.flags.optimize > 1:
            raise UsageError("laws state their promises in docstrings: run Python without -OO and PYTHONOPTIMIZE=2")
        stated = STATED.match(sys.modules[cls.__module__].__doc__ or "")
        if stated is not None:
            id_, promise, source = (" ".join(each.split()) for each in stated.groups())
            cls.id = cls.__dict__.get("id", id_)
            cls.promise = cls.__dict__.get("promise", promise[0].upper() + promise[1:])
            cls.source = cls.__dict__.get("source", source.removesuffix("."))

    def end(self, last: Event) -> None:
        """Report each deadline that the law has missed."""
        for each in self.known.deadlines:
            if each.law is self:
                each.report_missed(last)


class SlaveLaw(Law):
    """Base of the laws that concern only trials with slaves."""

    @property
    def slaves(self) -> Mapping[str, Settings]:
        return self.known.slaves

    def applies(self) -> bool:
        return bool(self.slaves)
