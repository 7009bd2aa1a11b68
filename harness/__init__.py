"""The judge and the explorer: history, laws, contract, schedules, searches, runs, commands."""

from __future__ import annotations

import sys

from .renamed import Moved

sys.meta_path.append(Moved(__name__))
