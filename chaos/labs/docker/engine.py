"""The Docker engine of this machine, as needed by labs: a lab's network, its containers, and their removal.

It must be this machine's, with the same network and processes, because the harness connects to containers' addresses
and signals their processes. Both are checked: this machine must have the address of a network's gateway (when the
network is made), and a container's process must be in /proc (at each start). So an engine in a virtual machine, of
another machine or without root, with its own network, is refused.

All objects have the label ``pairproof.lab`` with the lab's folder, and names derived from it, by which the remains of a
killed harness are found.
"""

from __future__ import annotations

import hashlib
import ipaddress
import random
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

from docker.types import IPAMConfig, IPAMPool, LogConfig, Mount

from ....harness.errors import LabError
from .connection import Connection, Refused
from .containers import Bind, Container, Network

LABEL = "pairproof.lab"
VIEW = "pairproof.view"
"""Label of the maker: one boot of a machine, and one view of its files."""
FRESH_S = 120.0
"""Within this time, a lab of another view that only has a network may still be making its containers."""
GONE_S, POLL_S = 15.0, 0.02
POOLS = ("10.213.0.0/16", "198.18.0.0/16")
"""Ranges of labs' networks; the second, for measurements (RFC 2544), is for machines with a route for all of 10/8."""
ROUTES = Path("/proc/net/route")
TRIES = 20
"""Networks that the engine may refuse."""
PIDS = 256
LOG_BYTES = 8 << 20
INSTALL = "run: pairproof labs install images"


class Made(NamedTuple):
    kind: str
    name: str
    lab: Path
    remove: Callable[[Any], object]


class Engine(Connection):
    def network(self, lab: Path) -> Network:
        """A lab's network with 254 addresses that are unrouted on this machine. LabError if there is none left."""
        why: object = "routes of this machine lead to all of them"
        for subnet in list(_free_subnets())[:TRIES]:
            try:
                found = self._make_network(lab, subnet)
            except Refused as refused:
                # Its name is taken, so another address does not help.
                if refused.status == 409:
                    raise
                why = refused
                continue
            if _is_here(found.gateway):
                return found
            found.remove()
            raise LabError(
                f"networks of the Docker engine at {self.where} are not this machine's: it must be an engine with root "
                f"on this machine, not in a virtual machine or a container; set DOCKER_HOST to one"
            )
        raise LabError(f"no network for a lab in {' or '.join(POOLS)}: {why}; remove some, or: pairproof labs clean")

    def container(
        self,
        lab: Path,
        name: str,
        image: str,
        command: Sequence[str],
        *,
        network: Network,
        address: str,
        binds: Sequence[Bind],
        user: str,
        memory_mb: int,
        entrypoint: Sequence[str] | None = None,
    ) -> Container:
        """Make a container with the host name ``name`` on its network. It has no rights, and can write to binds only.
        ``user`` is "uid:gid".
        """
        full_name = f"{_name(lab)}-{name}"
        limit = f"{memory_mb}m"

        def make(client: Any) -> Any:
            host = client.create_host_config(
                cap_drop=["ALL"], security_opt=["no-new-privileges:true"], read_only=True, init=False, pids_limit=PIDS,
                mem_limit=limit, memswap_limit=limit, network_mode=network.name,
                mounts=[_mount(each) for each in binds],
                # Instead of the engine's default: readable, and limited in size.
                log_config=LogConfig(type="json-file", config={"max-size": str(LOG_BYTES), "max-file": "1"}),
            )  # fmt: skip
            endpoint = client.create_endpoint_config(aliases=[name], ipv4_address=address)
            return client.create_container(
                image, list(command), hostname=name, user=user, labels=_labels(lab), name=full_name,
                entrypoint=None if entrypoint is None else list(entrypoint), host_config=host,
                networking_config=client.create_networking_config({network.name: endpoint}),
            )  # fmt: skip

        try:
            found = self.ask(f"make container {full_name}", make)
        except Refused as why:
            raise (LabError(f"{why}; {INSTALL}") if why.status == 404 else why) from None
        return Container(self, str(found["Id"]), full_name, name, network, address)

    def clean(self, alive: Callable[[Path], bool]) -> list[str]:
        """Remove objects of labs whose folder is not ``alive``; a line for each object removed."""
        removed = []
        for lab in sorted({each.lab for each in self._made(LABEL)}):
            if alive(lab) or self._may_live(lab):
                continue
            try:
                removed += self.remove_lab(lab)
            except LabError as why:
                removed.append(f"{why}: remove what has the label {LABEL}={lab}")
        return removed

    def _may_live(self, lab: Path) -> bool:
        """Whether another view of files, in which the lab's folder is invisible here, may use it."""
        found, networks = self._containers(f"{LABEL}={lab}"), self._networks(f"{LABEL}={lab}")
        if any(each["Labels"].get(VIEW) == _view() for each in (*found, *networks)):
            return False
        if any(each["State"] in ("running", "paused") for each in found):
            return True
        return any(_age_s(each["Created"]) < FRESH_S for each in networks)

    def remove_lab(self, lab: Path) -> list[str]:
        """Remove all objects of a lab; a line for each object removed."""
        removed = []
        for each in self._made(f"{LABEL}={lab}"):
            if each.kind == "network":
                self._wait_gone(lab)
            self.remove(f"remove {each.kind} {each.name}", each.remove)
            removed.append(f"removed {each.kind} {each.name} of lab {each.lab}")
        return removed

    def _wait_gone(self, lab: Path) -> None:
        ends = time.monotonic() + GONE_S
        while self._containers(f"{LABEL}={lab}"):
            if time.monotonic() > ends:
                raise LabError(f"containers of lab {lab} are not gone after {GONE_S:g} s")
            time.sleep(POLL_S)

    def _make_network(self, lab: Path, subnet: ipaddress.IPv4Network) -> Network:
        def make(client: Any) -> Any:
            pool = IPAMConfig(pool_configs=[IPAMPool(subnet=str(subnet), gateway=str(subnet[1]))])
            return client.create_network(
                _name(lab), "bridge", ipam=pool, check_duplicate=True, internal=True, labels=_labels(lab)
            )

        return Network(self, str(self.ask(f"make network {subnet}", make)["Id"]), _name(lab), subnet)

    def _containers(self, label: str) -> list[dict[str, Any]]:
        return list(self.ask("list containers", methodcaller("containers", all=True, filters={"label": label})))

    def _networks(self, label: str) -> list[dict[str, Any]]:
        return list(self.ask("list networks", methodcaller("networks", filters={"label": label})))

    def _made(self, label: str) -> Iterator[Made]:
        """All objects with the label, networks and volumes after the containers that use them."""
        only = {"label": label}
        for each in self._containers(label):
            name = (each["Names"] or [each["Id"]])[0].lstrip("/")
            gone = methodcaller("remove_container", each["Id"], v=True, force=True)
            yield Made("container", name, Path(each["Labels"][LABEL]), gone)
        for each in self._networks(label):
            yield Made("network", each["Name"], Path(each["Labels"][LABEL]), methodcaller("remove_network", each["Id"]))
        for each in self.ask("list volumes", methodcaller("volumes", filters=only))["Volumes"] or []:
            yield Made("volume", each["Name"], Path(each["Labels"][LABEL]), methodcaller("remove_volume", each["Name"]))


def _view() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{Path('/proc/self/ns/mnt').readlink()}"


def _labels(lab: Path) -> dict[str, str]:
    return {LABEL: str(lab), VIEW: _view()}


def _age_s(created: str) -> float:
    """Age by the engine's time of a network, whose fractions have nine digits, in any zone."""
    whole, _, rest = created.partition(".")
    zone = rest.lstrip("0123456789") if rest else ""
    return time.time() - datetime.fromisoformat(whole + zone).timestamp()


def _name(lab: Path) -> str:
    """For a lab's folder: names must differ, labels need not."""
    return f"pairproof-{hashlib.sha256(str(lab).encode()).hexdigest()[:12]}"


def _mount(bind: Bind) -> Mount:
    path = str(bind.source)
    return Mount(path, path, type="bind", read_only=bind.read_only, propagation=bind.propagation)


def _is_here(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _free_subnets() -> Iterator[ipaddress.IPv4Network]:
    """Subnets without a route on this machine. Starts at a random one: concurrent labs seldom collide."""
    routes = list(_routes())
    for pool in POOLS:
        subnets = list(ipaddress.IPv4Network(pool).subnets(new_prefix=24))
        start = random.randrange(len(subnets))
        for each in subnets[start:] + subnets[:start]:
            if not any(each.overlaps(route) for route in routes):
                yield each


def _routes() -> Iterator[ipaddress.IPv4Network]:
    """All but the default routes. The kernel writes numbers in memory order: the first byte last."""
    with suppress(OSError):
        for line in ROUTES.read_text().splitlines()[1:]:
            words = line.split()
            to, mask = (int.from_bytes(bytes.fromhex(words[each]), "little") for each in (1, 7))
            if mask:
                yield ipaddress.IPv4Network((to, mask.bit_count()))
