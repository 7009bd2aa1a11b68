"""Runs one node of compose.yaml in its container: ``node.py NAME [CLIENT-LINK=ADDRESS ...]``.

A broker or name server of the reference, from its file in ``pair/``, which also runs it on loopback. In a container
four settings differ: it listens on every address, has its store in a volume, reaches the name server through its own
proxy, and registers as 127.0.0.1, where its proxy is published for outside clients.

The name server gives each asker the addresses of that asker's own proxies, by ``toxiproxy.json``: slaves are led to
toxiproxy, clients to the addresses given here, or to the registered ones. The port identifies the asker, so RocketMQ's
own brokers and clients work here unchanged.

Exit status: 0 stopped by SIGTERM, 2 it cannot start, 4 it cannot continue. Left out: traces, mutants (the process lab's
node has them). Sources: BrokerStartup, NamesrvStartup.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pairproof.harness.rocketmq import topology
from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.core.requests import Request
from pairproof.reference.errors import EXIT_FAILED, EXIT_USAGE, BrokerError, exit_code
from pairproof.reference.ports import Conn, Effects
from pairproof.reference.shell import properties
from pairproof.reference.shell.disk import RealDisk
from pairproof.reference.shell.log import Log
from pairproof.reference.shell.serve import BrokerFailed, Classes, Process, run, serve
from pairproof.reference.shell.settings import name_settings, settings
from pairproof.reference.shell.shell import Limits, Shell
from pairproof.reference.shell.sockets import Connection

HERE = Path(__file__).resolve().parent
TOXIPROXY = "toxiproxy"
EVERYWHERE = "0.0.0.0"
REGISTERED = "127.0.0.1"
STORE = "/store"
CLIENT = "client"
CLIENT_PROXIES = tuple(each for each in topology.LINKS if each.startswith(f"{CLIENT}-"))


class Proxy(NamedTuple):
    """A proxy of toxiproxy.json: its listening port, and the node and port that it leads to."""

    listen: int
    node: str
    port: int


class BehindProxies(Shell):
    """Every connection comes from toxiproxy, so addresses do not distinguish peers."""

    def peer(self, conn: Connection) -> Hashable:
        """The connection itself: a master counts each as a separate slave."""
        return conn


def proxies() -> dict[str, Proxy]:
    """The proxies of toxiproxy.json, by name."""
    found = {}
    for each in json.loads((HERE / "toxiproxy.json").read_text()):
        node, _, port = each["upstream"].rpartition(":")
        found[each["name"]] = Proxy(int(each["listen"].rpartition(":")[2]), node, int(port))
    return found


def ports_by_asker(found: Mapping[str, Proxy]) -> dict[str, int]:
    """The name server's ports by asker."""
    askers = {CLIENT: topology.NAMES_CLIENT, **{node: f"names-{node}" for node in topology.PROCESSES}}
    return {asker: found[link].port for asker, link in askers.items() if link in found}


def views(found: Mapping[str, Proxy], clients: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """By asker: registered addresses and their replacements. ``clients``: the clients' addresses by link."""
    seen = {CLIENT: {f"{REGISTERED}:{found[link].port}": address for link, address in clients.items()}}
    for slave, *links in zip(topology.SLAVES, topology.META_LINKS, topology.HA_LINKS, strict=True):
        # A slave derives the fast port from the main port.
        seen[slave] = {f"{REGISTERED}:{found[link].port}": f"{TOXIPROXY}:{found[link].listen}" for link in links}
    return seen


def broker_settings(name: str, found: Mapping[str, Proxy]) -> dict[str, str]:
    """The broker's file with the container's own values."""
    return {
        **properties.read(HERE / "pair" / f"{name}.conf"),
        "bindAddress": EVERYWHERE,
        "brokerIP1": REGISTERED,
        "namesrvAddr": f"{TOXIPROXY}:{found[f'names-{name}'].listen}",
        "storePathRootDir": STORE,
    }


def run_broker(name: str) -> None:
    """Run until a signal; errors as for ``serve``."""
    serve(settings(broker_settings(name, proxies()), anywhere=True), Log(), Classes(shell=BehindProxies))


def run_names(clients: Mapping[str, str]) -> None:
    """Run until a signal; errors as for ``serve``."""
    found = proxies()
    ports = ports_by_asker(found)
    given = name_settings(properties.read(HERE / "pair" / f"{topology.NAMES}.conf"))
    nowhere = Path("/nonexistent")
    run(
        Process(
            disk=RealDisk(nowhere, nowhere),
            bind=EVERYWHERE,
            ports=[(port, asker) for asker, port in ports.items()],
            limits=Limits(idle_s=given.idle_s),
            build=partial(HandsOutProxies, views(found, clients)),
            started=lambda: f"name server listens on {EVERYWHERE}, a port for each asker: {ports}",
            stopped=lambda: "stopped",
            ignored=given.ignored,
        ),
        Log(),
    )


class HandsOutProxies(NameServer):
    """Answers by ``views``: by asker, registered addresses and their replacements. Others get the registered ones."""

    def __init__(self, views: Mapping[str, Mapping[str, str]], io: Effects) -> None:
        super().__init__(io)
        self.views = views
        self._askers: dict[Conn, str] = {}

    def on_accepted(self, conn: Conn, port: str) -> None:
        self._askers[conn] = port
        super().on_accepted(conn, port)

    def on_closed(self, conn: Conn) -> None:
        self._askers.pop(conn, None)
        super().on_closed(conn)

    def _answer(self, request: Request, values: Mapping[str, Any] | None = None, body: bytes = b"") -> None:
        view = self.views.get(self._askers.get(request.conn, ""), {})
        told = {key: view.get(str(value), value) for key, value in (values or {}).items()}
        # In JSON an address is a whole string.
        for real, proxied in view.items():
            body = body.replace(f'"{real}"'.encode(), f'"{proxied}"'.encode())
        super()._answer(request, told, body)


def program(arguments: list[str]) -> Callable[[], None] | str:
    """The action for these arguments, or one line with their error."""
    name, *rest = arguments or [""]
    clients = dict(each.split("=", 1) for each in rest if "=" in each)
    if name not in topology.PROCESSES:
        return f"there is no node {name!r}: give one of {', '.join(topology.PROCESSES)}"
    if name != topology.NAMES:
        return (lambda: run_broker(name)) if not rest else f"a broker takes no more arguments, such as {rest[0]!r}"
    for each in rest:
        link, _, address = each.partition("=")
        if link not in CLIENT_PROXIES or ":" not in address:
            return f"{each!r} is not LINK=HOST:PORT with one of {', '.join(CLIENT_PROXIES)}"
    return lambda: run_names(clients)


def main(arguments: list[str]) -> int:
    """Run the node; returns the exit status."""
    chosen = program(arguments)
    if isinstance(chosen, str):
        print(f"node.py: {chosen}", file=sys.stderr)
        return EXIT_USAGE
    try:
        chosen()
    except BrokerError as why:
        print(f"node.py: {' '.join(str(why).split())}", file=sys.stderr)
        return EXIT_FAILED if isinstance(why, BrokerFailed) else exit_code(why)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
