"""The pages of a real run, looked at in a real browser: Debian's ``chromium``, headless, without a network."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from chromium import browse

from pairproof.harness.exploration.coverage_table import CoverageTable
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import template
from pairproof.harness.rocketmq.coverage import cover
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule
from pairproof.harness.trials.trial import Finding
from pairproof.reports import traced
from pairproof.reports.make import Made, make_report

TARGET = "reference+acks_at_once"
OPS = (
    Op("send", {"producer": 0, "size": 300, "wait": True, "queue": 0}),
    Op("fault", {"name": "kill", "node": "slave"}),
    Op("send", {"producer": 1, "size": 100, "wait": True, "queue": 0}),
    Op("advance", {"ms": 2_000}),
    Op("pull", {"reader": 0, "node": "master", "queue": 0}),
    Op("fault", {"name": "limit_data", "link": "client-slave", "direction": "up"}),
)
CLUSTER_TARGET = "reference+master_only"
CLUSTER_OPS = (
    template.join(0, 0),
    template.advance(9_000),
    template.fault("kill", node="master"),
    template.advance(38_000),
)
"""A group whose consumer reads from no slave, beside a name server."""

pytestmark = pytest.mark.slow


def record(folder: Path) -> Path:
    """A small run of a pair with a seeded bug: three trials, one finding for each law that they violate."""
    lab, target, laws = resolve.lab("sim"), resolve.target(TARGET), judge.all_laws()
    facts = {"command": ["pairproof", "check", "--target", TARGET], "lab": "sim", "target": TARGET, "profile": "quick"}
    facts["system"] = "rocketmq"
    ids = [law.id for law in laws]
    facts |= {"seed": "1", "observes": sorted(lab.observes(target)), "laws": ids, "must_not_be_vacuous": ids}
    with RunWriter(folder, facts) as writer:
        for number in range(3):
            schedule = Schedule({}, f"1/{number}", OPS[: 2 * number + 2])
            trial = run_trial(lab, target, schedule, number=number, origin="swarm", laws=laws)
            writer.trial(trial, keep=True)
        writer.coverage({("TRANSFER", "report", "kill"): 7, ("READY", "close", "none"): 1})
        for each in trial.judgements:
            if each.verdict is Verdict.VIOLATED:
                text = each.violations[0].text
                writer.finding(Finding(each.law, text, TARGET, "sim", number, number, schedule, 23))
    return folder


def record_whole(folder: Path) -> Path:
    """A trial with a name server and a consumer, and what it breaks."""
    lab, target, laws = resolve.lab("sim"), resolve.target(CLUSTER_TARGET), judge.all_laws()
    # Recorded as of a lab with real time: only these have a page of latencies.
    facts = {
        "command": ["pairproof", "check"],
        "lab": "process",
        "target": CLUSTER_TARGET,
        "profile": "quick",
        "seed": "1",
    }
    facts |= {
        "system": "rocketmq",
        "observes": sorted(lab.observes(target)),
        "laws": [law.id for law in laws],
        "must_not_be_vacuous": [],
    }
    schedule = Schedule({"lab.nameServer": 1}, "1/whole", CLUSTER_OPS)
    with RunWriter(folder, facts) as writer:
        trial = run_trial(lab, target, schedule, number=0, origin="whole", laws=laws)
        writer.trial(trial, keep=True)
        table = CoverageTable()
        table.merge(cover(trial.events))
        writer.coverage(table.rows())
        told = next(each for each in trial.judgements if each.law == "role-read-failover")
        writer.finding(Finding(told.law, told.violations[0].text, CLUSTER_TARGET, "sim", 0, 0, schedule, 4))
    return folder


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("pages")
    damaged = root / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    folders = [record(root / "recorded"), record_whole(root / "whole"), damaged]
    return make_report(folders, root / "report", rejudge=True)


def colours(png: Path) -> int:
    """How many different rows of pixels a PNG has: 1 for a blank one. Filters do not matter for that."""
    data, at, packed = png.read_bytes(), 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    width, _, depth, colour = struct.unpack(">IIBB", data[16:26])
    stride = 1 + width * {2: 3, 6: 4, 3: 1, 0: 1}[colour] * depth // 8
    raw = zlib.decompress(packed)
    return len({raw[row : row + stride] for row in range(0, len(raw), stride)})


@pytest.mark.parametrize(
    ("page", "size"),
    [
        ("index.html", "1280,2400"),
        ("faults.html", "1280,1400"),
        ("findings/001.html", "1280,1800"),
        ("findings/001.html", "420,1400"),
        ("losses.html", "1280,1200"),
        ("coverage.html", "1280,900"),
    ],
)
def test_a_page_is_painted(made: Made, tmp_path: Path, page: str, size: str) -> None:
    png = tmp_path / "page.png"
    browse(made.out / page, tmp_path, f"--window-size={size}", f"--screenshot={png}")
    assert colours(png) > 100
    blank = tmp_path / "blank.html"
    blank.write_text("<!doctype html><title>blank</title>")
    browse(blank, tmp_path, f"--window-size={size}", f"--screenshot={png}")
    assert colours(png) < 5, "an empty page must not pass for a painted one"


def test_the_first_page_says_what_a_reader_needs_first(made: Made, tmp_path: Path) -> None:
    shown = browse(made.first_page, tmp_path, "--dump-dom")
    main = shown[shown.index("<main>") :]
    assert re.search(r"\d+ of \d+ laws? (is|are) violated", main)
    assert "pairproof replay " in main and 'kill", node="slave"' in main.replace("&quot;", '"')
    assert (
        main.index("Left out: ")
        < main.index("What broke:")
        < main.index("had no effect")
        < main.index('id="trials"')
        < main.index('id="laws"')
    )
    assert "fault limit_data had no effect" in main, "a fault on a link that nobody uses hits nothing"
    for text in (
        "ack-replicated",
        "✕ violated",
        "✓ holds",
        "had nothing to judge",
        TARGET,
    ):
        assert text in main


def test_a_finding_shows_promise_program_replay_line_and_timeline(made: Made, tmp_path: Path) -> None:
    number = next(each["number"] for each in made.report.findings if each["law"] == "ack-replicated")
    promise = next(law.promise for law in judge.all_laws() if law.id == "ack-replicated").split("'")[0]
    shown = browse(made.out / "findings" / f"{number:03}.html", tmp_path, "--dump-dom")
    for text in (
        promise,
        "Minimal program",
        'fault(name="kill", node="slave")',
        "pairproof replay ",
    ):
        assert text in shown.replace("&quot;", '"')
    drawing = shown[shown.index("<svg viewBox") : shown.index("Legend of the timeline")]
    for text in (
        "violated here",
        "Lag, bytes",
        "Send latency",
        "Client 0",
        "HA connections",
        "Log end, bytes",
        "killed",
        "kill node slave",
        " ms",
    ):
        assert text in drawing


def test_a_finding_tells_what_broke_under_which_fault_and_the_life_of_its_message(made: Made, tmp_path: Path) -> None:
    finding = next(each for each in made.report.findings if each["law"] == "ack-replicated")
    shown = browse(made.out / "findings" / f"{finding['number']:03}.html", tmp_path, "--dump-dom")
    top = shown[shown.index("<h1>") : shown.index("Minimal program")]
    assert finding["text"] in top.replace("&#39;", "'") and "before any fault began" in top
    assert "no slave held it then" in top
    life = shown[shown.index("Trace of message") :]
    assert life.index("the master appends it at") < life.index("final audit") < life.index("pairproof autopsy ")


def test_what_was_measured_of_histories_is_shown_with_the_trials_that_it_rests_on(made: Made) -> None:
    shown = (made.out / "faults.html").read_text()
    assert ">Latency of sends" in shown
    labs = [row["lab"] for row in traced.latency(made.report.latency)]
    assert labs and "sim" not in labs, "virtual time is left out"
    assert ">Judged again" in (made.out / "runs.html").read_text()
    lost = (made.out / "losses.html").read_text()
    assert "What can be lost" in lost and "killed" in lost and 'class="share' in shown


def test_objectives_and_coverage_are_shown(made: Made) -> None:
    assert "RPO and RTO" in (made.out / "losses.html").read_text()
    shown = (made.out / "coverage.html").read_text()
    assert "pairs of state and event occurred" in shown and "TRANSFER, report, kill: 7 times" in shown
    assert shown.index("HA connections") < shown.index("readers unserved") < shown.index("tables in step")
    assert 'title="READY, close, kill: never seen"' in shown


def test_faults_are_shown_by_place(made: Made) -> None:
    shown = (made.out / "faults.html").read_text()
    assert "kill at master: took effect 1 of 1 times" in shown and "No fault took effect at client-slave." in shown
    assert "No fault was tried at" in shown and "meta" in shown


def test_a_whole_trial_s_page_shows_consumers_syncs_and_the_name_server(made: Made, tmp_path: Path) -> None:
    finding = next(each for each in made.report.findings if each["law"] == "role-read-failover")
    page = made.out / "findings" / f"{finding['number']:03}.html"
    shown = browse(page, tmp_path, "--dump-dom")
    drawing = shown[shown.index("<svg viewBox") : shown.index("Legend of the timeline")]
    for text in (
        "g0 consumer", "queue 0", "route to master, slave", "route to slave", "master: disconnected",
        "commits to the slave", "Slave syncs", "Registrations", "Name server runs",
    ):  # fmt: skip
        assert text in drawing, text
    assert "names's log end" not in shown, "a name server has no log"
    led = shown[shown.index("Events around the violation") :]
    assert "4 commits to slave" in led, "what says the same of four queues is one line"
    png = tmp_path / "whole.png"
    browse(page, tmp_path, "--window-size=1280,1800", f"--screenshot={png}")
    assert colours(png) > 100


BROKEN_WORDS = """<script>
const cells = [...document.querySelectorAll("td, th")];
const words = cells.filter(cell => !cell.children.length && /^[\\w+]+$/.test(cell.textContent));
const broken = words.filter(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
});
document.title = `${words.length} words, broken: ${broken.map(cell => cell.textContent).join(" ")}.`;
</script>"""


@pytest.mark.parametrize("page", ["runs", "faults", "losses"])
def test_no_table_breaks_a_line_within_a_word(made: Made, tmp_path: Path, page: str) -> None:
    text, narrow = (made.out / f"{page}.html").read_text(), tmp_path / "narrow.html"

    def broken(style: str) -> str:
        narrow.write_text(f"{text}<style>{style}</style>{BROKEN_WORDS}")
        shown = browse(narrow, tmp_path, "--window-size=700,900", "--dump-dom")
        found = re.search(r"<title>(\d+) words, broken: (.*?)\.</title>", shown)
        assert found is not None and int(found[1]) > 3
        return found[2]

    assert broken("") == ""
    assert broken("th, td { overflow-wrap: anywhere !important; white-space: normal !important; max-width: 30px; }")


def test_no_page_asks_the_network_for_anything(made: Made) -> None:
    pages = sorted(made.out.rglob("*.html"))
    assert len(pages) > 4
    away = r"""\s*["']?(?:https?:)?//"""
    asking = re.compile(rf"(?:src|href|action)\s*={away}|url\({away}|@import|fetch\(|XMLHttpRequest")
    assert asking.search('<img src="https://example.org/x.png">')
    assert [page.name for page in pages if asking.search(page.read_text())] == []


def test_every_link_leads_to_something_that_is_there(made: Made) -> None:
    for page in made.out.rglob("*.html"):
        for link in re.findall(r'href="([^"#:]+)(?:#[^"]*)?"', page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_histories_of_a_real_run_judged_again_in_spark_agree(made: Made) -> None:
    assert made.report.rejudged is not None
    assert made.report.rejudged["trials"] == 4
    assert made.report.rejudged["differences"] == []


def test_laws_can_be_looked_for(made: Made, tmp_path: Path) -> None:
    asked = tmp_path / "index.html"
    ask = "const box = document.querySelector('.find input'); box.value = 'HA- slave'; box.oninput();"
    asked.write_text((made.out / "laws.html").read_text().replace("</body>", f"<script>{ask}</script></body>"))
    shown = browse(asked, tmp_path, "--dump-dom")
    left, of = re.search(r'role="status"[^>]*>(\d+) of (\d+)<', shown).groups()
    assert 0 < int(left) < int(of)
    assert len(re.findall(r"<tr[^>]* hidden", shown)) == int(of) - int(left)
