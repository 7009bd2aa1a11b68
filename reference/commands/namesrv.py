"""``pairproof reference namesrv``: run a reference name server from a RocketMQ properties file.

Listens on listenPort (9876 unless the file says otherwise), on loopback unless ``bindAddress`` says otherwise. SIGTERM
and Ctrl-C stop it. A name server connects to nobody.
"""

from pathlib import Path

import click

from .process import run


@click.command("namesrv", epilog="\b\nExample:\n  pairproof reference namesrv -c conf/namesrv.properties")
@click.option("-c", "config", required=True, type=click.Path(path_type=Path), help="The name server's properties file.")
@click.pass_context
def command(context: click.Context, config: Path) -> None:
    """Run a reference name server from a RocketMQ properties file.

    Exit codes: 0 stopped by SIGTERM or Ctrl-C, 2 it cannot start, 4 it cannot go on.
    """
    # Here, so that a list of the commands needs none of this.
    from ..shell import properties
    from ..shell.serve import serve_names
    from ..shell.settings import name_settings

    run(context, config, properties.read, lambda values, log: serve_names(name_settings(values), log))


if __name__ == "__main__":
    command()
