"""Which places of a stranger's package are sampled, how they are changed in memory only, and which are listed."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairproof.chaos.generic import equivalents, hook, sampling
from pairproof.harness.errors import PairproofError, UsageError

CODE = "def f(x):\n    return x + 1\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """``stuff``: a big file, a small one in a folder without ``__init__.py``, and one that has no places."""
    made = tmp_path / "stuff"
    (made / "parts").mkdir(parents=True)
    (made / "__init__.py").write_text("'''Nothing.'''\n")
    (made / "big.py").write_text("".join(f"def f{n}(x):\n    return x + {n}\n" for n in range(30)))
    (made / "parts" / "small.py").write_text(CODE)
    # A link to what is there already, and what no import reaches.
    (made / "again").symlink_to(made)
    (made / "a-script.py").write_text("1 +")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield made
    for name in [each for each in sys.modules if each.partition(".")[0] == "stuff"]:
        del sys.modules[name]


def drawn(size: int, seed: str = "s") -> list[sampling.Place]:
    return sampling.sample(sampling.sources(["stuff"]), size, seed)[0]


def test_all_modules_of_a_package_are_found_once(package: Path) -> None:
    found = sampling.sources(["stuff", "stuff.big"])
    assert [each.module for each in found] == ["stuff", "stuff.big", "stuff.parts.small"]
    assert [each.module for each in sampling.sources(["stuff.big"])] == ["stuff.big"]


def test_a_sample_is_the_same_for_one_seed_and_another_for_another(package: Path) -> None:
    assert drawn(10) == drawn(10) != drawn(10, "t")
    assert len({each.key for each in drawn(10)}) == 10


def test_each_file_has_its_share_of_a_sample(package: Path) -> None:
    sizes = Counter(each.module for each in drawn(1_000))
    assert sizes == {"stuff.big": 90, "stuff.parts.small": 3}
    for seed in "abcdefgh":
        counts = Counter(each.module for each in drawn(31, seed))
        assert counts["stuff.big"] == 30 and counts["stuff.parts.small"] == 1
    # What has less than one place in a sample is in some samples.
    small = [sum(each.module != "stuff.big" for each in drawn(10, str(seed))) for seed in range(40)]
    assert set(small) == {0, 1} and 5 < sum(small) < 25


def test_a_change_is_in_memory_only(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (place,) = (each for each in drawn(1_000) if each.module == "stuff.parts.small" and each.operator == "arithmetic")
    hook.install({place.module: hook.mutant(place.number)}, {})
    assert importlib.import_module("stuff.parts.small").f(5) == 4
    assert importlib.import_module("stuff.big").f2(5) == 7
    assert (package / "parts" / "small.py").read_text() == CODE
    assert not (package / "parts" / "__pycache__").exists() and (package / "__pycache__").exists()
    with pytest.raises(PairproofError, match=r"stuff\.big cannot be mutated"):
        hook.install({"stuff.big": hook.mutant(0)}, {})


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("nowhere", "No module named 'nowhere'; install it"),
        ("stuff.nowhere", "No module named 'stuff.nowhere'"),
        ("stuff.big.more", "install it"),
        ("stuff/big", "is not a package's name"),
        ("math", "has no Python source to change"),
        ("hollow", "has no Python source to change"),
        ("stuff.again", "nothing there can be changed"),
    ],
)
def test_a_package_that_cannot_be_changed_is_one_line(package: Path, name: str, complaint: str) -> None:
    (package.parent / "hollow").mkdir()
    for path in (package / "big.py", package / "parts" / "small.py"):
        path.write_text("'''Nothing.'''\n")
    with pytest.raises(UsageError, match=complaint) as refused:
        sampling.sample(sampling.sources([name]), 5, "s")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\0'\n", b"# coding: klingon\n"])
def test_a_file_that_python_cannot_read_is_named(package: Path, text: str | bytes) -> None:
    (package / "bad.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match=r"bad\.py.* name packages without it"):
        drawn(5)


ENTRY = """
[[equivalent]]
package = "stuff"
module = "parts.small"
function = "f"
operator = "{operator}"
line = "return x + 1"
after = "x - 1"
reason = "nobody calls it"
"""


def test_a_listed_mutant_is_found_by_its_text_and_is_stale_without_it(package: Path) -> None:
    path = package.parent / "list.toml"
    path.write_text(ENTRY.format(operator="arithmetic") + ENTRY.format(operator="number"))
    good, old = equivalents.read(path)
    found = sampling.sources(["stuff"])
    assert [each.after for each in drawn(1_000) if good.fits(each)] == ["x - 1"]
    assert equivalents.stale([good, old], found) == [old]
    # The code moves, then it changes.
    small = package / "parts" / "small.py"
    small.write_text("# moved\n\n" + CODE)
    assert equivalents.stale([good], sampling.sources(["stuff"])) == []
    small.write_text(CODE.replace("x + 1", "1 + x"))
    assert equivalents.stale([good], sampling.sources(["stuff"])) == [good]
    assert equivalents.stale([good], sampling.sources(["json"])) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("equivalent = 1", r"write each entry as a table \[\[equivalent\]\]"),
        ("[[equivalent]]\nmodule = 'x'", "entry 1 needs these keys"),
        (ENTRY.replace("nobody calls it", " "), "entry 1 gives no reason"),
        ("[[", "cannot be read"),
    ],
)
def test_a_list_that_is_none_is_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "list.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=complaint) as refused:
        equivalents.read(path)
    assert "\n" not in str(refused.value)


def test_the_reference_s_own_list_is_not_stale() -> None:
    entries = equivalents.read(None)
    found = sampling.sources(sorted({each.package for each in entries}))
    assert equivalents.stale(entries, found) == []
