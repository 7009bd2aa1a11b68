"""Which machines a process may connect to: this one by its loopback, unless its operator allows more.

A ``broker.conf`` may come from production and name a production name server. Registering there would announce this
broker to its clients. So a broker that names another machine is refused before it touches its disk. Addresses that it
learns later, such as the master's from a name server, are checked at each connect. Host names count by what they
resolve to, and the connect goes to the address that was checked. IPv4 only, as all connections.
"""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address

from ..errors import ConfigError

OPTION = "--connect-anywhere"


class NotAllowed(OSError):
    """The address is on another machine, and connects there are not allowed."""


def check(named: Iterable[tuple[str, str]]) -> None:
    """ConfigError unless all of these settings' addresses are on loopback. ``named``: pairs of key and host:port."""
    for key, address in named:
        host = address.rpartition(":")[0]
        try:
            found = {each[4][0] for each in socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)}
        except (OSError, ValueError):
            why = "which cannot be looked up"
        else:
            if all(is_loopback(str(each)) for each in found):
                continue
            why = "which is not on loopback"
        raise ConfigError(f"{key} names {address}, {why}: give {OPTION} if this broker is to connect to it")


async def resolve(host: str, anywhere: bool) -> str:
    """The IPv4 address to connect to; NotAllowed for another machine's, OSError or ValueError if there is none."""
    try:
        found = str(IPv4Address(host))
    except AddressValueError:
        loop = asyncio.get_running_loop()
        found = str((await loop.getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_STREAM))[0][4][0])
    if not anywhere and not is_loopback(found):
        raise NotAllowed(f"it is not on loopback, and {OPTION} was not given")
    return found


def is_loopback(address: str) -> bool:
    """Whether an IPv4 address is this machine's own whatever its network: 127.0.0.0/8."""
    return IPv4Address(address).is_loopback
