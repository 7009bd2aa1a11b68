"""The first code of a ``pairproof`` process, so that Ctrl-C prints no traceback while the rest is being imported."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the process's command line; return its exit code."""
    try:
        # Imported here, so that this block is already entered when an interrupt comes.
        from .main import main as run

        return run()
    except KeyboardInterrupt:
        # Not at the top: this block must be entered before any import.
        from ..errors import EXIT_INTERRUPTED

        print("pairproof: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
