"""Real RocketMQ pairs as targets, and mixed ones: of two versions, or of one and the reference.

``rocketmq@4.9.8`` is a pair of that release, ``rocketmq@/opt/rocketmq`` of the one that is unpacked or built there, and
``rocketmq@4.9.7,5.5.0`` or ``rocketmq@reference,4.9.8`` has the master's program first. ``rocketmq@4.9.7..5.5.0``
begins as 4.9.7, and the faults ``upgrade`` and ``replace`` put 5.5.0 in a node's place. ``rocketmq@4.9.8+agent`` has
the agent in its brokers. Which settings a version knows its jars say. How it behaves is taken from the nearest line
that is known (:data:`BEHAVES`).

They run where processes run. Nothing is known of the inside of a Java broker, so laws that ask for it are not
observable; clients, taps and stores say the rest. The name server is the lab's own in every target,
since it has to hand out the proxies' addresses.
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
from ...harness.trials.schedule import Args
from ...reference.client.consumer import Consumer
from ...reference.core.config import BrokerConfig
from ...reference.core.versions import VERSIONS as LINES
from .. import tools
from ..plan import Image, Plan
from ..rocketmq import advising, configuration, describing, jvm, planning, questions, setters
from ..rocketmq.agent import tool as agent
from ..rocketmq.configuration import FIELDS, SIDES, Given, of_side, side_of
from ..rocketmq.install import VERSIONS, Home, RocketMQ, source
from ..rocketmq.programs import JavaProgram
from ..rocketmq.settings import OURS
from .reference import TARGET, ReferenceTarget, for_version

if TYPE_CHECKING:
    from ..labs.real.world import World
    from ..rocketmq.driver import RocketMQDriver

DEFAULTS: Mapping[str, str | int] = MappingProxyType({
    # Java maps files and wants whole pages; the rest as small as it stands it.
    "mappedFileSizeCommitLog": 65_536, "haTransferBatchSize": 32_768, "mappedFileSizeConsumeQueue": 2_000,
    "maxMessageSize": 32_768, "maxHashSlotNum": 1_000, "maxIndexNum": 4_000,
    # It reports for the first time after one such interval.
    "haSendHeartbeatInterval": 500,
})  # fmt: skip
JRE = ("openjdk-17-jre-headless",)
"""Debian's package that a container needs to run it."""
MEMORY_MB = 1_024
"""Of its container: twice what its heap and its direct memory may be."""
FAMILY = "rocketmq"
BEHAVES = {"<=4.5.2": "4.4.0", "<=4.9.2": "4.9.2", "<5": "4.9.7", ">=5": "5.5.0"}
"""Ranges of releases, oldest first, and the line whose conduct is known."""
SIMULATED = frozenset(("try", "back", "decide", "conversation", "left"))
"""What only simulated clients tell, visitors, who would change a real broker, and who reads before anybody goes on."""
UNTRACED = frozenset(("flush",))
"""What only a broker itself can tell."""
SAYS_WHOM_IT_REFUSES = "4.9.7"
"""The line whose masters do."""
LOG_FILE = "mappedFileSizeCommitLog"
QUEUE_STORE, IN_FILES = "storeType", "default"
"""Where 5.x keeps its queues: in files, or in RocksDB."""
THEN = ".."
"""Between a node's program and the one that can take its place."""
AGENT = "+agent"
"""Ends the name of a target whose Java brokers have the agent."""


class RocketMQTarget(NamedTuple):
    """``master`` and ``slave``: which program they run: a release of RocketMQ, the path of an unpacked one, or
    ``reference``; behind ``..`` the one that can take its place."""

    master: str
    slave: str
    images: Mapping[str, str] = MappingProxyType({})
    """See :attr:`ReferenceTarget.images`."""
    brought: Given | None = None
    """The configuration under which it is to be tested."""
    has_agent: bool = False
    """Whether its Java brokers do, and tell, what only the inside can: see :mod:`pairproof.chaos.rocketmq.agent`."""

    @property
    def system(self) -> str:
        return TARGET.system

    @property
    def follows_conventions(self) -> bool:
        """It claims to do everything as RocketMQ does it."""
        return True

    @property
    def name(self) -> str:
        """The registered one if there is one (``rocketmq-VERSION``, or both programs), else ``rocketmq@...``."""
        both = dict.fromkeys((self.master, self.slave))
        if self.has_agent:
            return f"{FAMILY}@{','.join(both)}{AGENT}"
        short = "-".join(each if each == TARGET.name else f"{FAMILY}-{each}" for each in both)
        return short if short in registry.names("targets") else f"{FAMILY}@{','.join(both)}"

    @property
    def releases(self) -> Mapping[str, str]:
        """What it runs, by role, as known deviations ask for it; the reference is no version of RocketMQ."""
        return {role: _version(own) or own for role, own in self._of_roles(self._program).items()}

    @property
    def replacements(self) -> Mapping[str, str]:
        """The same of what can take their places; nothing where nothing can."""
        return {role: _version(other) or other for role, other in self._of_roles(self._other).items() if other}

    def _of_roles(self, which: Callable[[str], str]) -> dict[str, str]:
        return {role: which(role) for role in (topology.MASTER, topology.SLAVES[0])}

    def _program(self, node: str) -> str:
        return (self.slave if node in topology.SLAVES else self.master).partition(THEN)[0]

    def _other(self, node: str) -> str:
        """What can take its place; empty where nothing can."""
        return (self.slave if node in topology.SLAVES else self.master).partition(THEN)[2]

    def _programs(self, node: str) -> list[str]:
        return [each for each in (self._program(node), self._other(node)) if each]

    @property
    def model(self) -> ReferenceTarget | None:
        """What a simulation runs in its place: the reference with its known deviations. None of a pair of several."""
        if self.master != self.slave or self.replacements:
            return None
        return ReferenceTarget(stands_for=nearest(_version(self.master)))

    def runs(self, side: str) -> configuration.Program:
        """A side's programs, with the settings that any of them knows."""
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
        """Of a mixed pair each node has its own forms. The name server is the reference's: it hands out proxies."""
        return planning.plan(
            settings,
            lambda node: self.config(node, settings),
            lambda node: self._forms(node, self._program(node), settings),
            lambda node: self._forms(node, other, settings) if (other := self._other(node)) else (),
        )

    def _forms(self, node: str, program: str, settings: Args) -> tuple[object, ...]:
        if node == topology.NAMES or program == TARGET.name:
            return TARGET.forms(node, _as(program, settings))
        mounted = [*tools.tool_folders(), *([source(program).find()] if program.startswith("/") else [])]
        more = {key: value for key, value in of_side(side_of(node), settings).items() if key not in FIELDS}
        java = JavaProgram(program, TARGET.config(node, _as(program, settings)), more, self.has_agent)
        return java, Image(JRE, tuple(mounted), MEMORY_MB, self.images)

    def settings(self, schedule: Args) -> Args:
        """See :meth:`ReferenceTarget.settings`. What only the reference can be set to is what RocketMQ does anyway."""
        masters, slaves = (
            [version for each in self._programs(role) if (version := _version(each))]
            for role in (topology.MASTER, topology.SLAVES[0])
        )
        own = [*masters, *slaves]
        # What a later one knows is kept for it.
        line = max(map(nearest, masters or own), key=list(LINES).index)
        given = dict(for_version(line, schedule, OURS))
        size = given.get(LOG_FILE)
        if isinstance(size, int):
            given[LOG_FILE] = max(size, int(DEFAULTS[LOG_FILE]))
        newer = next((each for each in own if LINES[nearest(each)].counts_replicas), None)
        if newer and not given.setdefault("lab.nameServer", 1):
            raise UsageError(
                f"RocketMQ {newer} learns of its master only from a name server: leave lab.nameServer=0 out"
            )
        return TARGET.settings({**DEFAULTS, **given})

    def questions(self, node: str) -> questions.Asking:
        is_ours = all(each == TARGET.name for each in self._programs(node))
        return questions.OF_REFERENCE if is_ours else questions.OF_JAVA

    @property
    def abilities(self) -> tuple[type, ...]:
        """What operations and faults can ask of its drivers' parts."""
        return ABILITIES

    def driver(self, world: World) -> RocketMQDriver:
        from ..rocketmq.driver import RocketMQDriver

        return RocketMQDriver(self, world)

    def programs(self, settings: Args) -> Mapping[str, str]:
        told = {
            node: TARGET.programs(settings)[node] if own == TARGET.name else describing.product(source(own).find())
            for node in (topology.MASTER, topology.SLAVES[0])
            for own in (self._program(node),)
        }
        return {**told, "Java": jvm.version()}

    @property
    def digests(self) -> Mapping[str, str]:
        """Of the jars of its Java brokers, by release or folder. LabError if they are not there."""
        own = (each for role in (topology.MASTER, topology.SLAVES[0]) for each in self._programs(role))
        return {each: tools.digest(source(each).find()) for each in own if each != TARGET.name}

    def defaults(self, node: str, settings: Args) -> Mapping[str, str]:
        program = self._program(node)
        if program == TARGET.name:
            return TARGET.defaults(node, settings)
        return describing.defaults(source(program).find())

    def observes(self) -> frozenset[str]:
        """A Java broker is a black box, save for its files and what its log says."""
        masters = [version for each in self._programs(topology.MASTER) if (version := _version(each))]
        silent = {"diverged"} if any(nearest(each) != SAYS_WHOM_IT_REFUSES for each in masters) else set()
        told = agent.TELLS if self.has_agent else frozenset()
        return own_kinds() - store.KINDS - SIMULATED - (UNTRACED - told) - silent - self._hidden()

    def _hidden(self) -> frozenset[str]:
        """What the configuration that was brought keeps from view."""
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
        """Consumers are the reference's."""
        return Consumer


def _version(program: str) -> str:
    """The release that a program is; empty for the reference."""
    return "" if program == TARGET.name else source(program).version


def _as(program: str, settings: Args) -> Args:
    """The settings of one program, whose version may be another than its peer's, or its predecessor's."""
    line = nearest(_version(program) or str(settings["rocketmqVersion"]))
    left_out = () if LINES[line].counts_replicas else ("inSyncReplicas",)
    # A side's own setting has its name in front.
    kept = {key: value for key, value in settings.items() if key.rpartition(".")[2] not in left_out}
    return {**kept, "rocketmqVersion": line}


def nearest(version: str) -> str:
    """The line that a release is taken to behave like (:data:`BEHAVES`); ``-SNAPSHOT`` and the like do not count."""
    return next(line for span, line in BEHAVES.items() if versions.parse(span).holds(version.partition("-")[0]))


class Family:
    """RocketMQ by version, folder, or both programs: what stands behind ``rocketmq@``."""

    def target(self, which: str) -> RocketMQTarget:
        """UsageError, with what is valid, for anything but one or two programs."""
        both = which.removesuffix(AGENT).split(",")
        own = [each.split(THEN) for each in both]
        programs = [each for either in own for each in either]
        if len(both) > 2 or max(map(len, own)) > 2 or set(programs) == {TARGET.name}:
            raise UsageError(
                f"{FAMILY}@{which[:80]}: name one program or two, the master's first, at least one of them RocketMQ: "
                f"{FAMILY}@4.9.8, {FAMILY}@/path/to/home, {FAMILY}@reference,4.9.7; to upgrade: "
                f"{FAMILY}@4.9.7..5.5.0"
            )
        for each in programs:
            if each != TARGET.name:
                source(each)
        return RocketMQTarget(both[0], both[-1], has_agent=which.endswith(AGENT))

    def tool(self, which: str) -> RocketMQ | Home:
        return source(which)


ANY = Family()
V4, V5 = (RocketMQTarget(each, each) for each in VERSIONS)
V4_MASTER, V4_SLAVE = RocketMQTarget(VERSIONS[0], TARGET.name), RocketMQTarget(TARGET.name, VERSIONS[0])
