"""``conformance.run(...).assert_holds()`` fails as the fixture ``pair`` does: with the whole story."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairproof import Law, conformance
from pairproof.harness.commands.main import main
from pairproof.harness.exploration.summary import Summary
from pairproof.harness.pair import Broken, Unsettled
from pairproof.harness.testing import toy

BUG = "reference+eager_push"
LAW = "ha-silent-until-asked"


class NoStart(Law):
    id = "no-start"
    promise = "Nothing ever starts."
    source = "ours"
    needs = frozenset({"start"})

    def begin(self) -> None: ...

    def on_start(self, event: Any) -> None:
        self.judged += 1
        self.violate(event, f"{event.node} started")


@pytest.fixture(scope="module")
def red() -> Summary:
    return conformance.run(BUG, laws=[LAW], trials=60, seed="a", first=True)


def test_a_violation_is_told_with_its_events_and_kept_where_it_can_be_replayed(
    red: Summary, tmp_path: Path, capsys: Any
) -> None:
    with pytest.raises(Broken) as raised:
        red.assert_holds(tmp_path)
    said = str(raised.value)
    assert isinstance(raised.value, AssertionError) and raised.value.no_traceback
    assert said.startswith(f"{LAW} is violated: ")
    for part in (
        "  the promise: ",
        "program",
        "events before it:\n",
        "\n> ",
        "replay: ",
        "keep it as a regression case: ",
    ):
        assert part in said, part
    (file,) = tmp_path.iterdir()
    assert file == raised.value.path and json.loads(file.read_text())["law"] == LAW
    assert main(["replay", str(file)]) == 1
    assert f"reproduced: {LAW} is violated again" in capsys.readouterr().out


def test_a_law_of_the_test_and_a_target_of_the_test_are_replayed_by_the_test(tmp_path: Path) -> None:
    with pytest.raises(Broken, match=r"(?s)no-start is violated: .*only this test has the law$") as raised:
        conformance.run("reference", laws=[NoStart], trials=1, first=True).assert_holds(tmp_path)
    assert "> " in str(raised.value) and "replay: " not in str(raised.value)
    bug = toy.TARGET.mutant("forgetful")
    with pytest.raises(Broken, match="promise-kept is violated: ") as raised:
        conformance.run(bug, toy.LAB, trials=60, seed="a", first=True).assert_holds(tmp_path)
    assert str(raised.value).endswith("only this test has the target")


def test_what_holds_is_silent_and_a_law_that_judged_nothing_is_not(tmp_path: Path) -> None:
    green = conformance.run("reference", laws=["log-prefix"], trials=1, seed="a")
    green.assert_holds(tmp_path)
    idle = green._replace(seen={"log-prefix": frozenset()})
    with pytest.raises(Unsettled, match=r"nothing is violated, but after .* log-prefix is "):
        idle.assert_holds(tmp_path)
    assert idle._replace(named=()).assert_holds(tmp_path) is None  # type: ignore[func-returns-value]
    with pytest.raises(Unsettled, match="slave"):
        green._replace(replicated=type(green.replicated)({False: 5})).assert_holds(tmp_path)
    assert list(tmp_path.iterdir()) == []
