"""RocketMQ's nodes as programs: the reference's, which the lab forks, and real brokers, a JVM each.

A node receives the addresses of the links that it dials, so all its connections go through proxies.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType

from ...harness.errors import LabError
from ...harness.rocketmq import topology
from ...harness.trials.schedule import Args, as_text
from ...reference.core.config import BrokerConfig
from ...reference.errors import EXIT_REFUSED, EXIT_USAGE
from ..labs.real.child import EXIT_LOST
from ..labs.real.control import HOOKS
from ..labs.real.trace import TraceReader
from ..plan import OUTSIDE, Cause, Command, Fork, Net, Place, Program, Status, View
from . import jvm, setters, settings
from .agent import tool as agent
from .install import NAMES_JAR, source
from .outside.view import OutsideView
from .traced import KINDS

EXIT_BUG, EXIT_LAB = 1, 3
"""Exit status of a reference node: its own code raised; the lab failed."""
RUN = "pairproof.chaos.rocketmq.node:run"
MEMORY = "totalMemory"
_DEFAULTS = asdict(BrokerConfig())


def placed(name: str, config: BrokerConfig, net: Net) -> BrokerConfig:
    """A broker's configuration with its own addresses in a lab, and those that it dials."""
    host, port = net.address(name)
    second = host if config.brokerIP2 == config.brokerIP1 else config.brokerIP2
    ha = port + config.haListenPort - config.listenPort if config.haListenPort else 0
    found = replace(config, listenPort=port, brokerIP1=host, brokerIP2=second, haListenPort=ha)
    if name not in topology.SLAVES:
        found = replace(found, haMasterAddress="")
    elif found.haMasterAddress:
        link = topology.HA_LINKS[topology.SLAVES.index(name)]
        found = replace(found, haMasterAddress=str(net.dials(link)))
    if found.namesrvAddr:
        found = replace(found, namesrvAddr=str(net.dials(f"names-{name}")))
    return found


def gives_memory(name: str, settings: Args) -> bool:
    """Whether a trial sets a broker machine's memory; otherwise the broker reads its real machine's."""
    return MEMORY in settings or (name in topology.SLAVES and bool(settings.get("lab.slaveMemory")))


def shown(config: BrokerConfig, memory_given: bool) -> dict[str, object]:
    """The known settings of a broker: its machine's memory only if the trial sets it."""
    return {key: value for key, value in asdict(config).items() if key != MEMORY or memory_given}


class ReferenceProgram(Program):
    """A node of the reference, or of a mutant: traced, with a disk and a clock that obey the lab."""

    hooks = frozenset(HOOKS)
    tells = frozenset(KINDS)

    more: Args = MappingProxyType({})

    def __init__(self, target: str, config: BrokerConfig | None = None, memory_given: bool = False) -> None:
        """``target``: its name. ``config``: a broker's; None for a name server."""
        self.target = target
        self.config = config
        self.memory_given = memory_given

    def start(self, at: Place) -> Fork:
        conf = at.folder / f"{at.name}.conf"
        conf.write_text("".join(f"{key}={value}\n" for key, value in self._properties(at).items()))
        spec = {
            "program": "names" if self.config is None else "broker", "target": self.target, "node": at.name,
            "conf": str(conf), "trace": str(_trace(at)), "anywhere": at.anywhere,
        }  # fmt: skip
        if at.control is not None:
            spec["control"] = str(at.control)
        return Fork(RUN, spec)

    def view(self, at: Place) -> View:
        return TraceReader(_trace(at), KINDS)

    def cause(self, at: Place, status: Status) -> Cause:
        if status.state == "killed":
            return Cause.LAB if status.number in OUTSIDE else self.own_or_disk(at)
        if status.number == EXIT_REFUSED:
            return Cause.REFUSED
        if status.number in (EXIT_USAGE, EXIT_LAB, EXIT_LOST):
            return Cause.LAB
        return Cause.OWN if status.number == EXIT_BUG else self.own_or_disk(at)

    def is_bug(self, status: Status) -> bool:
        return status == Status("exited", EXIT_BUG)

    def has_stopped(self, at: Place, status: Status) -> bool:
        # Its exit status also shows whether its final writes succeeded.
        return status == self.orderly

    def _properties(self, at: Place) -> Mapping[str, object]:
        if self.config is None:
            return {"bindAddress": at.bind, "listenPort": at.address(at.name).port}
        config = placed(at.name, self.config, at)
        known = asdict(config).items()
        given = {key: value for key, value in known if value != _DEFAULTS[key] or (key == MEMORY and self.memory_given)}
        told = {key: as_text(value) for key, value in given.items()}
        return {**told, "listenPort": config.listenPort, "bindAddress": at.bind, "storePathRootDir": at.path}


class JavaProcess(Program):
    """A JVM with a program of RocketMQ."""

    ready_s = 120
    orderly = Status("exited", jvm.SIGTERM_EXIT)
    main: str

    def __init__(self, which: str) -> None:
        """``which``: a release, or the folder of an unpacked one."""
        self.which = which

    def is_ready(self, at: Place) -> bool:
        return jvm.READY in at.printed()

    def _command(self, at: Place, properties: Mapping[str, object], flags: Sequence[str] = ()) -> Command:
        """Write its file; returns the JVM to run."""
        conf, jars = at.folder / f"{at.name}.conf", source(self.which).find()
        conf.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        command = jvm.command(self.main, jars, at.folder / f"{at.name}-home", conf, flags)
        return Command(command, jvm.environment(os.environ))


class JavaNameServer(JavaProcess):
    """A name server of RocketMQ; a black box."""

    main = jvm.NAME_SERVER

    def start(self, at: Place) -> Command:
        if not any(source(self.which).find().glob(f"{NAMES_JAR}-*.jar")):
            raise LabError(
                f"there is no name server in the jars of RocketMQ {self.which}, as Maven's repository lacks it; unpack "
                f"that release's binary distribution, or name another release's: rocketmq@MASTER,SLAVE,4.9.7"
            )
        return self._command(at, {"listenPort": at.address(at.name).port, "bindAddress": at.bind})


class JavaProgram(JavaProcess):
    """A broker of RocketMQ, a JVM. Only its output and its files are observable.

    With the agent its flushes and its dispatch obey the lab, and it traces its log's flushes.
    """

    main = jvm.BROKER
    memory_given = False
    """A JVM always reads its machine's memory size."""

    def __init__(
        self, which: str, config: BrokerConfig, more: Args = MappingProxyType({}), has_agent: bool = False
    ) -> None:
        """``more``: settings that ``config`` does not have."""
        super().__init__(which)
        self.has_agent = has_agent
        if has_agent:
            self.hooks, self.tells = agent.HOOKS, agent.TELLS
        self.more = more
        self.config = config

    def start(self, at: Place) -> Command:
        paths = {"storePathRootDir": at.path, "storePathCommitLog": at.path / "commitlog", "bindAddress": at.bind}
        known = setters.known(source(self.which).find())
        properties = settings.properties(known, placed(at.name, self.config, at), {**paths, **self.more})
        flags = agent.flags(at.control, _trace(at)) if self.has_agent and at.control is not None else []
        return self._command(at, properties, flags)

    def view(self, at: Place) -> View:
        inside = TraceReader(_trace(at), KINDS) if self.has_agent else None
        return OutsideView(at, lambda: self.is_ready(at), self.config.brokerRole == "SLAVE", inside)


def _trace(at: Place) -> Path:
    """A file per incarnation."""
    return at.folder / f"{at.name}-{at.incarnation}.jsonl"
