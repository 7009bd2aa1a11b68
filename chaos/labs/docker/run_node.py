"""Runs in the container of a node that is Python of this project; started with SPEC as its argument.

SPEC is a file with a :class:`pairproof.chaos.plan.Fork` as JSON. It needs Python and this source only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ...plan import Fork, load

if __name__ == "__main__":
    what = Fork(*json.loads(Path(sys.argv[1]).read_text()))
    sys.exit(load(what.run)(what.spec))
