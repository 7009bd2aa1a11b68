"""What runs in a node's container: ``python3 -m pairproof.chaos.labs.docker.run_node SPEC``.

SPEC is a file with a node's spec as JSON. It needs Python and this source, nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pairproof.chaos.rocketmq.node import run

if __name__ == "__main__":
    sys.exit(run(json.loads(Path(sys.argv[1]).read_text())))
