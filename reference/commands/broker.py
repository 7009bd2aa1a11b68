"""``pairproof reference broker``: run one reference broker, master or slave, from a RocketMQ properties file.

Listens on listenPort, the fast port two below and the HA port one above, on loopback unless ``bindAddress`` says
otherwise. SIGTERM and Ctrl-C stop it in an orderly way. Where the file has no ``namesrvAddr``, the environment's
NAMESRV_ADDR says which name servers it registers at. It connects to nothing but loopback, whatever file or name server
say, unless ``--connect-anywhere`` is given: a production file would announce it at production's name server.
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
    help="Let it connect to name servers and masters on other machines, and register there. Without it: loopback only.",
)
@click.pass_context
def command(context: click.Context, config: Path, anywhere: bool) -> None:
    """Run one reference broker from a RocketMQ properties file.

    Exit codes: 0 stopped by SIGTERM or Ctrl-C, 2 it cannot start, 4 it cannot go on, 5 it refuses its
    store, of which nothing was changed.
    """
    # Here, so that a list of the commands needs none of this.
    from ..shell import broker_file
    from ..shell.serve import serve
    from ..shell.settings import settings

    run(context, config, broker_file.values, lambda values, log: serve(settings(values, anywhere=anywhere), log))


if __name__ == "__main__":
    command()
