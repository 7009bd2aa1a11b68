"""The first code of a ``pairproof`` process: Ctrl-C while the rest is being imported is no traceback, either."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> int:
    """Run the process's own command line; its exit code."""
    try:
        # Here, so that an interrupt finds this block already entered.
        from pairproof.harness.commands.main import main as run

        return run()
    except KeyboardInterrupt:
        print("pairproof: interrupted", file=sys.stderr)
        return INTERRUPTED
