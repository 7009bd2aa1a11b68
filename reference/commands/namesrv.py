"""``pairproof reference namesrv``: run a reference name server from a RocketMQ properties file.

Listens on listenPort (default 9876), on loopback unless ``bindAddress`` is set. SIGTERM and Ctrl-C stop it. A name
server opens no connections.
"""

from pathlib import Path

import click

from .process import run


@click.command("namesrv", epilog="\b\nExample:\n  pairproof reference namesrv -c conf/namesrv.properties")
@click.option("-c", "config", required=True, type=click.Path(path_type=Path), help="The name server's properties file.")
@click.pass_context
def command(context: click.Context, config: Path) -> None:
    """Run a reference name server from a RocketMQ properties file.

    Exit codes: 0 stopped by SIGTERM or Ctrl-C, 2 cannot start, 4 cannot continue.
    """
    # Imported here, so that listing the commands stays fast.
    from ..shell import properties
    from ..shell.serve import serve_names
    from ..shell.settings import name_settings

    run(context, config, properties.read, lambda values, log: serve_names(name_settings(values), log))


if __name__ == "__main__":
    command()
