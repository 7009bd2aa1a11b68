"""Ratios with confidence intervals."""

from __future__ import annotations

from math import sqrt

NORMAL_95 = 1.959964


def wilson(hits: float, of: int) -> tuple[float, float]:
    """The 95 % interval of a ratio, in percent, by Wilson. ``hits`` may be a sum of probabilities."""
    if not of:
        return 0.0, 100.0
    share, z = hits / of, NORMAL_95
    middle = share + z * z / (2 * of)
    wide = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    below, scale = 1 + z * z / of, 100.0
    return max(0.0, scale * (middle - wide) / below), min(100.0, scale * (middle + wide) / below)


def share(hits: int, of: int) -> dict[str, float]:
    """A ratio in percent with its interval."""
    low, high = wilson(hits, of)
    percent = 100 * hits / of if of else 0.0
    return {"hits": hits, "of": of, "percent": round(percent, 1), "low": round(low, 1), "high": round(high, 1)}
