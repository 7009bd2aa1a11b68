"""``pairproof reference broker``: run one reference broker, master or slave, from a RocketMQ properties file.

Listens on listenPort, the fast port two below and the HA port one above, on loopback unless ``bindAddress`` is set.
SIGTERM and Ctrl-C stop it in an orderly way. Without ``namesrvAddr`` in the file it registers at the name servers of
the environment's NAMESRV_ADDR. It connects only to loopback unless ``--connect-anywhere`` is given: a production file
would announce it at production's name server.
"""

from pathlib import Path

import click

from .process import run


@click.command("broker", epilog="\b\nExample:\n  pairproof reference broker -c conf/broker-a.properties")
@click.option("-c", "config", required=True, type=click.Path(path_type=Path), help="The broker's properties file.")
@click.option(
    "--connect-anywhere",
    "anywhere",
    is_flag=True,
    help="Connect to name servers and masters on other machines, and register there. Default: loopback only.",
)
@click.pass_context
def command(context: click.Context, config: Path, anywhere: bool) -> None:
    """Run one reference broker from a RocketMQ properties file.

    Exit codes: 0 stopped by SIGTERM or Ctrl-C, 2 cannot start, 4 cannot continue, 5 refuses its store, which is
    unchanged.
    """
    # Imported here, so that listing the commands stays fast.
    from ..shell import broker_file
    from ..shell.serve import serve
    from ..shell.settings import settings

    run(context, config, broker_file.values, lambda values, log: serve(settings(values, anywhere=anywhere), log))


if __name__ == "__main__":
    command()
