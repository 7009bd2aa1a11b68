"""The interval of a proportion."""

from pairproof.harness.exploration.ratio import share, wilson


def test_the_interval_is_wilson_s() -> None:
    # Newcombe (1998), table I, method 3.
    low, high = wilson(81, 263)
    assert (round(low, 1), round(high, 1)) == (25.5, 36.6)
    assert wilson(0, 20)[0] == 0.0 and round(wilson(0, 20)[1], 1) == 16.1
    assert wilson(0, 0) == (0.0, 100.0)
    assert share(1, 2) == {"hits": 1, "of": 2, "percent": 50.0, "low": 9.5, "high": 90.5}
