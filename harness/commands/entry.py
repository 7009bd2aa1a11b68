"""The first code of a ``pairproof`` process: Ctrl-C while the rest is being imported is no traceback, either."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the process's own command line; its exit code."""
    try:
        # Here, so that an interrupt finds this block already entered.
        from .main import main as run

        return run()
    except KeyboardInterrupt:
        # Not at the top: every import there comes before the block that catches interrupts.
        from ..errors import EXIT_INTERRUPTED

        print("pairproof: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
