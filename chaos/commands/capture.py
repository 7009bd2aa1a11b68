"""``pairproof capture``: record the replication of a running pair for ``pairproof judge``.

A tap sits between the slave and its master's HA port, and optionally between clients and the master. It forwards every
byte unchanged, sends none itself, and preserves back-pressure. docs/guide/capture.md has a full example.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...harness.commands import output
from ...harness.commands.helping import example
from ...harness.errors import LabError, UsageError

if TYPE_CHECKING:
    from ..capturing.recording import Recording
    from ..capturing.session import Change, Way
    from ..plan import Address

SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
MOST = "1G"
MAX_PORT = 65_535


EXAMPLE = """capture --listen 127.0.0.1:20912 --to 127.0.0.1:10912 \\
    --master-conf master.conf --slave-conf slave.conf --output capture"""


@click.command("capture", epilog=example(EXAMPLE))
@click.option("--listen", required=True, metavar="HOST:PORT", help="The tap's address, to which the slave connects.")
@click.option("--to", required=True, metavar="HOST:PORT", help="The master's HA port (listenPort + 1 by default).")
@click.option(
    "--output", "folder", required=True, type=click.Path(path_type=Path), help="The capture folder; must not exist."
)
@click.option("--master-conf", required=True, type=click.Path(path_type=Path), help="The master's broker.conf.")
@click.option("--slave-conf", required=True, type=click.Path(path_type=Path), help="The slave's broker.conf.")
@click.option(
    "--client", "clients", multiple=True, metavar="LISTEN=TO",
    help="A tap for producers: its address, and the master's listenPort. Repeatable.",
)  # fmt: skip
@click.option(
    "--namesrv", metavar="LISTEN=TO",
    help="A tap for the slave's name server; reports the tap as the master's HA address. RocketMQ 5 needs it.",
)  # fmt: skip
@click.option("--rocketmq", metavar="VERSION", help="The brokers' version, such as 5.3.1; laws depend on it.")
@click.option("--time", "time_text", help="How long to record, such as 90s or 10m. Default: until Ctrl-C.")
@click.option("--max-size", "size_text", default=MOST, show_default=True, help="Most bytes to record, such as 200M.")
@click.option("--connect-anywhere", "anywhere", is_flag=True, help="Allow addresses that are not on loopback.")
def command(
    listen: str, to: str, folder: Path, master_conf: Path, slave_conf: Path, clients: tuple[str, ...],
    namesrv: str | None, rocketmq: str | None, time_text: str | None, size_text: str, anywhere: bool,
) -> int:  # fmt: skip
    """Record the bytes between a running slave and its master.

    The slave must connect to the tap. When the capture ends, the slave loses its connection until its configuration is
    restored. When the folder reaches --max-size, recording stops and bytes are still forwarded.

    Exit codes: 0 recorded, 2 usage (a port is taken, the folder exists), 4 no slave was connected, or the disk is full.
    """
    from ...harness.commands.options import seconds
    from ..capturing.recording import SLAVE, Recording
    from ..capturing.session import Session, Way, resolved
    from ..observers.capture_folder import MASTER
    from ..observers.capture_version import find_version
    from ..rocketmq import configuration

    version = None if rocketmq is None else find_version(rocketmq, (), "--rocketmq").name
    configuration.check({MASTER: master_conf, SLAVE: slave_conf})
    limit, duration = _bytes(size_text), seconds(time_text) if time_text is not None else None
    ways = [Way(_address("--listen", listen), _address("--to", to)), *(_way("--client", each) for each in clients)]
    names = None if namesrv is None else _way("--namesrv", namesrv)
    change = _change(ways[0], names, version)

    async def capture() -> Recording:
        ha, *others = [await resolved(each, anywhere) for each in ways]
        to_names = None if names is None else await resolved(names, anywhere)
        recording = Recording(folder, {MASTER: master_conf, SLAVE: slave_conf}, rocketmq, limit)
        session = Session(recording, ha, others, output.echo, change, to_names)
        await session.run(lambda: _explain(ha, others, change, folder), duration)
        return recording

    return _conclude(asyncio.run(capture()), folder, listen, change)


def _change(ha: Way, names: Way | None, version: str | None) -> Change:
    """The setting to change at the slave. UsageError if a slave of this version ignores it."""
    from ..capturing.session import Change

    if names is not None:
        undo = "set its namesrvAddr to what it was, and restart it"
        return Change(f"namesrvAddr={names.listen}", undo, " (haMasterAddress must not be set)")
    needs = "RocketMQ 5 ignores haMasterAddress: it needs --namesrv LISTEN=TO"
    if version is not None and version.startswith("5.") and ha.listen.port != ha.to.port:
        raise UsageError(f"{needs}, such as 127.0.0.1:29876=127.0.0.1:9876, and namesrvAddr in the slave's file")
    undo = "remove haMasterAddress from its configuration, and restart it"
    return Change(f"haMasterAddress={ha.listen}", undo, f" ({needs})" if version is None else "")


def _explain(ha: Way, clients: list[Way], change: Change, folder: Path) -> None:
    output.echo(f"set in the slave's configuration, and restart the slave: {change.setting}")
    if ha.listen.port == ha.to.port:
        output.echo(f"or in the master's, and restart both: brokerIP2={ha.listen.host}")
    for each in clients:
        output.echo(f"let producers connect to {each.listen} in place of {each.to}")
    output.echo(f"recording to {folder} until Ctrl-C or --time; then the slave has no master: {change.undo}")


def _conclude(recording: Recording, folder: Path, listen: str, change: Change) -> int:
    if not recording.ha:
        raise LabError(
            f"no slave reached its master through {listen}, so nothing was recorded: was the slave restarted with "
            f"{change.setting}, and does its master run{change.without}? To undo the change {change.undo}. Remove "
            f"{folder} before the next try"
        )
    output.echo(f"the slave has no master now: {change.undo}")
    if not recording.is_complete:
        raise LabError(f"recording ended early: {recording.ended}; judge the recorded part: {_judge(folder)}")
    clients = f", {recording.frames:,} frames of clients" if recording.frames else ""
    left_out = f", {recording.left_out:,} connections left out" if recording.left_out else ""
    output.echo(
        f"recorded {len(recording.ha):,} connections of the slave, {recording.bytes['m2s']:,} bytes from the master, "
        f"{recording.bytes['s2m']:,} from the slave{clients}{left_out} ({recording.ended}); judge it: {_judge(folder)}"
    )
    return 0


def _judge(folder: Path) -> str:
    from shlex import quote

    return f"pairproof judge --ha-capture {quote(str(folder))}"


def _way(option: str, text: str) -> Way:
    from ..capturing.session import Way

    listen, equals, to = text.partition("=")
    if not equals:
        raise UsageError(f"{option} needs LISTEN=TO, such as 127.0.0.1:20911=127.0.0.1:10911, not {text!r}")
    return Way(_address(option, listen), _address(option, to))


def _address(option: str, text: str) -> Address:
    from ..plan import Address

    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) <= MAX_PORT:
        raise UsageError(f"{option} needs host:port, such as 127.0.0.1:20912, not {text!r}")
    return Address(host, int(port))


def _bytes(text: str) -> int:
    number, unit = (text[:-1], text[-1]) if text[-1:] in SIZES else (text, "")
    size = int(number) * SIZES.get(unit, 1) if number.isascii() and number.isdigit() else 0
    if not 0 < size <= SIZES["G"]:
        raise UsageError(f"--max-size needs at most {MOST}, such as 200M, not {text!r}")
    return size
