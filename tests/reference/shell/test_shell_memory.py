"""How much memory a broker's machine has: the least of the machine's own and of its control groups' limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pairproof.reference.shell.memory import machine_memory
from pairproof.reference.shell.settings import settings

GIB = 1 << 30


class Tree:
    """A /proc and a /sys/fs/cgroup of a test's own."""

    def __init__(self, folder: Path, membership: str) -> None:
        self.proc, self.groups = folder / "proc", folder / "cgroup"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "self/cgroup").write_text(membership)
        self.groups.mkdir()

    def limit(self, name: str, text: str) -> Tree:
        path = self.groups / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self

    def memory(self) -> int:
        return machine_memory(self.proc, self.groups, 8 * GIB)


V2 = "0::/a/b\n"
V1 = "9:name=systemd:/x\n4:cpu,memory:/a/b\n0::/\n"


@pytest.mark.parametrize(
    ("membership", "file", "text", "expected"),
    [
        (V2, "a/b/memory.max", "536870912\n", GIB // 2),
        (V2, "a/b/memory.max", "max\n", 8 * GIB),
        (V2, "a/memory.max", "536870912\n", GIB // 2),
        (V2, "memory.max", "536870912\n", GIB // 2),
        (V2, "c/memory.max", "536870912\n", 8 * GIB),
        (V2, "a/b/memory.max", f"{16 * GIB}\n", 8 * GIB),
        (V1, "memory/a/b/memory.limit_in_bytes", "536870912\n", GIB // 2),
        (V1, "memory/memory.limit_in_bytes", "536870912\n", GIB // 2),
        (V1, "memory/a/b/memory.limit_in_bytes", "9223372036854771712\n", 8 * GIB),
        ("", "memory.max", "536870912\n", 8 * GIB),
    ],
    ids=["v2", "no limit", "above", "root", "of others", "more than there is", "v1", "v1 root", "v1 none", "no groups"],
)
def test_the_limit_of_a_group_or_of_one_above_it_counts(
    tmp_path: Path, membership: str, file: str, text: str, expected: int
) -> None:
    assert Tree(tmp_path, membership).limit(file, text).memory() == expected


def test_the_least_of_several_limits_counts(tmp_path: Path) -> None:
    tree = Tree(tmp_path, V2).limit("a/b/memory.max", str(2 * GIB)).limit("a/memory.max", str(GIB))
    assert tree.limit("memory.max", str(4 * GIB)).memory() == GIB


@pytest.mark.parametrize("text", ["", "-1", "0", "1e9", "٣", "9" * 5_000, "12 34", "\0"])
def test_what_is_no_limit_limits_nothing(tmp_path: Path, text: str) -> None:
    assert Tree(tmp_path, V2).limit("a/b/memory.max", text).memory() == 8 * GIB


@pytest.mark.parametrize(
    "membership", ["0", ":::", "0::", "0::/../../etc", "4:memory:/\0\n", "\n" * 10_000, "0::/" + "a/" * 3_000]
)
def test_whatever_a_list_of_groups_says_there_is_an_answer(tmp_path: Path, membership: str) -> None:
    tree = Tree(tmp_path, membership)
    assert tree.memory() == 8 * GIB
    assert tree.limit("memory.max", "notes").memory() == 8 * GIB


@pytest.mark.parametrize("membership", ["0::/../a\n", "0::/a/../../a\n", "4:memory:/../a\n"])
@pytest.mark.parametrize("file", ["memory.max", "a/memory.max", "../a/memory.max", "memory/a/memory.limit_in_bytes"])
def test_a_group_outside_of_what_is_mounted_limits_nothing(tmp_path: Path, membership: str, file: str) -> None:
    assert Tree(tmp_path / "seen", membership).limit(file, "4096").memory() == 8 * GIB


def test_without_proc_the_machine_s_own_counts(tmp_path: Path) -> None:
    assert machine_memory(tmp_path / "none", tmp_path / "none", GIB) == GIB
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_bytes(b"\xff\xfe")
    assert machine_memory(tmp_path, tmp_path, GIB) == GIB


def test_this_machine_s_is_what_the_system_says_or_less() -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < machine_memory() <= total
    assert settings({}, {}).config.totalMemory == machine_memory()
