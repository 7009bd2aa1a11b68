"""Ranges of versions."""

import pytest

from pairproof.harness.errors import UsageError
from pairproof.harness.judging import versions


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("5.5.0", ("5.5.0",), ("5.5.1", "5.4.0")),
        (">=4.9.3, <5", ("4.9.3", "4.9.7", "4.10.0"), ("4.9.2", "5.0.0", "5")),
        ("4.9.3..4.9.7", ("4.9.3", "4.9.7"), ("4.9.2", "4.9.8")),
        ("<=4.9", ("4.9.0", "4.4.0"), ("4.9.1",)),
    ],
)
def test_a_range_holds_the_versions_that_it_names_by_number(
    text: str, inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    known = versions.parse(text)
    assert [known.holds(each) for each in (*inside, *outside)] == [True] * len(inside) + [False] * len(outside)


def test_what_is_no_version_is_in_no_range() -> None:
    assert not versions.parse(">=0").holds("reference")
    assert not versions.parse(">=0").holds("")


@pytest.mark.parametrize("text", ["", "five", "=>4", "4.9.", ">=4.9 <5", "..5", "1.2.3.4.5"])
def test_a_range_that_cannot_be_read_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a range of versions; valid are such as 5\.5\.0"):
        versions.parse(text)
