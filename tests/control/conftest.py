"""Lets the tests of this folder import its programs: pytest's importlib mode leaves test folders off the path."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
