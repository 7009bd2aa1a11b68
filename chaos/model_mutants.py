"""Mutants of the model that laws query: is each excuse needed, and does a law depend on each fact?

- An *excuse* dropped: a law must accuse the unmutated reference, or no search ever needs the excuse.
- A *fact* falsified: a mutant of the reference that its declared law kills must survive, or the law does not use it.

Each replaces one method of :mod:`pairproof.harness.rocketmq.known` while trials are judged; histories do not change.
Left out: facts that only one law computes; and ``Nodes.lost_power``, without which a law accuses real brokers only,
or a pair whose log ends no lab sees.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

from ..harness.judging.disturbances import Disturbances
from ..harness.rocketmq.contract import WIPE
from ..harness.rocketmq.known.calls import Calls
from ..harness.rocketmq.known.consumption import Consumption
from ..harness.rocketmq.known.copies import Copies
from ..harness.rocketmq.known.coverage import Coverage
from ..harness.rocketmq.known.dispatched import Dispatched
from ..harness.rocketmq.known.logs import Logs
from ..harness.rocketmq.known.lost_undetected import LostUndetected
from ..harness.rocketmq.known.naming import Naming
from ..harness.rocketmq.known.nodes import Nodes
from ..harness.rocketmq.known.positions import Positions
from ..harness.rocketmq.known.possible import Possible
from ..harness.rocketmq.known.registers import Register
from ..harness.rocketmq.known.stores import Stores
from ..harness.rocketmq.known.tables import Tables
from ..harness.rocketmq.topology import MASTER, NODES
from ..harness.trials.schedule import Op, Schedule


class ModelMutant(NamedTuple):
    about: str
    owner: type
    method: str
    instead: Callable[..., Any]
    shown_by: str = ""
    """The mutant of the reference that must survive; empty for an excuse."""
    law: str = ""
    """The law that must miss it; by default the one that it is declared for."""

    @property
    def name(self) -> str:
        return f"{self.owner.__name__}.{self.method}" + (f" ({self.shown_by})" if self.shown_by else "")

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        with patch.object(self.owner, self.method, self.instead):
            yield


def _nothing(*_: object, **__: object) -> None:
    return None


def _always(value: object) -> Callable[..., Any]:
    return lambda *_, **__: value


def _settled(register: Register, t: int) -> set[int] | None:
    return None if register.is_hidden else register.settled


def _forgets_pending(register: Possible[Any]) -> None:
    register._pending.clear()


PULL = Op("pull", {"node": MASTER})
RESTART = Op("fault", {"name": "restart", "node": MASTER})
POWER_LOSS = Op("fault", {"name": "power_loss", "node": MASTER, "keep": "none"})
ALL_LOST = [(node, WIPE) for node in NODES]
EXCUSES = (
    ModelMutant("an answer is always of the present incarnation", Calls, "is_current", _always(True)),
    ModelMutant("no crash happens to a store", Stores, "ended", _nothing),
    ModelMutant("no store is replaced", Stores, "wiped", _nothing),
    ModelMutant("no file expires", Stores, "expires", _nothing),
    ModelMutant("no slave diverges", Logs, "_diverge", _nothing),
    ModelMutant("a slave has its master's bytes only", Logs, "common", lambda _, node, hi: hi),
    ModelMutant("a log never has another content", Positions, "started", _nothing),
    ModelMutant("a node has dispatched all that it holds", Dispatched, "has_all", _always(True)),
    ModelMutant("no disk lies", LostUndetected, "started", _nothing),
    ModelMutant("a broker keeps what was committed to it", Register, "recover", _nothing),
    ModelMutant("a table is what was committed last", Register, "possible_since", _settled),
    ModelMutant("no call reaches the next incarnation", Possible, "_outlive", _forgets_pending),
    ModelMutant("a sync brings a slave nothing", Register, "copy", _nothing),
    ModelMutant("a store brings no progress", Register, "inherit", _nothing),
    ModelMutant("every slave serves reads", Consumption, "may_be_refused", _always(False)),
    ModelMutant("the name server always knows a broker", Naming, "knows", _always(True)),
    ModelMutant("no fault touches anything", Disturbances, "is_undisturbed", _always(True)),
    ModelMutant("no fault was here", Disturbances, "is_unaffected", _always(True)),
    ModelMutant("no node stands still", Disturbances, "unavailable_ns", _always(0)),
    ModelMutant("no fault goes on", Disturbances, "is_disturbed", _always(False)),
)
RARE = {
    "Positions.started": Schedule(
        {
            "mappedFileSizeCommitLog": 1_048_576, "maxMessageSize": 500_000,
            "flushIntervalCommitLog": 20_000, "flushIntervalConsumeQueue": 20_000,
        },
        "x",
        (
            Op("send", {"size": 1}), PULL, Op("advance", {"ms": 20}), POWER_LOSS, Op("heal", {"name": "power_loss"}),
            Op("send", {"size": 1}), PULL, Op("advance", {"ms": 1}), PULL,
            Op("send", {"size": 1}), Op("send", {"size": 300_000}), Op("advance", {"ms": 20}),
            PULL, Op("advance", {"ms": 1}), POWER_LOSS,
        ),
    ),
    "LostUndetected.started": Schedule(
        {},
        "x",
        (
            Op("fault", {"name": "lying_flush", "node": MASTER}), RESTART, Op("heal", {"name": "restart"}),
            Op("heal", {"name": "lying_flush"}), Op("advance", {"ms": 1}),
            Op("send", {"size": 1, "queue": 1}), Op("advance", {"ms": 20}), RESTART, POWER_LOSS,
        ),
    ),
    "Possible._outlive": Schedule(
        {"lab.latencyMicros": 20_000},
        "1",
        (
            Op("topic", {"number": 0, "queues": 1, "node": MASTER, "perm": 2, "used": True}),
            Op("fault", {"name": "kill", "node": MASTER}), Op("heal", {"name": "kill"}),
            Op("fault", {"name": "jitter", "link": "client-master", "direction": "up", "ms": 200, "jitter": 200}),
            Op("recreate", {"what": "topic", "number": 0, "steps": 1, "node": MASTER, "used": True}),
            Op("advance", {"ms": 3_100}), PULL,
        ),
    ),
    "Register.inherit": Schedule(
        {"lab.nameServer": 1, "lab.slaves": 2, "slave.haSendHeartbeatInterval": 500},
        "own-66/31/505",
        (
            Op("join", {"group": 0, "consumer": 0}), Op("advance", {"ms": 3_100}),
            Op("fault", {"name": "promotion", "node": "slave2", "rejoin": "wiped"}),
            Op("fault", {"name": "kill", "node": MASTER}), Op("advance", {"ms": 3_100}),
        ),
    ),
    "Consumption.may_be_refused": Schedule(
        {
            "lab.nameServer": 1, "slaveReadEnable": True,
            "slave.slaveReadEnable": False, "slave.rocketmqVersion": "5.5.0",
        },
        "own-66/37/234",
        (
            Op("group", {"group": 0, "slowly": 1, "broker": 1, "node": MASTER}),
            Op("join", {"group": 0, "consumer": 0}), Op("advance", {"ms": 20}),
        ),
    ),
}  # fmt: skip
"""Programs that need an excuse which searches need in one of many thousand trials, if ever."""
FACTS = (
    ModelMutant("no answer is of the present incarnation", Calls, "is_current", _always(False), "lies_about_place"),
    ModelMutant("every slave holds every message", Coverage, "holders", _always(99), "acks_at_once"),
    ModelMutant("slaves keep what it lost", Coverage, "cut", _nothing, "believes_first_report", "ack-replicated"),
    ModelMutant("every store was lost", Stores, "since", _always(ALL_LOST), "drops_messages"),
    ModelMutant("a table may say anything", Register, "possible_since", _always(None), "keeps_the_larger"),
    ModelMutant("every commit went to the master", Consumption, "was_committed", _always(True), "tells_its_offsets"),
    ModelMutant("nobody administers a master", Tables, "administered", _always(()), "makes_as_before"),
    ModelMutant("a sync brings nothing for sure", Copies, "brought", _always({}), "ignores_backup"),
    ModelMutant("a master may lack everything", Copies, "is_sure", _always(False), "fills_later"),
    ModelMutant("nothing is dispatched", Dispatched, "shown", _always(None), "counts_what_waits"),
    ModelMutant("no master is down", Nodes, "is_down_since", _always(False), "takes_over"),
    ModelMutant("no node has dispatched all", Dispatched, "has_all", _always(False), "forgets_keys"),
    ModelMutant("nobody sees where a record lies", Positions, "seen", _nothing, "gives_one_by_one"),
    ModelMutant("a fault touches everything", Disturbances, "is_undisturbed", _always(False), "keeps_the_dead"),
)
"""Each with a mutant that a law kills by the fact."""
