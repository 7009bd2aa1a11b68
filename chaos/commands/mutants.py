"""``pairproof mutants``: would we have caught it? Seeds each known bug in turn and says which law caught it, how soon."""

from __future__ import annotations
