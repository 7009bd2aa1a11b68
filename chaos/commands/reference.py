"""``pairproof reference``: run the reference's brokers and name servers as processes, or read a store as they do."""

import click

from ...harness.commands.helping import Group, example
from ...reference.commands import broker, namesrv
from . import inspect


@click.group("reference", cls=Group, epilog=example("reference broker -c conf/broker-a.properties"))
def command() -> None:
    """Run reference brokers and name servers, or show the records of a store's commit log."""


for each in (broker, namesrv, inspect):
    command.add_command(each.command)
