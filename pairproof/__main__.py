"""``python -m pairproof``: the command ``pairproof``, where its script is not on the path or not installed at all."""

from __future__ import annotations

import sys

from pairproof.harness.commands.entry import main

if __name__ == "__main__":
    sys.exit(main())
