"""The machines that a process may connect to: only this one, by loopback, unless its operator allows more.

A production ``broker.conf`` may name a production name server. Registering there would announce this broker to its
clients. So a broker whose file names another machine is refused before it touches its disk. Addresses that it learns
later, such as its master's, are checked at each connect. Host names are resolved first, and the connect uses the
checked address. IPv4 only.
"""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address

from ..errors import ConfigError

OPTION = "--connect-anywhere"


class NotAllowed(OSError):
    """The address is on another machine, and such connections are not allowed."""


def check(named: Iterable[tuple[str, str]]) -> None:
    """ConfigError unless all addresses are on loopback. ``named``: pairs of key and host:port."""
    for key, address in named:
        host = address.rpartition(":")[0]
        try:
            found = {each[4][0] for each in socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)}
        except (OSError, ValueError):
            why = "which cannot be resolved"
        else:
            if all(is_loopback(str(each)) for each in found):
                continue
            why = "which is not on loopback"
        raise ConfigError(f"{key} names {address}, {why}: give {OPTION} to let this broker connect to it")


async def resolve(host: str, anywhere: bool) -> str:
    """The IPv4 address to connect to; NotAllowed for another machine, OSError or ValueError without one."""
    try:
        found = str(IPv4Address(host))
    except AddressValueError:
        loop = asyncio.get_running_loop()
        found = str((await loop.getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_STREAM))[0][4][0])
    if not anywhere and not is_loopback(found):
        raise NotAllowed(f"it is not on loopback, and {OPTION} was not given")
    return found


def is_loopback(address: str) -> bool:
    """Whether an IPv4 address is in 127.0.0.0/8."""
    return IPv4Address(address).is_loopback
