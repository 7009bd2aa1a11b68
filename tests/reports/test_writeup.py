"""A finding that is written up: what a maintainer needs is there, nothing is invented, and no text becomes markup."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.rocketmq import describing
from pairproof.harness.commands.main import main
from pairproof.harness.errors import LabError
from pairproof.harness.history import MS, kinds
from pairproof.harness.ports import Target
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.testing import toy
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.trial import Finding
from pairproof.harness.writeup import blocks, node_logs, wire
from pairproof.harness.writeup.blocks import Folded, Section, Steps, Table, Text, Verbatim, WriteUp
from pairproof.reports.writeup import MARKDOWN, PAGE, as_markdown, as_page

MUTANT, LAW = "reference+believes_first_report", "ack-replicated"
PROGRAM = (
    Op("fault", {"name": "power_loss", "node": "master", "keep": "none"}),
    Op("heal", {"name": "power_loss"}),
    Op("advance", {"ms": 20_000}),
)
ROGUE = "<script>alert(1)</script>|`</details>[x](http://evil)&amp;"
VOID = {"meta", "link", "br", "img"}
BEGAN_MS = 1_700_000_000_000


class Page(HTMLParser):
    """Refuses tags that do not nest; collects tags and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def finding(
    folder: Path, target: str = MUTANT, law: str = LAW, ops: tuple[Op, ...] = PROGRAM, lab: str = "sim"
) -> Path:
    known = Finding(law, "it was seen", target, lab, 0, 0, Schedule({}, "seed", ops), len(ops))
    with RunWriter(folder / "run", {}) as writer:
        return writer.finding(known)


def written(capsys: Any, path: Path, to: Path, *more: str) -> tuple[int, str, str]:
    """Exit code, the Markdown, and the text of the page."""
    code = main(["replay", str(path), "--write-report", str(to), *more])
    capsys.readouterr()
    return code, (to / MARKDOWN).read_text("utf-8"), Page((to / PAGE).read_text("utf-8")).text


def plain(markdown: str) -> str:
    return re.sub(r"\\(.)", r"\1", markdown)


def test_a_finding_is_written_up_with_all_that_a_maintainer_asks_for(capsys: Any, tmp_path: Path) -> None:
    code, markdown, page = written(capsys, finding(tmp_path), tmp_path / "out")
    assert code == 1
    for text in (plain(markdown), page):
        for fact in (
            f"(law {LAW}) in 1 of 1 execution",
            "no slave had reported its end",
            "model of RocketMQ 4.9.7",
            "a simulation in virtual time",
            "brokerRole", "SYNC_MASTER", "ASYNC_MASTER",
            "The file of the master sets", "more keys, each to its default",
            "A broker's machine loses power", "20,000 ms pass.",
            "answered PUT_OK",
            "a report of offset 230 reached the master",
            "no slave held it then",
            "nodes do not write logs",
            "not there",
            "ha-ack-identity",
            "pairproof replay finding.json --target reference+believes_first_report --lab sim",
        ):  # fmt: skip
            assert fact in text, fact
    order = [int(number) for number in re.findall(r"^## (\d+)\.", markdown, re.MULTILINE)]
    assert order == list(range(1, 11))


def test_the_program_beside_the_page_is_a_finding_that_replays(capsys: Any, tmp_path: Path) -> None:
    written(capsys, finding(tmp_path), tmp_path / "out")
    text = (tmp_path / "out" / "finding.json").read_text()
    assert str(tmp_path) not in text
    assert main(["replay", str(tmp_path / "out" / "finding.json")]) == 1


def test_what_does_not_reproduce_is_written_up_as_not_reproduced(capsys: Any, tmp_path: Path) -> None:
    code, markdown, page = written(capsys, finding(tmp_path), tmp_path / "out", "--target", "reference")
    assert code == 0
    for text in (plain(markdown), page):
        assert "Not reproduced: it was seen" in text
        assert "In 0 of 1 execution" in text
        assert "there is no moment to show" in text


def test_a_folder_that_holds_something_is_left_alone_before_anything_is_played(capsys: Any, tmp_path: Path) -> None:
    path, out = finding(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("")
    assert main(["replay", str(path), "--write-report", str(out)]) == 2
    assert "is not an empty folder; name a new one with --write-report" in capsys.readouterr().err
    assert [each.name for each in out.iterdir()] == ["mine"]


def test_a_lab_that_failed_has_nothing_to_write_up(capsys: Any, tmp_path: Path) -> None:
    assert main(["replay", str(finding(tmp_path, law="")), "--write-report", str(tmp_path / "out")]) == 2
    assert "no law was violated" in capsys.readouterr().err


def test_no_text_becomes_markup() -> None:
    table = Table(("what",), [(ROGUE,)], 0)
    parts = [Text(ROGUE), Steps([ROGUE]), table, Verbatim([ROGUE, "```", "</pre>"]), Folded(ROGUE, table)]
    whole = WriteUp(ROGUE, ROGUE, [Section(ROGUE, parts)])
    page = Page(as_page(whole)[1])
    assert "script" not in page.tags
    assert page.text.count(ROGUE) >= len(parts) + 2
    markdown = as_markdown(whole)[1]
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    assert "\n```\n" in markdown and "````text" in markdown
    assert "<script" not in re.sub(r"\\.", "", outside)
    # Escaped ones begin with a backslash, and end with one before their ">".
    assert outside.count("</details>") == 1


def test_a_message_with_a_hostile_key_stays_text_in_the_conversation() -> None:
    system = resolve.system("rocketmq")
    columns = {"node": "master", "process": 0, "op": 1, "f": "send", "message": ROGUE}
    asked = kinds()["invoke"](0, 0, "invoke", **columns)  # type: ignore[arg-type]
    told = kinds()["ok"](1, MS, "ok", **columns, status="PUT_OK")  # type: ignore[arg-type]
    table = wire.conversation([asked, told], system, 1)
    assert table is not None and table.here == 1
    page = Page(as_page(WriteUp("t", "c", [Section("wire", [table])]))[1])
    assert "script" not in page.tags and ROGUE in page.text


def test_sentences_that_repeat_are_counted() -> None:
    beats = [line for number in range(17) for line in ((number, "a heartbeat left"), (number, "a heartbeat arrived"))]
    found = wire.folded([*beats, (20, "an answer")], 40)
    assert [text for _, text in found] == [
        "a heartbeat left", "a heartbeat arrived", "(16 more: a heartbeat left; 16 more: a heartbeat arrived)",
        "an answer",
    ]  # fmt: skip


@pytest.mark.parametrize(("last", "kept"), [(True, ["9"]), (False, ["0"])])
def test_a_long_conversation_is_cut_on_the_far_side(last: bool, kept: list[str]) -> None:
    found = [text for _, text in wire.folded([(each, str(each)) for each in range(10)], 1, last)]
    assert [text for text in found if not text.startswith("(")] == kept
    assert "(9 lines left out)" in found


def test_what_is_still_wrong_and_was_heard_last_is_told_however_long_ago() -> None:
    known = kinds()
    rows: list[tuple[str, float, dict[str, object]]] = [
        ("connect", 0, {"link": "ha:1", "side": "m", "node": "slave", "f": "slave"}),
        ("report", 1, {"link": "ha:1", "side": "m", "node": "master", "hi": 7}),
        ("report", 2, {"link": "ha:1", "side": "m", "node": "master", "hi": 9}),
        ("report", 3, {"link": "ha:1", "side": "m", "node": "master", "hi": 11}),
        ("fault", 4, {"link": "ha", "f": "stall", "status": "on", "op": 0}),
        ("fault", 5, {"link": "ha", "f": "reset", "status": "on", "op": 1}),
        ("fault", 6, {"link": "ha", "f": "reset", "status": "off", "op": 1}),
        ("frame", 9_000, {"link": "ha:1", "side": "m", "node": "master", "lo": 11, "hi": 11}),
    ]
    events = [known[kind](seq, int(t * MS), kind, **columns) for seq, (kind, t, columns) in enumerate(rows)]  # type: ignore[arg-type]
    table = wire.conversation(events, resolve.system("rocketmq"), 7)
    assert table is not None and table.here == 4
    told = [row[1] for row in table.rows]
    assert ["opened" in told[0], "offset 7" in told[1], "offset 11" in told[2], "stall" in told[3]] == [True] * 4


# Logs.

LOG = """2023-11-15 06:13:20,100 WARN A starts
2023-11-15 06:13:24,000 ERROR B Error occurred when force data to disk.
java.io.IOException: Read-only file system
\tat 1
\tat 2
\tat 3
\tat 4
2023-11-15 06:14:00,000 WARN C later"""
"""Eight hours ahead of UTC, in which the trial began at 2023-11-14 22:13:20."""


def test_lines_of_the_second_are_found_in_whatever_time_zone_a_node_writes() -> None:
    found = node_logs.around(LOG, BEGAN_MS, 3_500)
    assert found.lines[0].endswith("Error occurred when force data to disk.")
    assert found.lines[1] == "java.io.IOException: Read-only file system"
    assert found.lines[-1] == "    (1 more lines)"
    assert len(found.lines) == 2 + node_logs.MAX_FRAMES


def test_a_silent_second_is_said_to_be_silent() -> None:
    found = node_logs.around(LOG, BEGAN_MS, 20_000)
    assert "nothing within a second" in found.remark
    assert "Error occurred" in found.lines[0]


def test_a_log_whose_beginning_was_cut_off_does_not_pass_for_a_silent_one() -> None:
    found = node_logs.around(LOG.partition("\n")[2], BEGAN_MS, 10)
    assert (list(found.lines), "not kept" in found.remark) == ([], True)


@pytest.mark.parametrize(("text", "remark"), [("", "It wrote nothing."), ("x\ny", "no dates")])
def test_a_log_that_cannot_be_dated_says_so(text: str, remark: str) -> None:
    assert remark in node_logs.around(text, BEGAN_MS, 0).remark


# This machine.


def test_paths_names_and_addresses_of_this_machine_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "builder7.example")
    blocks._names.cache_clear()
    try:
        told = blocks.private("/opt/x/store/commitlog on builder7 at 10.1.2.3:109 and /127.0.0.1:10911, T/0, 5.5.0")
    finally:
        blocks._names.cache_clear()
    assert told == "…/commitlog on HOST at ADDRESS:109 and /127.0.0.1:10911, T/0, 5.5.0"


# Other systems and labs.


class TalkingLab:
    """The toy's, in real time as far as anybody is told; its nodes write logs and are given files."""

    name = "talking"
    deterministic = False

    def __init__(self) -> None:
        self.opened = 0
        self.fails_at = 0

    def observes(self, target: Target) -> frozenset[str]:
        return toy.LAB.observes(target)

    def open(self, target: Target, settings: Args, seed: str) -> Any:
        self.opened += 1
        if self.opened == self.fails_at:
            raise LabError("the bench broke")
        return Talking(target, settings)  # type: ignore[arg-type]


class Talking(toy.ToySession):
    def logs(self) -> Mapping[str, str]:
        return {"master": "2023-11-14 22:13:20,000 hello from the master"}

    def configurations(self) -> Mapping[str, str]:
        return {"master": "flush=async\n"}


@pytest.fixture
def talking(monkeypatch: pytest.MonkeyPatch) -> TalkingLab:
    lab, labs, targets = TalkingLab(), resolve.lab, resolve.target
    broken = toy.TARGET.mutant("forgetful")
    monkeypatch.setattr(resolve, "lab", lambda name: lab if name == "talking" else labs(name))
    monkeypatch.setattr(resolve, "target", lambda name: broken if name == broken.name else targets(name))
    return lab


def toys_finding(folder: Path) -> Path:
    ops = (
        Op("write", {"client": 0, "copies": 0}),
        Op("advance", {"ms": 50}),
        Op("fault", {"name": "kill", "node": "master"}),
    )
    return finding(folder, "toy+forgetful", "promise-kept", ops, "talking")


def test_a_system_without_a_catalogue_gets_the_neutral_parts(capsys: Any, tmp_path: Path, talking: TalkingLab) -> None:
    code, markdown, page = written(capsys, toys_finding(tmp_path), tmp_path / "out")
    assert code == 1
    for text in (plain(markdown), page):
        for fact in (
            "3 of 3 executions", "the target does not say which version it is", "OK", "w0", "not there",
            "Unknown: the settings of no node were recorded.",
        ):  # fmt: skip
            assert fact in text, fact
        assert "HA" not in text and "RocketMQ" not in text


def test_replay_keeps_the_logs_of_every_execution(capsys: Any, tmp_path: Path, talking: TalkingLab) -> None:
    path = toys_finding(tmp_path)
    assert main(["replay", str(path), "--repeat", "2"]) == 1
    kept = path.with_suffix(".logs")
    assert str(kept) in capsys.readouterr().out.replace("\n", "")
    assert sorted(each.name for each in kept.iterdir()) == ["1-master.log", "2-master.log"]
    assert main(["replay", str(path), "--repeat", "1"]) == 1
    assert [each.read_text()[-6:] for each in kept.iterdir()] == ["master"]
    written(capsys, path, tmp_path / "out")
    assert len(list((tmp_path / "out" / "logs").iterdir())) == 3


def test_a_lab_that_fails_after_an_execution_still_lets_that_one_be_written_up(
    capsys: Any, tmp_path: Path, talking: TalkingLab
) -> None:
    talking.fails_at = 2
    code, markdown, _ = written(capsys, toys_finding(tmp_path), tmp_path / "out")
    assert code == 4
    assert "1 of 1 execution" in markdown and "the bench broke" in markdown


def test_a_file_of_settings_says_more_than_the_history(tmp_path: Path, talking: TalkingLab) -> None:
    trial = run_trial(talking, toy.TARGET.mutant("forgetful"), Schedule({}, "s", ()))
    assert trial.configurations == {"master": "flush=async\n"}


def test_defaults_are_those_that_the_version_itself_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho noise=1\necho 'default key0=a=b'\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert describing.defaults(tmp_path / "jars") == {"key0": "a=b", "listenPort": "10911"}
    java.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(LabError, match="did not print"):
        describing.defaults(tmp_path / "others")


# What is known.


def test_a_known_deviation_is_named_with_its_cause_and_upstream_reports(capsys: Any, tmp_path: Path) -> None:
    path, model = finding(tmp_path), "rocketmq-4.9.7@model"
    code, markdown, page = written(capsys, path, tmp_path / "out", "--target", model)
    for text in (plain(markdown), page):
        for fact in ("in 1 of 1 execution", "first-report-believed: ", "PR 3016", "HAConnection.ReadSocketService"):
            assert fact in text, fact
    assert code == 0
    assert main(["replay", str(path), "--target", model]) == 0
    assert "is violated again; known: first-report-believed" in capsys.readouterr().out


def test_a_target_without_a_list_of_deviations_says_so(capsys: Any, tmp_path: Path) -> None:
    _, markdown, page = written(capsys, finding(tmp_path), tmp_path / "out")
    assert "no list of known deviations for this target" in markdown
    assert "no list of known deviations for this target" in page
