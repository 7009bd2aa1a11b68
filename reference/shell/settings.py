"""A broker's properties file for the shell and the broker.

The broker gets its keys. The shell uses the paths, the idle time and our ``bindAddress``: RocketMQ listens on every
address, we on loopback by default. All other keys are listed, not refused: a RocketMQ file works unchanged, and a
mistyped key is visible. A master's ``brokerId`` is always 0, as in RocketMQ.

By default the name servers are those of the environment's NAMESRV_ADDR, as in RocketMQ, and ``totalMemory`` is the
memory of the machine or container. The default of ``brokerIP1``, the address for other nodes, is 127.0.0.1; RocketMQ's
is an address of the machine. Source: BrokerStartup, BrokerConfig, MixAll.properties2Object, MessageStoreConfig,
NettyServerConfig.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

from ..core.config import BrokerConfig
from ..core.retention import hours_of
from ..errors import ConfigError
from . import catalogue
from .memory import machine_memory
from .properties import MAX_SHOWN, plain

OWN = {"storePathRootDir": "", "storePathCommitLog": "", "bindAddress": "127.0.0.1"}
IDLE = "serverChannelMaxIdleTimeSeconds"
IDLE_S = 120
NAMESRV_ADDR = "NAMESRV_ADDR"
MAX_NAMED = 20
_ADDRESS = re.compile(r"[^\s:]+:([0-9]{1,5})")


class Settings(NamedTuple):
    config: BrokerConfig
    root: Path
    commit_log: Path
    bind: str
    idle_s: int
    ignored: tuple[str, ...]
    connects: tuple[tuple[str, str], ...] = ()
    """Keys, and the addresses that they make this broker connect to."""
    anywhere: bool = False

    @property
    def ports(self) -> list[tuple[int, str]]:
        """Port numbers and their names: ``fast`` is ``main`` without pulls."""
        main = self.config.listenPort
        return [(main, "main"), (main - 2, "fast"), (self.config.ha_port, "ha")]


def settings(values: dict[str, str], environment: Mapping[str, str] = os.environ, anywhere: bool = False) -> Settings:
    """Settings from a file's keys and values; ConfigError, one line with the key, for invalid ones.

    Host names are not resolved here: without ``anywhere`` that happens before the broker starts.
    """
    acted_on = {each.name for each in fields(BrokerConfig)}
    known = {*acted_on, *OWN, IDLE}
    given = {
        "namesrvAddr": environment.get(NAMESRV_ADDR, ""),
        "totalMemory": str(machine_memory()),
        **{key: value for key, value in values.items() if key in acted_on},
    }
    if given.get("brokerRole") != "SLAVE":
        given.pop("brokerId", None)
    config = BrokerConfig.from_properties(given)
    if not 3 <= config.listenPort <= 65_534:
        raise ConfigError(f"listenPort must be from 3 to 65534, since two below and one above are used, too: not "
                          f"{config.listenPort}")  # fmt: skip
    if config.ha_port > 65_535:
        raise ConfigError(f"haListenPort must be at most 65535, not {config.ha_port}")
    hours_of(config.deleteWhen)
    names_key = "namesrvAddr" if "namesrvAddr" in values else NAMESRV_ADDR
    connects = [(names_key, each) for each in config.name_servers]
    if config.haMasterAddress:
        connects.append(("haMasterAddress", config.haMasterAddress))
    for key, address in connects:
        _check_address(key, address)
    own = {key: values.get(key) or default for key, default in OWN.items()}
    for key in ("storePathRootDir", "storePathCommitLog"):
        _check_path(key, own[key])
    root = Path(own["storePathRootDir"] or Path.home() / "store")
    return Settings(
        config=config,
        root=root,
        commit_log=Path(own["storePathCommitLog"] or root / "commitlog"),
        bind=_ipv4(own["bindAddress"]),
        idle_s=_seconds(values.get(IDLE, str(IDLE_S))),
        ignored=tuple(sorted(values.keys() - known)),
        connects=tuple(connects),
        anywhere=anywhere,
    )


class NameSettings(NamedTuple):
    port: int
    bind: str
    idle_s: int
    ignored: tuple[str, ...]


NAMES_PORT = 9_876


def name_settings(values: dict[str, str]) -> NameSettings:
    """A name server's settings from a file's keys and values; ConfigError as :func:`settings`."""
    if values and values.keys().isdisjoint({*catalogue.names(), *catalogue.settings(), *OWN}):
        first = plain(next(iter(values)), MAX_SHOWN)
        raise ConfigError(f"none of the {len(values)} keys in this file is a name server's setting (first: {first!r}): "
                          "give a name server's properties file")  # fmt: skip
    port = values.get("listenPort", str(NAMES_PORT))
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65_535:
        raise ConfigError(f"listenPort must be from 1 to 65535, not {port!r}")
    bind = _ipv4(values.get("bindAddress") or OWN["bindAddress"])
    ignored = tuple(sorted(values.keys() - {"listenPort", "bindAddress", IDLE}))
    return NameSettings(int(port), bind, _seconds(values.get(IDLE, str(IDLE_S))), ignored)


def describe_ignored(ignored: tuple[str, ...]) -> str:
    """The ignored keys in one line: RocketMQ's, and unknown ones with suggestions."""
    real = [key for key in ignored if key in catalogue.settings() or key in catalogue.names()]
    known = [*(each.name for each in fields(BrokerConfig)), *OWN, IDLE]
    unreal = []
    for key in ignored:
        if key not in real:
            meant = catalogue.close(key, known)
            unreal.append(f"{plain(key, MAX_SHOWN)}{f' (did you mean {meant}?)' if meant else ''}")
    groups = {"nothing here acts on these settings": real, "RocketMQ has no such settings": unreal}
    return "; ".join(f"{what}: {_some(keys)}" for what, keys in groups.items() if keys)


def _some(keys: list[str]) -> str:
    more = f" and {len(keys) - MAX_NAMED} more" if len(keys) > MAX_NAMED else ""
    return f"{', '.join(keys[:MAX_NAMED])}{more}"


def _check_path(key: str, text: str) -> None:
    try:
        os.fsencode(text)
        possible = "\0" not in text
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ConfigError(f"{key} must be a folder's path, without NUL characters and surrogates, not {text[:60]!r}")


def _check_address(key: str, address: str) -> None:
    match = _ADDRESS.fullmatch(address)
    if match is None or not 1 <= int(match[1]) <= 65_535:
        several = "" if key == "haMasterAddress" else ", several with ; in between"
        raise ConfigError(f"{key} must be host:port{several}, not {address!r}")


def _ipv4(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except ValueError:
        raise ConfigError(f"bindAddress must be an IPv4 address, not {text!r}") from None


def _seconds(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise ConfigError(f"{IDLE} must be a positive number of seconds, not {text!r}")
    return int(text)
