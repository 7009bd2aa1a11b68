"""The reference pair as a target, and its mutants: the same pair with one wrong decision."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from ...harness.errors import UsageError
from ...harness.event_types import store
from ...harness.history import own_kinds
from ...harness.judging import deviations
from ...harness.rocketmq import topology
from ...harness.rocketmq.ports import ABILITIES
from ...harness.trials.schedule import Args, Scalar, as_text
from ...reference.client.consumer import Consumer
from ...reference.client.producer import Producer
from ...reference.core.broker import Broker
from ...reference.core.config import BrokerConfig
from ...reference.core.namesrv import NameServer
from ...reference.core.versions import VERSIONS
from ...reference.errors import ConfigError
from ..mutants import Mutant, catalogue
from ..mutants.mutant import CONSUMER, PRODUCER, composed
from ..plan import Image, InProcess, Plan
from ..rocketmq import advising, configuration, planning, questions
from ..rocketmq.configuration import FIELDS, Given, is_of_a_side, of_side, side_of
from ..rocketmq.defaults import completed
from ..rocketmq.planning import HA_ABOVE, OTHER_NAME, name_servers
from ..rocketmq.programs import ReferenceProgram, gives_memory
from ..rocketmq.questions import Asking

if TYPE_CHECKING:
    from ..labs.real.world import World
    from ..labs.sim.world import World as SimWorld
    from ..rocketmq.driver import RocketMQDriver
    from ..rocketmq.sim_driver import SimDriver

N = TypeVar("N", Broker, NameServer, Consumer, Producer)
DEFAULTS: Args = {
    "brokerRole": "SYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH",
    # Small files and batches, so that a few messages cross every boundary.
    "mappedFileSizeCommitLog": 2_048,
    "haTransferBatchSize": 512,
    "mappedFileSizeConsumeQueue": 200,
    "maxHashSlotNum": 8,
    "maxIndexNum": 16,
}
LAB_PREFIX = "lab."
SYSTEM_BUFFER = 262_144
"""Buffer size of a connection if a version leaves it to the system."""
LAB_SETTINGS = {
    "lab.slaves": (0, topology.MAX_SLAVES),
    "lab.nameServer": (0, 1),
    "lab.absentNameServers": (0, 2),
    "lab.others": (0, 2),
    "lab.haMasterAddress": (0, 1),
    "lab.slaveFileSize": (0, 1 << 30),
    "lab.slaveMemory": (0, 1 << 62),
    "lab.connectBrokerByUser": (0, 1),
    "lab.defaultBrokerId": (0, topology.MAX_SLAVES),
    "lab.bufferBytes": (1, 1 << 30),
    "lab.latencyMicros": (1, 50_000),
    "lab.gatherMicros": (0, 50_000),
    "lab.spread": (1, 10),
    "lab.flushMicros": (1, 1_000_000),
    "lab.sendTimeoutMs": (1, 600_000),
    "lab.pullMessages": (0, 1_000),
    "lab.conversations": (-1, 1 << 30),
}
"""The labs' own settings and their ranges. ``absentNames``: 1 or 2: the absent one of two name servers.
``slaveFileSize``, ``slaveMemory``: the slaves' mappedFileSizeCommitLog and totalMemory; 0: the master's.
``connectBrokerByUser``, ``defaultBrokerId``: choices of consumers' users. ``sendTimeoutMs``: the producers' timeout.
``pullMessages``: messages that readers request; 0: 32. ``conversations``: the conversation and other requests at the
end of a trial; 0: only questions about logs, -1: none, absent: drawn by the schedule's seed.
"""
REPORT = 8
LEAST_BYTES_A_SECOND = 500
"""Minimum throughput of the log, a buffer per round trip: slower links could not catch up within any bound."""
FRAME_HEADER = 12
INDEX_HEADER, INDEX_SLOT, INDEX_ENTRY = 40, 4, 20
"""Bytes of a key index file's parts."""
LARGEST_FILE = 64 * 1024 * 1024
"""Limit because the simulated lab holds every file in memory, several times."""
LEAST_MESSAGE = 100
"""Bytes of the sends by which a lab checks that the brokers are alive."""


SHOWN = 5
"""Listed mutants if no name is similar to the unknown one."""


class ReferenceTarget(NamedTuple):
    """The reference nodes; a mutant replaces the class of one of them, of every slave, or of every consumer."""

    mutants: tuple[Mutant, ...] = ()
    images: Mapping[str, str] = MappingProxyType({})
    """Container images by purpose: ``own`` for its nodes, ``other`` for their replacement. The docker lab builds
    missing ones from this source. A target other than the reference names its own here.
    """
    stands_for: str = ""
    """The RocketMQ version that it models, with its known deviations, whatever version schedules set. Empty: the
    reference.
    """
    brought: Given | None = None

    @property
    def system(self) -> str:
        return "rocketmq"

    @property
    def line(self) -> str:
        return self.stands_for

    @property
    def follows_conventions(self) -> bool:
        """It claims to follow all of RocketMQ's conventions."""
        return True

    @property
    def name(self) -> str:
        """``reference`` or ``reference+mutant``; of a model ``rocketmq-VERSION@model``."""
        base = f"rocketmq-{self.stands_for}@model" if self.stands_for else "reference"
        return "+".join((base, *(each.name for each in self.mutants)))

    @property
    def releases(self) -> Mapping[str, str]:
        """Its programs by role, for known deviations; the reference is not a version of RocketMQ."""
        return dict.fromkeys((topology.MASTER, topology.SLAVES[0]), self.stands_for) if self.stands_for else {}

    def mutant(self, name: str) -> ReferenceTarget:
        if name not in catalogue():
            close = get_close_matches(name, catalogue(), 1)
            hint = f"did you mean {close[0]}?" if close else f"valid are {', '.join(sorted(catalogue())[:SHOWN])}, ..."
            raise UsageError(f"unknown mutant {name!r}; {hint} (pairproof mutants tries all {len(catalogue())})")
        return self._replace(mutants=(*self.mutants, catalogue()[name]))

    def bring(self, files: Mapping[str, Path], typed: Sequence[str]) -> tuple[Given, list[str]]:
        return advising.brought(files, typed, lambda side: configuration.reference(self.stands_for), self.releases)

    def given(self, brought: object) -> ReferenceTarget:
        return self._replace(brought=cast(Given, brought))

    def settings(self, schedule: Args) -> Args:
        """Defaults overlaid by the schedule's settings; UsageError for an invalid key or value."""
        if self.stands_for:
            schedule = for_version(self.stands_for, schedule, ("haPushes",))
        merged = {**DEFAULTS, **schedule}
        version = VERSIONS.get(str(merged.get("rocketmqVersion")), VERSIONS[BrokerConfig.rocketmqVersion])
        merged.setdefault("lab.bufferBytes", version.ha_socket_buffer or SYSTEM_BUFFER)
        for key, value in merged.items():
            if key.startswith(LAB_PREFIX):
                _check_lab_setting(key, value)
            else:
                configuration.check_setting(key, value)
        if topology.has_other(merged) and not topology.has_names(merged):
            raise UsageError("lab.others needs a name server, where clients find it: set lab.nameServer=1, too")
        if topology.has_second_master(merged) and topology.slaves(merged) != 1:
            raise UsageError("lab.others=2 needs one slave, whose store the second master has: set lab.slaves=1")
        _check_users_choice(merged)
        for node in topology.nodes(topology.slaves(merged)):
            self.config(node, merged)
        _check_together(merged, self.config(topology.MASTER, merged))
        return merged

    def config(self, node: str, settings: Args) -> BrokerConfig:
        return _config(node, tuple(sorted(settings.items())))

    def shown(self, node: str, settings: Args) -> str:
        return _shown(node, tuple(sorted(settings.items())))

    def observes(self) -> frozenset[str]:
        """Everything, except for other systems' records of their stores."""
        return own_kinds() - store.KINDS

    def questions(self, node: str) -> Asking:
        return questions.OF_REFERENCE

    @property
    def abilities(self) -> tuple[type, ...]:
        return ABILITIES

    def programs(self, settings: Args) -> Mapping[str, str]:
        line = settings.get("rocketmqVersion", BrokerConfig.rocketmqVersion)
        like = f"pairproof's own model of RocketMQ {line} ({self.name})"
        return {"master": like, "slave": like}

    def defaults(self, node: str, settings: Args) -> Mapping[str, str]:
        return {key: as_text(value) for key, value in asdict(BrokerConfig()).items()}

    def simulated(self, world: SimWorld) -> SimDriver:
        from ..rocketmq.sim_driver import SimDriver

        return SimDriver(self, world)

    def driver(self, world: World) -> RocketMQDriver:
        from ..rocketmq.driver import RocketMQDriver

        return RocketMQDriver(self, world)

    def sync_period_ms(self, settings: Args) -> int:
        """The latest start of a slave's next metadata sync, counted from the last."""
        sync = self.config(topology.SLAVES[0], settings).version.sync
        return max(sync.first, sync.every + sync.rest)

    def plan(self, settings: Args) -> Plan:
        return planning.plan(
            settings, lambda node: self.config(node, settings), lambda node: self.forms(node, settings)
        )

    def forms(self, node: str, settings: Args) -> tuple[object, ...]:
        if node == topology.NAMES:
            server = self.name_server_class()
            return InProcess(lambda io, watcher: server(io)), ReferenceProgram(self.name), Image(named=self.images)
        build, config = self.broker_class(node), self.config(node, settings)
        program = ReferenceProgram(self.name, config, gives_memory(node, settings))
        return InProcess(lambda io, watcher: build(config, io, watcher)), program, Image(named=self.images)

    def broker_class(self, node: str) -> type[Broker]:
        return self._mutated(topology.SLAVES[0] if node in topology.SLAVES else node, Broker)

    def name_server_class(self) -> type[NameServer]:
        return self._mutated(topology.NAMES, NameServer)

    def consumer_class(self) -> type[Consumer]:
        return self._mutated(CONSUMER, Consumer)

    def producer_class(self) -> type[Producer]:
        return self._mutated(PRODUCER, Producer)

    def _mutated(self, node: str, base: type[N]) -> type[N]:
        own = (*_modelled(self.stands_for), *self.mutants)
        mutants: list[type] = [each.node_class for each in own if each.node == node]
        return cast("type[N]", composed(*mutants)) if mutants else base


@cache
def _modelled(version: str) -> tuple[Mutant, ...]:
    """The mutants for the known deviations of this version."""
    known = deviations.of(ReferenceTarget(stands_for=version))
    return tuple(catalogue()[name] for name in dict.fromkeys(name for each in known for name in each.models))


def for_version(version: str, schedule: Args, ours: tuple[str, ...]) -> Args:
    """A schedule for this version of RocketMQ, without ``ours``, settings that only the reference has."""
    # Settings for another version are dropped with that version's name.
    is_others = "rocketmqVersion" in schedule and not VERSIONS[version].counts_replicas
    left_out = (*ours, "inSyncReplicas") if is_others else ours
    return {**{key: value for key, value in schedule.items() if key not in left_out}, "rocketmqVersion": version}


def _check_lab_setting(key: str, value: Scalar) -> None:
    if key not in LAB_SETTINGS:
        raise UsageError(f"unknown setting {key!r}; valid beside RocketMQ's keys: {', '.join(LAB_SETTINGS)}")
    low, high = LAB_SETTINGS[key]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{key} must be a whole number from {low} to {high}, not {value!r}")


def _check_users_choice(settings: Args) -> None:
    if settings.get("lab.defaultBrokerId") and topology.chosen_by_user(settings) is None:
        raise UsageError(
            "lab.defaultBrokerId is used only if users choose: set lab.connectBrokerByUser=1, too, or leave it out"
        )


def _check_together(settings: Args, config: BrokerConfig) -> None:
    buffer, latency_us = int(settings["lab.bufferBytes"]), int(settings.get("lab.latencyMicros", 500))
    trip_us = 2 * (latency_us * int(settings.get("lab.spread", 1)) + int(settings.get("lab.gatherMicros", 0)))
    batch = config.haTransferBatchSize
    rate = buffer * 1_000_000 // trip_us * batch // (batch + FRAME_HEADER)
    if rate < LEAST_BYTES_A_SECOND:
        raise UsageError(
            f"lab.bufferBytes={buffer}, lab.latencyMicros={latency_us} and haTransferBatchSize={batch} let {rate} "
            f"bytes of the log pass in a second, with a round trip of {trip_us} microseconds: "
            f"{LEAST_BYTES_A_SECOND} are the least"
        )
    if buffer < REPORT and config.haCutReports == "closes":
        raise UsageError(
            f"lab.bufferBytes={buffer} takes no report of {REPORT} bytes whole, so slaves close every connection: make "
            f"it larger, or set haCutReports=waits"
        )
    index = INDEX_HEADER + INDEX_SLOT * config.maxHashSlotNum + INDEX_ENTRY * config.maxIndexNum
    sizes = {
        "mappedFileSizeCommitLog": config.mappedFileSizeCommitLog,
        "mappedFileSizeConsumeQueue": config.mappedFileSizeConsumeQueue,
        "4 * maxHashSlotNum + 20 * maxIndexNum + 40": index,
    }
    for key, size in sizes.items():
        if size > LARGEST_FILE:
            raise UsageError(f"{key} must be at most {LARGEST_FILE} where files are kept in memory, not {size}")
    if config.maxMessageSize < LEAST_MESSAGE:
        raise UsageError(
            f"maxMessageSize must be at least {LEAST_MESSAGE}, a probe's size, not {config.maxMessageSize}"
        )


@lru_cache(maxsize=1_024)
def _config(node: str, settings: tuple[tuple[str, Scalar], ...]) -> BrokerConfig:
    # Cached: a search opens thousands of trials with a few settings.
    try:
        return BrokerConfig.from_properties(_given(node, settings))
    except ConfigError as why:
        raise UsageError(str(why)) from None


@lru_cache(maxsize=1_024)
def _shown(node: str, settings: tuple[tuple[str, Scalar], ...]) -> str:
    return json.dumps(completed(_given(node, settings)), sort_keys=True)


def _given(node: str, settings: tuple[tuple[str, Scalar], ...]) -> dict[str, object]:
    given = dict(settings)
    # Settings that only Java brokers have are theirs.
    own = {key: value for key, value in of_side(side_of(node), given).items() if key in FIELDS}
    common = {key: value for key, value in settings if not key.startswith(LAB_PREFIX) and not is_of_a_side(key)}
    values: dict[str, object] = {**common, **own}
    if topology.has_names(given):
        values["namesrvAddr"] = ";".join(name_servers(given))
    if node in topology.SLAVES:
        number = topology.SLAVES.index(node)
        values |= {"brokerRole": "SLAVE", "brokerId": number + 1, "listenPort": 10_921 + 10 * number}
        if given.get("lab.slaveFileSize"):
            values["mappedFileSizeCommitLog"] = given["lab.slaveFileSize"]
        if given.get("lab.slaveMemory"):
            values["totalMemory"] = given["lab.slaveMemory"]
        if not topology.has_names(given):
            values["haMasterAddress"] = topology.HA_LINKS[number]
        elif given.get("lab.haMasterAddress") and not values.get("haMasterAddress"):
            master = _config(topology.MASTER, settings)
            values["haMasterAddress"] = f"{master.brokerIP1}:{master.ha_port}"
    if node == topology.OTHER:
        values |= {"brokerRole": "ASYNC_MASTER", "listenPort": 10_971}
        if not topology.has_second_master(given):
            values["brokerName"] = OTHER_NAME
    if values.get("haListenPort"):
        values["haListenPort"] = int(str(values.get("listenPort", BrokerConfig.listenPort))) + HA_ABOVE
    return values


TARGET = ReferenceTarget()
