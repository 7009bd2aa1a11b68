"""``pairproof namesrv``: run a reference name server from a RocketMQ properties file.

Listens on listenPort (9876 unless the file says otherwise), on loopback unless ``bindAddress`` says otherwise. SIGTERM
and Ctrl-C stop it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

EXIT_USAGE = 2
EXIT_FAILED = 4


@click.command("namesrv")
@click.option("-c", "config", required=True, type=click.Path(path_type=Path), help="The name server's properties file.")
@click.pass_context
def command(context: click.Context, config: Path) -> None:
    """Run a reference name server from a RocketMQ properties file.

    Exit codes: 0 stopped by SIGTERM or Ctrl-C, 2 it cannot start, 4 it cannot go on.
    """
    # Here, so that a list of the commands needs none of this.
    from pairproof.reference.errors import BrokerError
    from pairproof.reference.shell import properties
    from pairproof.reference.shell.log import Log
    from pairproof.reference.shell.serve import BrokerFailed, serve_names
    from pairproof.reference.shell.settings import name_settings

    try:
        serve_names(name_settings(properties.read(config)), Log())
    except BrokerError as why:
        print(f"pairproof namesrv: {' '.join(str(why).split())}", file=sys.stderr)
        context.exit(EXIT_FAILED if isinstance(why, BrokerFailed) else EXIT_USAGE)


if __name__ == "__main__":
    command()
