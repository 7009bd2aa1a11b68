"""Real RocketMQ pairs as targets, and mixed ones: of two versions, or of one and the reference.

``rocketmq@4.9.8`` is a pair of that release, ``rocketmq@/opt/rocketmq`` of the one unpacked or built there, and
``rocketmq@4.9.7,5.5.0`` or ``rocketmq@reference,4.9.8`` has the master's program first. ``rocketmq@4.9.7..5.5.0``
begins as 4.9.7, and the faults ``upgrade`` and ``replace`` change a node's program to 5.5.0. ``rocketmq@4.9.8+agent``
has the agent in its brokers. A third program is the name server's: ``rocketmq@4.9.7,5.5.0,5.5.0``. A version's jars
define its settings. Its behaviour is assumed to be the nearest known line's (:data:`BEHAVES`).

They run in labs of processes. A Java broker is a black box, so laws about its internals are not observable; clients,
taps and stores provide the rest. The name server is the reference's unless the target names one: it starts sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

from ...harness import registry
from ...harness.errors import UsageError
from ...harness.event_types import store
from ...harness.history import own_kinds
from ...harness.judging import versions
from ...harness.rocketmq import topology
from ...harness.rocketmq.ports import ABILITIES
from ...harness.trials.schedule import Args, Op, Schedule
from ...reference.client.consumer import Consumer
from ...reference.client.producer import Producer
from ...reference.core.config import BrokerConfig
from ...reference.core.versions import VERSIONS as LINES
from .. import tools
from ..plan import Image, Plan
from ..rocketmq import advising, by_hand, configuration, describing, jvm, planning, questions, setters
from ..rocketmq.agent import tool as agent
from ..rocketmq.configuration import FIELDS, SIDES, Given, of_side, side_of
from ..rocketmq.install import VERSIONS, Home, RocketMQ, source
from ..rocketmq.programs import JavaNameServer, JavaProgram
from ..rocketmq.settings import OURS
from .reference import TARGET, ReferenceTarget, for_version

if TYPE_CHECKING:
    from ..labs.real.world import World
    from ..rocketmq.driver import RocketMQDriver

DEFAULTS: Mapping[str, str | int] = MappingProxyType({
    # Java maps files and needs whole pages; other sizes stay small.
    "mappedFileSizeCommitLog": 65_536, "haTransferBatchSize": 32_768, "mappedFileSizeConsumeQueue": 2_000,
    "maxMessageSize": 32_768, "maxHashSlotNum": 1_000, "maxIndexNum": 4_000,
    # Its first report comes after one such interval.
    "haSendHeartbeatInterval": 500,
})  # fmt: skip
JRE = ("openjdk-17-jre-headless",)
"""Debian's package that a container needs to run it."""
MEMORY_MB = 1_024
"""Memory limit of its container: twice the limit of its heap and direct memory."""
FAMILY = "rocketmq"
BEHAVES = {"<4.5": "4.4.0", "<=4.5.2": "4.5.2", "<=4.9.2": "4.9.2", "<5": "4.9.7", ">=5": "5.5.0"}
"""Ranges of releases, oldest first, and the line whose behaviour is known."""
UNUSED = {"haMasterAddress": ">=5", "haListenPort": ">=5, <5.1.1"}
"""Settings that brokers of these releases must not get from the lab."""
SIMULATED = frozenset(("conversation", "left", "routed"))
"""Observable only in the simulation: conversations, which would change a real broker, reads before a node continues,
and a name server's topics.
"""
UNTRACED = frozenset(("commit", "flush"))
"""Observable only by a broker's own trace."""
LOGS_REFUSALS = "4.9.7"
"""The line whose masters log refused slaves."""
LOG_FILE = "mappedFileSizeCommitLog"
QUEUE_STORE, IN_FILES = "storeType", "default"
"""Where 5.x stores its queues: in files, or in RocksDB."""
THEN = ".."
"""Between a node's program and its replacement."""
AGENT = "+agent"
"""Suffix of a target whose Java brokers have the agent."""


class RocketMQTarget(NamedTuple):
    """``master``, ``slave`` and ``names``, the name server: their programs: a release of RocketMQ, the path of an
    unpacked one, or ``reference``; behind ``..`` a broker's replacement.
    """

    master: str
    slave: str
    names: str = TARGET.name
    images: Mapping[str, str] = MappingProxyType({})
    """See :attr:`ReferenceTarget.images`."""
    brought: Given | None = None
    has_agent: bool = False
    """Whether its Java brokers have the agent: see :mod:`pairproof.chaos.rocketmq.agent`."""

    @property
    def system(self) -> str:
        return TARGET.system

    @property
    def follows_conventions(self) -> bool:
        return True

    @property
    def name(self) -> str:
        """The registered name if there is one (``rocketmq-VERSION``, or both programs), else ``rocketmq@...``."""
        if self.names != TARGET.name:
            return f"{FAMILY}@{self.master},{self.slave},{self.names}{AGENT if self.has_agent else ''}"
        both = dict.fromkeys((self.master, self.slave))
        if self.has_agent:
            return f"{FAMILY}@{','.join(both)}{AGENT}"
        short = "-".join(each if each == TARGET.name else f"{FAMILY}-{each}" for each in both)
        return short if short in registry.names("targets") else f"{FAMILY}@{','.join(both)}"

    @property
    def releases(self) -> Mapping[str, str]:
        """Its programs by role, for known deviations; the reference is not a version of RocketMQ."""
        return {role: _version(own) or own for role, own in self._of_roles(self._program).items()}

    @property
    def replacements(self) -> Mapping[str, str]:
        """The same for replacement programs; empty without any."""
        return {role: _version(other) or other for role, other in self._of_roles(self._other).items() if other}

    def _of_roles(self, which: Callable[[str], str]) -> dict[str, str]:
        return {role: which(role) for role in (topology.MASTER, topology.SLAVES[0])}

    def _program(self, node: str) -> str:
        if node == topology.NAMES:
            return self.names
        return (self.slave if node in topology.SLAVES else self.master).partition(THEN)[0]

    def _other(self, node: str) -> str:
        """The replacement program; empty without any."""
        return (self.slave if node in topology.SLAVES else self.master).partition(THEN)[2]

    def _programs(self, node: str) -> list[str]:
        return [each for each in (self._program(node), self._other(node)) if each]

    @property
    def model(self) -> ReferenceTarget | None:
        """The target's model for a simulation: the reference with its known deviations. None for a pair of several
        programs.
        """
        if self.master != self.slave or self.replacements:
            return None
        return ReferenceTarget(stands_for=nearest(_version(self.master)))

    def runs(self, side: str) -> configuration.Program:
        own = self._programs(side)
        releases = [_version(each) or each for each in own if each != TARGET.name]
        if not releases:
            return configuration.reference()
        known = {
            key: kind
            for each in reversed(own)
            for key, kind in (
                configuration.reference().acts_on if each == TARGET.name else setters.known(source(each).find())
            ).items()
        }
        return configuration.Program(known, " and ".join(releases), is_model=False)

    def bring(self, files: Mapping[str, Path], typed: Sequence[str]) -> tuple[Given, list[str]]:
        return advising.brought(files, typed, self.runs, self.releases)

    def given(self, brought: object) -> RocketMQTarget:
        return self._replace(brought=cast(Given, brought))

    def plan(self, settings: Args) -> Plan:
        """In a mixed pair each node has its own forms."""
        return planning.plan(
            settings,
            lambda node: self.config(node, settings),
            lambda node: self._forms(node, self._program(node), settings),
            lambda node: self._forms(node, other, settings) if (other := self._other(node)) else (),
        )

    def _forms(self, node: str, program: str, settings: Args) -> tuple[object, ...]:
        if program == TARGET.name:
            return TARGET.forms(node, _as(program, settings))
        mounted = [*tools.tool_folders(), *([source(program).find()] if program.startswith("/") else [])]
        image = Image(JRE, tuple(mounted), MEMORY_MB, self.images)
        if node == topology.NAMES:
            return JavaNameServer(program), image
        more = {key: value for key, value in of_side(side_of(node), settings).items() if key not in FIELDS}
        return JavaProgram(program, TARGET.config(node, _as(program, settings)), more, self.has_agent), image

    def _versions(self, role: str) -> list[str]:
        return [version for each in self._programs(role) if (version := _version(each))]

    @property
    def line(self) -> str:
        """The latest master's: a setting that only a later program has is kept for that."""
        masters = self._versions(topology.MASTER) or self._versions(topology.SLAVES[0])
        return max(map(nearest, masters), key=list(LINES).index)

    def settings(self, schedule: Args) -> Args:
        """See :meth:`ReferenceTarget.settings`. RocketMQ always behaves as the settings that only the reference has
        require.
        """
        own = [*self._versions(topology.MASTER), *self._versions(topology.SLAVES[0])]
        given = dict(for_version(self.line, schedule, OURS))
        size = given.get(LOG_FILE)
        if isinstance(size, int):
            given[LOG_FILE] = max(size, int(DEFAULTS[LOG_FILE]))
        newer = next((each for each in own if LINES[nearest(each)].counts_replicas), None)
        why = f"RocketMQ {newer} gets its master's address only from a name server" if newer else f"{self.name} has one"
        if (newer or self.names != TARGET.name) and not given.setdefault("lab.nameServer", 1):
            raise UsageError(f"{why}: leave lab.nameServer=0 out")
        return TARGET.settings({**DEFAULTS, **given})

    def questions(self, node: str) -> questions.Asking:
        is_ours = all(each == TARGET.name for each in self._programs(node))
        return questions.OF_REFERENCE if is_ours else questions.OF_JAVA

    @property
    def abilities(self) -> tuple[type, ...]:
        return ABILITIES

    def driver(self, world: World) -> RocketMQDriver:
        from ..rocketmq.driver import RocketMQDriver

        return RocketMQDriver(self, world)

    def programs(self, settings: Args) -> Mapping[str, str]:
        told = {
            node: TARGET.programs(settings)[node] if own == TARGET.name else describing.product(source(own).find())
            for node in (topology.MASTER, topology.SLAVES[0], *([topology.NAMES] if self.names != TARGET.name else []))
            for own in (self._program(node),)
        }
        return {**told, "Java": jvm.version()}

    @property
    def digests(self) -> Mapping[str, str]:
        """Digests of its Java brokers' jars, by release or folder. LabError if they are missing."""
        roles = (topology.MASTER, topology.SLAVES[0], topology.NAMES)
        own = (each for role in roles for each in self._programs(role))
        return {each: tools.digest(source(each).find()) for each in own if each != TARGET.name}

    def defaults(self, node: str, settings: Args) -> Mapping[str, str]:
        program = self._program(node)
        if program == TARGET.name:
            return TARGET.defaults(node, settings)
        return describing.defaults(source(program).find())

    def by_hand(
        self, title: str, schedule: Schedule, configurations: Mapping[str, str], words: Callable[[Op], str]
    ) -> Mapping[str, str]:
        """See :mod:`pairproof.chaos.rocketmq.by_hand`; for two brokers of one release."""
        version = _version(self.master)
        if self.master != self.slave or self.replacements or int(schedule.settings.get("lab.slaves", 1)) != 1:
            return {}
        usual = self.defaults(topology.MASTER, schedule.settings)
        return {by_hand.SCRIPT: by_hand.script(title, version, schedule.ops, configurations, usual, words)}

    def observes(self) -> frozenset[str]:
        """A Java broker is a black box, except for its files and its log."""
        masters = [version for each in self._programs(topology.MASTER) if (version := _version(each))]
        silent = {"diverged"} if any(nearest(each) != LOGS_REFUSALS for each in masters) else set()
        told = agent.TELLS if self.has_agent else frozenset()
        return own_kinds() - store.KINDS - SIMULATED - (UNTRACED - told) - silent - self._hidden()

    def _hidden(self) -> frozenset[str]:
        """Event types that the brought configuration makes unobservable."""
        stores = (
            {of_side(side, self.brought.settings).get(QUEUE_STORE, IN_FILES) for side in SIDES}
            if self.brought
            else set()
        )
        return frozenset(("dispatch",)) if stores - {IN_FILES} else frozenset()

    def config(self, node: str, settings: Args) -> BrokerConfig:
        return TARGET.config(node, _as(self._program(node), settings))

    def sync_period_ms(self, settings: Args) -> int:
        return TARGET.sync_period_ms(settings)

    def consumer_class(self) -> type[Consumer]:
        return Consumer

    def producer_class(self) -> type[Producer]:
        return Producer


def _version(program: str) -> str:
    """The release of a program; empty for the reference."""
    return "" if program == TARGET.name else source(program).version


def _as(program: str, settings: Args) -> Args:
    """The settings of one program, whose version may differ from its peer's, or its predecessor's."""
    line = nearest(_version(program) or str(settings["rocketmqVersion"]))
    own = _version(program).partition("-")[0]
    left_out = [] if LINES[line].counts_replicas else ["inSyncReplicas"]
    # A 5.x slave with a haMasterAddress has no address at all, and its first versions have no other HA port.
    left_out += [key for key, span in UNUSED.items() if versions.parse(span).holds(own)]
    # A side's own setting has its name in front.
    kept = {key: value for key, value in settings.items() if key.rpartition(".")[2] not in left_out}
    return {**kept, "rocketmqVersion": line}


def nearest(version: str) -> str:
    """The line that a release is assumed to behave like (:data:`BEHAVES`), ignoring ``-SNAPSHOT`` and the like."""
    return next(line for span, line in BEHAVES.items() if versions.parse(span).holds(version.partition("-")[0]))


class Family:
    """RocketMQ by version, folder, or both programs, given behind ``rocketmq@``."""

    def target(self, which: str) -> RocketMQTarget:
        """UsageError, with the valid forms, for anything but one to three programs."""
        roles = which.removesuffix(AGENT).split(",")
        own = [each.split(THEN) for each in roles]
        programs = [each for either in own for each in either]
        if len(roles) > 3 or max(map(len, own)) > 2 or THEN in "".join(roles[2:]) or set(programs) == {TARGET.name}:
            raise UsageError(
                f"{FAMILY}@{which[:80]}: name one program, or the master's, the slave's and the name server's, at "
                f"least one of them RocketMQ: {FAMILY}@4.9.8, {FAMILY}@/path/to/home, {FAMILY}@reference,4.9.7, "
                f"{FAMILY}@4.9.7,4.9.7,5.5.0; to upgrade: {FAMILY}@4.9.7..5.5.0"
            )
        for each in programs:
            if each != TARGET.name:
                source(each)
        master, slave, names = (*(roles * 2)[:2], TARGET.name) if len(roles) < 3 else roles
        return RocketMQTarget(master, slave, names, has_agent=which.endswith(AGENT))

    def tool(self, which: str) -> RocketMQ | Home:
        return source(which)


ANY = Family()
V4, V5 = (RocketMQTarget(each, each) for each in VERSIONS)
V4_MASTER, V4_SLAVE = RocketMQTarget(VERSIONS[0], TARGET.name), RocketMQTarget(TARGET.name, VERSIONS[0])
